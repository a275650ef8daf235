//! `dev`: runs the operator on this machine.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::PathBuf,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    time::Duration,
};

use clap::ValueEnum;
use operator_schema::dev::{self as protocol, Change, Event, Resource};

use crate::{
    cli::output::dev_log,
    config::{Certificates, Namespaces},
    dev::{self, DevEvent, Options, Project},
    diagnostic::{Exit, Failure, Report},
    disk::{DiskError, RecoveryMode},
    manifests::conversion_stanza,
    operator::ResourceType,
    terminal::Terminal,
    workspace::{
        kind_error::KindError,
        open::{OpenProject, ProjectArgs},
    },
};

/// Build the operator, run it on an API server in memory, and show what it does; rebuild it when its code changes
///
/// The server starts with the CRDs, roles and samples of the project. It needs no other program, and keeps no data after the session.
/// You can use kubectl with the kubeconfig that the session prints first. The operator has the permissions of its service account, as
/// in a cluster. Ctrl-C ends the session.
///
/// With --cluster, the operator runs with your permissions on the cluster of the current context, and shares its objects with an
/// operator that is deployed there. With --take-over, the deployed one pauses.
///
/// Unless you set them, the operator gets LEADER_ELECTION=false, HTTP_ADDRESS=127.0.0.1:0, SHUTDOWN_TIMEOUT=2s, and a log as JSON at
/// level `info`.
#[derive(clap::Args)]
pub struct Args {
    /// Use the current context of your kubeconfig, with your permissions, instead of a server in memory
    #[arg(long)]
    cluster: bool,
    /// Let an operator that is deployed on the cluster pause as long as the session runs; only one that is built with operator-runtime
    /// pauses
    #[arg(long, requires = "cluster")]
    take_over: bool,
    /// The URL at which the cluster can call the webhooks of the operator on this machine, such as that of a tunnel to port 9443
    #[arg(long, requires = "cluster", value_name = "URL", value_parser = webhook_url)]
    webhook_url: Option<String>,
    /// Do not apply samples and fixtures
    #[arg(long)]
    no_samples: bool,
    /// Also apply the objects in this file or folder, once, such as CRDs of other kinds that the operator uses
    #[arg(long, value_name = "PATH")]
    apply: Vec<PathBuf>,
    /// Do not show these lines
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    hide: Vec<Category>,
    /// Start only the API server, once the code is built, and print the environment for an operator that you start yourself, for example in a debugger
    #[arg(long, conflicts_with = "arguments")]
    no_operator: bool,
    /// The binary to run, if the package has more than one
    #[arg(long, value_name = "NAME")]
    bin: Option<String>,
    /// Build in release mode
    #[arg(long)]
    release: bool,
    #[command(flatten)]
    project: ProjectArgs,
    /// Arguments for the operator, such as `-- --concurrency 1`
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Parses `--webhook-url`. API servers call webhooks only over HTTPS.
fn webhook_url(url: &str) -> Result<String, &'static str> {
    let parsed: Option<http::Uri> = url.parse().ok();
    let is_usable = parsed.is_some_and(|parsed| {
        let path = parsed.path_and_query().map_or("/", |path| path.as_str());
        parsed.scheme_str() == Some("https") && path == "/"
    });
    if is_usable {
        Ok(url.trim_end_matches('/').to_owned())
    } else {
        Err("write https://HOST:PORT, without a path")
    }
}

/// How many lines of a hidden log are printed when the operator exits by itself.
const LAST_LOG_LINES: usize = 10;

/// The categories of lines that a session prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Category {
    /// Requests of the operator, and their status codes
    Requests,
    /// Objects that are created, changed and deleted
    Objects,
    /// Changes of conditions
    Conditions,
    /// Kubernetes events
    Events,
    /// Successful reconciliations
    Reconciles,
    /// The log of the operator
    Logs,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let missing = args.apply.iter().find(|path| !path.exists());
    if let Some(path) = missing {
        return Err(DiskError::Missing(path.display().to_string()).into());
    }
    let open = OpenProject::at(&args.project, RecoveryMode::Refuse, terminal)?;
    let project = to_project(&open, terminal)?;
    terminal.end_progress();
    // unlocks the project, so that other commands can run during the session
    drop(open);
    let options = Options {
        server: protocol::Options {
            cluster: args.cluster,
            context: args.cluster.then(dev::current_context).flatten(),
            take_over: args.take_over,
            webhook_url: args.webhook_url,
            samples: !args.no_samples,
            apply: args.apply,
        },
        binary: args.bin,
        release: args.release,
        no_operator: args.no_operator,
        arguments: args.arguments,
    };
    let at = args.project.clone();
    let read = move || {
        let terminal = Terminal::default();
        let open = OpenProject::at(&at, RecoveryMode::Refuse, &terminal);
        open.and_then(|open| to_project(&open, &terminal))
            .map_err(|failure| {
                let line = |report: &Report| match &report.location {
                    Some(location) => {
                        format!("{}:{}: {}", location.path, location.line, report.message)
                    }
                    None => report.message.clone(),
                };
                let lines: Vec<String> = failure.reports.iter().map(line).collect();
                lines.join("; ")
            })
    };
    let mut helped = BTreeSet::new();
    let mut hidden = vec![];
    let mut screen = Screen::new();
    let ended = dev::run(project, &options, read, |at, event| {
        let lines = dev_log::lines(at, &event);
        if args.hide.iter().any(|category| category.contains(&event)) {
            if matches!(event, DevEvent::Log { .. }) {
                hidden.extend(lines);
                let old = hidden.len().saturating_sub(LAST_LOG_LINES);
                hidden.drain(..old);
            }
            return;
        }
        if matches!(event, DevEvent::Exited(_)) {
            hidden.drain(..).for_each(|line| screen.show(line));
        }
        for line in lines {
            screen.show(line);
        }
        if let Some(help) = dev_log::help(&event).filter(|help| helped.insert(help.clone())) {
            screen.show(help);
        }
    });
    screen.end();
    ended?;
    Ok(Exit::Clean)
}

/// Prints lines from a separate thread, so that a paused terminal or a pipe that nobody reads does not block the session.
struct Screen {
    lines: SyncSender<String>,
    shown: Receiver<()>,
    dropped: usize,
}

impl Screen {
    /// How many lines may be queued.
    const CAPACITY: usize = 10_000;
    /// How long `end` waits until the queued lines are printed.
    const END_TIMEOUT: Duration = Duration::from_secs(1);

    fn new() -> Self {
        let (lines, waiting) = sync_channel::<String>(Self::CAPACITY);
        let (done, shown) = sync_channel(1);
        std::thread::spawn(move || {
            let terminal = Terminal::default();
            waiting.iter().for_each(|line| terminal.show(&line));
            // fails if `end` no longer waits
            let _late = done.send(());
        });
        Self {
            lines,
            shown,
            dropped: 0,
        }
    }

    fn show(&mut self, line: String) {
        if self.dropped > 0 {
            let gap = format!(
                "{} lines were dropped, because nothing read them",
                self.dropped
            );
            if self.lines.try_send(gap).is_err() {
                self.dropped += 1;
                return;
            }
            self.dropped = 0;
        }
        if self.lines.try_send(line).is_err() {
            self.dropped += 1;
        }
    }

    /// Waits briefly for queued lines.
    fn end(self) {
        drop(self.lines);
        let _late = self.shown.recv_timeout(Self::END_TIMEOUT);
    }
}

impl Category {
    fn contains(self, event: &DevEvent) -> bool {
        let is_condition = |change: &Change| matches!(change, Change::Condition { .. });
        match event {
            DevEvent::Cluster(Event::Request(_)) => self == Self::Requests,
            DevEvent::Cluster(Event::Object { change, .. }) => {
                if is_condition(change) {
                    self == Self::Conditions
                } else {
                    self == Self::Objects
                }
            }
            DevEvent::Cluster(Event::Event { .. }) => self == Self::Events,
            DevEvent::Reconciled { .. } => self == Self::Reconciles,
            DevEvent::Log { .. } => self == Self::Logs,
            _ => false,
        }
    }
}

/// The parts of the project that the session needs.
fn to_project(open: &OpenProject, terminal: &Terminal) -> Result<Project, Failure> {
    let config = &open.config;
    if !open.is_runnable() {
        return Err(KindError::NoController(config.name.clone()).into());
    }
    let mut kinds: Vec<ResourceType> = vec![];
    for (kind, api) in config.kinds.iter().zip(&open.apis) {
        // watching the storage version needs no conversion
        let version = Some(api.storage_version())
            .filter(|version| version.served)
            .map(|version| &version.name)
            .or(kind.versions.first())
            .map_or("", String::as_str);
        kinds.push(ResourceType::of(api, version));
    }
    let operator = open.operator()?;
    for controller in &operator.controllers {
        if !kinds.contains(&controller.resource) {
            kinds.push(controller.resource.clone());
        }
    }
    let own = kinds.len();
    for controller in &operator.controllers {
        let children = controller.owns.iter().map(|child| &child.related);
        for related in children.chain(&controller.watches) {
            if !kinds.contains(&related.resource) {
                kinds.push(related.resource.clone());
            }
        }
    }
    let mut crds: Vec<String> = config.kinds.iter().map(|kind| kind.crd.clone()).collect();
    crds.dedup();
    Ok(Project {
        // absolute, because the server may run in another folder
        root: std::path::absolute(open.root.path()).unwrap_or_else(|_| open.root.path().to_owned()),
        served: protocol::Project {
            name: config.name.clone(),
            crds,
            kinds: kinds.iter().map(resource).collect(),
            own,
            namespaces: match &config.namespaces {
                Namespaces::All => vec![],
                Namespaces::Own => vec![config.name.clone()],
                Namespaces::Listed(names) => names.clone(),
            },
            converted: operator.converted().map(|kind| kind.crd.name()).collect(),
            conversion: conversion_stanza(&config.name, &config.name),
            has_webhooks: operator.has_webhooks(),
            mounts_certificates: operator.has_certificates(Certificates::CertManager),
        },
        is_stale: {
            let plan = open.plan(open.render(terminal)?.tree)?;
            !plan.changes.is_empty() || !plan.conflicts.is_empty()
        },
    })
}

fn resource(kind: &ResourceType) -> Resource {
    Resource {
        group: kind.group.clone(),
        version: kind.version.clone(),
        kind: kind.kind.clone(),
        plural: kind.plural.clone(),
    }
}
