//! The session: starts, watches, rebuilds and stops the server, cargo and the operator.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    future::pending,
    path::{Path, PathBuf},
};

use jiff::Zoned;
use kube::api::DynamicObject;
use tokio::task::{AbortHandle, JoinHandle};

use super::{
    DevError, FIXTURES, SAMPLES,
    build::{Build, Building, Built},
    cluster::{Cluster, manifests},
    conversions::Conversions,
    event::{DevEvent, EventSender},
    files::{Files, Part},
    folder::alone,
    listener::Listener,
    objects::{Scope, follow},
    process::{Operator, Settings},
    webhooks::{CONFIGURATIONS, Webhooks},
};
use crate::project::ResourceType;

/// The parts of a project that a session needs.
#[derive(Clone, Debug)]
pub struct Project {
    pub root: PathBuf,
    pub name: String,
    /// The paths of the CRDs, relative to the root.
    pub specs: Vec<String>,
    /// The kinds to watch, starting with those of the project.
    pub kinds: Vec<ResourceType>,
    /// The number of kinds of the project.
    pub own: usize,
    /// The namespaces that the operator watches; `None` for all namespaces.
    pub namespaces: Vec<String>,
    /// The names of the CRDs whose objects the operator converts.
    pub converted: Vec<String>,
    /// Whether the operator serves webhooks, and whether their certificates are files that it does not make.
    pub has_webhooks: bool,
    pub mounts_certificates: bool,
    /// Whether code and manifests do not match the specs and the state.
    pub is_stale: bool,
}

/// Where and how the operator runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether to use the user's cluster instead of a server in memory.
    pub cluster: bool,
    /// Whether an operator that is deployed on the user's cluster pauses during the session.
    pub take_over: bool,
    /// The URL under which the user's cluster reaches the webhooks.
    pub webhook_url: Option<String>,
    /// Whether to apply the samples of the project.
    pub samples: bool,
    /// Files and folders with further objects to apply.
    pub apply: Vec<PathBuf>,
    pub binary: Option<String>,
    pub release: bool,
    /// Whether the user starts the operator, as in a debugger.
    pub no_operator: bool,
    /// The arguments for the operator.
    pub arguments: Vec<OsString>,
}

/// Runs a session until Ctrl-C, SIGTERM or the end of the terminal.
///
/// `read` reads the project again when its state or specs have changed; its error describes what is wrong with them.
pub fn run<R>(
    project: Project,
    options: &Options,
    read: R,
    show: impl FnMut(&Zoned, DevEvent),
) -> Result<(), DevError>
where
    R: Fn() -> Result<Project, String> + Clone + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(Session::run(project, options, read, show));
    // reading the project again may wait for another command
    runtime.shutdown_background();
    ended
}

struct Session<'a> {
    project: Project,
    options: &'a Options,
    build: Build,
    files: Files,
    cluster: Cluster,
    folder: PathBuf,
    followed: Vec<(ResourceType, AbortHandle)>,
    events: EventSender,
    building: Option<Building>,
    /// Where the operator serves its webhooks, if the server in memory calls them.
    webhooks: Option<Webhooks>,
    /// The certificate of webhooks that nothing calls.
    uncalled: Option<PathBuf>,
    /// Ends when they are served, so that the samples can be applied.
    until_served: Option<JoinHandle<()>>,
    /// Whether cargo has built the operator at least once.
    is_built: bool,
    operator: Option<Operator>,
}

/// The environment of an operator that is to work instead of the deployed one, whose lease is in the namespace of its name.
fn taking_over(name: &str) -> [(&'static str, OsString); 3] {
    [
        ("LEADER_ELECTION", "true".into()),
        ("LEASE_NAMESPACE", name.into()),
        ("PRIORITY", "1000".into()),
    ]
}

/// An event that a session waits for.
enum Next {
    Built(Result<Built, String>),
    Ended(String),
    /// The operator serves its webhooks for the first time.
    Served,
    Changed(BTreeSet<Part>),
}

impl<'a> Session<'a> {
    async fn run<R>(
        project: Project,
        options: &'a Options,
        read: R,
        show: impl FnMut(&Zoned, DevEvent),
    ) -> Result<(), DevError>
    where
        R: Fn() -> Result<Project, String> + Clone + Send + 'static,
    {
        let (events, receiver) = EventSender::new();
        let mut listener = Listener::new(receiver, show);
        let build = Build::of(&project.root, options.binary.as_deref(), options.release)?;
        let folder = build.target.join("cargo-operator").join(&project.name);
        let _alone = alone(&folder)?;
        let files = Files::watch(&project.root, &build)?;
        let namespace = project.namespaces.first().map(String::as_str);
        let cluster = match options.cluster {
            true => {
                let service = options.webhook_url.as_ref().map(|_| project.name.as_str());
                Cluster::current(namespace, service, &folder, &events).await
            }
            false => Cluster::in_memory(&project.name, namespace, &folder, &events).await,
        };
        // which cluster it is, is to be seen also where it does not answer
        listener.drain();
        let mut session = Session {
            webhooks: None,
            uncalled: None,
            until_served: None,
            project,
            options,
            build,
            files,
            cluster: cluster?,
            folder,
            followed: vec![],
            events,
            building: None,
            is_built: false,
            operator: None,
        };
        session.make_callable()?;
        let mut is_on = listener
            .run_until_interrupted(session.begin())
            .await
            .is_some();
        while is_on {
            let next = next(
                &mut session.building,
                &mut session.operator,
                &mut session.until_served,
                &mut session.files,
            );
            is_on = match listener.run_until_interrupted(next).await {
                Some(next) => listener
                    .run_until_interrupted(session.react(next, &read))
                    .await
                    .is_some(),
                None => false,
            };
        }
        if let Some(building) = session.building.take() {
            building.stop().await;
        }
        if let Some(operator) = session.operator.take() {
            operator.stop().await;
        }
        session.cluster.shutdown().await;
        listener.drain();
        Ok(())
    }

    /// Applies the objects that the operator needs, and the samples, whose creation is to be shown, and builds the operator.
    async fn begin(&mut self) {
        if !self.cluster.is_own && self.cluster.has_deployed(&self.project.name).await {
            self.events.send(DevEvent::AlreadyDeployed {
                name: self.project.name.clone(),
                pauses: self.options.take_over,
            });
        }
        let conversions = self.conversions().await;
        for spec in &self.project.specs {
            self.apply_spec(spec, &conversions).await;
        }
        self.follow();
        let root = &self.project.root;
        if self.cluster.is_own {
            self.make_namespaces().await;
            let namespace = root.join("manifests/namespace.yaml");
            self.apply_of_project(&namespace).await;
            for path in manifests(&root.join("manifests/rbac")) {
                self.apply_of_project(&path).await;
            }
            self.apply_webhooks().await;
        }
        for path in &self.options.apply {
            let paths = if path.is_dir() {
                manifests(path)
            } else {
                vec![path.clone()]
            };
            for path in paths {
                self.apply(&path.display().to_string(), &path).await;
            }
        }
        if !self.cluster.is_own {
            self.report_webhooks(&conversions);
        }
        match &self.webhooks {
            // the API server would refuse them while nothing serves the webhooks
            Some(webhooks) if self.options.samples => {
                let (client, name) = (self.cluster.client.clone(), self.project.name.clone());
                let converted = self.project.converted.clone();
                let served = webhooks.clone().served(client, name, converted);
                self.until_served = Some(tokio::spawn(served));
                self.events.send(DevEvent::SamplesWait);
            }
            _ => self.apply_samples().await,
        }
        if self.project.is_stale {
            self.events.send(DevEvent::Stale);
        }
        match self.options.no_operator {
            true => self.leave_to_user(),
            false => self.start_build().await,
        }
    }

    /// Chooses where the operator serves its webhooks, once it has some, if the server in memory calls them. If nothing calls them, it gets
    /// a certificate, for which it does not wait, and which it does not keep in the cluster.
    fn make_callable(&mut self) -> Result<(), DevError> {
        if !self.project.has_webhooks {
            return Ok(());
        }
        if self.cluster.is_own && self.webhooks.is_none() {
            let made = Webhooks::new(&self.folder, self.project.mounts_certificates);
            self.webhooks = Some(made?);
        }
        let is_called = self.cluster.is_own || self.options.webhook_url.is_some();
        if !is_called && self.uncalled.is_none() {
            self.uncalled = Some(Webhooks::uncalled(&self.folder)?);
        }
        Ok(())
    }

    /// The conversions of the CRDs to apply.
    async fn conversions(&self) -> Conversions {
        let (name, converted) = (&self.project.name, &self.project.converted);
        match &self.webhooks {
            Some(webhooks) => webhooks.conversions(name, converted),
            None => {
                let url = self.options.webhook_url.as_deref();
                Conversions::on_cluster(&self.cluster, url, name, converted).await
            }
        }
    }

    async fn apply_spec(&self, path: &str, conversions: &Conversions) {
        let file = self.project.root.join(path);
        let change = |object: &mut DynamicObject| conversions.add_to(object);
        let applied = self
            .cluster
            .apply_changed(path, &file, change, &self.events);
        applied.await;
    }

    /// Reports whether and how the user's cluster calls the operator.
    fn report_webhooks(&self, conversions: &Conversions) {
        let url = &self.options.webhook_url;
        let mut configurations = CONFIGURATIONS.iter();
        if configurations.any(|path| self.project.root.join(path).exists()) {
            self.events.send(DevEvent::ForeignWebhooks(url.clone()));
        }
        let crds = match url {
            Some(_) => self.project.converted.clone(),
            None => conversions.missing(&self.project.converted),
        };
        if !crds.is_empty() {
            let url = url.clone();
            self.events.send(DevEvent::ForeignConversions { url, crds });
        }
    }

    /// Applies the configurations of the webhooks.
    async fn apply_webhooks(&self) {
        let Some(webhooks) = &self.webhooks else {
            return;
        };
        for path in CONFIGURATIONS {
            let file = self.project.root.join(path);
            if file.exists() {
                let change = |object: &mut DynamicObject| webhooks.redirect(object);
                let applied = self
                    .cluster
                    .apply_changed(path, &file, change, &self.events);
                applied.await;
            }
        }
    }

    /// Applies fixtures and samples, if the user wants them.
    async fn apply_samples(&self) {
        if !self.options.samples {
            return;
        }
        let root = &self.project.root;
        // the objects that samples refer to come first
        for folder in [FIXTURES, SAMPLES] {
            for path in manifests(&root.join(folder)) {
                self.apply_of_project(&path).await;
            }
        }
    }

    /// The environment for starting the operator.
    fn settings(&self) -> Settings {
        let mut settings = self.cluster.settings.clone();
        if !self.project.namespaces.is_empty() {
            let names = self.project.namespaces.join(",");
            settings.set.push(("WATCH_NAMESPACE", names.into()));
        }
        if self.options.take_over {
            settings.set.extend(taking_over(&self.project.name));
        }
        match (&self.webhooks, &self.options.webhook_url) {
            (Some(webhooks), _) => settings.set.extend(webhooks.settings()),
            (None, Some(url)) => settings.set.push(("WEBHOOK_URL", url.into())),
            (None, None) => {
                if let Some(certificates) = &self.uncalled {
                    // nothing calls them: any port will do
                    settings.set.push(("WEBHOOK_ADDRESS", "127.0.0.1:0".into()));
                    let certificates = certificates.clone().into();
                    settings.set.push(("WEBHOOK_CERTIFICATES", certificates));
                }
            }
        }
        settings
    }

    /// Reports how the user has to start the operator.
    fn leave_to_user(&self) {
        let settings = self.settings();
        let (environment, file) = (settings.of_user(), self.folder.join("operator.env"));
        let lines = environment
            .iter()
            .map(|(name, value)| format!("{name}={value}\n"));
        if let Err(error) = std::fs::write(&file, lines.collect::<String>()) {
            let why = format!("{}: {error}", file.display());
            self.events.send(DevEvent::Invalid(why));
        }
        let is_set = |name: &&'static str| std::env::var_os(name).is_some();
        let unset = settings.unset.into_iter().filter(is_set).collect();
        self.events.send(DevEvent::StartManually {
            environment,
            file,
            unset,
        });
    }

    /// Watches the kinds of the project, the kinds that they own and watch, and events; stops all other watches.
    fn follow(&mut self) {
        let mut kinds = self.project.kinds.clone();
        let scope = match self.cluster.is_own {
            true => Scope::All,
            false => {
                let own = kinds.iter().take(self.project.own);
                Scope::Of(
                    own.map(|kind| format!("{}/{}", kind.group, kind.kind))
                        .collect(),
                )
            }
        };
        kinds.push(ResourceType {
            group: String::new(),
            version: "v1".into(),
            kind: "Event".into(),
            plural: "events".into(),
            namespaced: true,
        });
        self.followed.retain(|(kind, follower)| {
            let is_wanted = kinds.contains(kind);
            if !is_wanted {
                follower.abort();
            }
            is_wanted
        });
        for kind in kinds {
            if !self.followed.iter().any(|(known, _)| *known == kind) {
                let (client, events) = (self.cluster.client.clone(), self.events.clone());
                let follower = tokio::spawn(follow(client, kind.clone(), scope.clone(), events));
                self.followed.push((kind, follower.abort_handle()));
            }
        }
    }

    async fn make_namespaces(&self) {
        let names = &self.project.namespaces;
        self.cluster.make_namespaces(names, &self.events).await;
    }

    async fn apply_of_project(&self, path: &Path) {
        let inside = path.strip_prefix(&self.project.root).unwrap_or(path);
        self.apply(&inside.to_string_lossy().replace('\\', "/"), path)
            .await;
    }

    async fn apply(&self, shown: &str, path: &Path) {
        self.cluster.apply(shown, path, &self.events).await;
    }

    async fn react<R>(&mut self, next: Next, read: &R)
    where
        R: Fn() -> Result<Project, String> + Clone + Send + 'static,
    {
        match next {
            Next::Built(Ok(built)) => self.restart(&built).await,
            Next::Built(Err(why)) => self.events.send(DevEvent::BuildFailed(why)),
            Next::Ended(how) => self.events.send(DevEvent::Exited(how)),
            Next::Served => self.apply_samples().await,
            Next::Changed(parts) => self.changed(parts, read).await,
        }
    }

    /// Handles a change of the project's files. On the user's cluster, nothing is applied again.
    async fn changed<R>(&mut self, parts: BTreeSet<Part>, read: &R)
    where
        R: Fn() -> Result<Project, String> + Clone + Send + 'static,
    {
        let is_source = |part: &Part| match part {
            Part::State => true,
            Part::Code | Part::Manifest => false,
            Part::Objects(path) => path.starts_with("crds/"),
        };
        if parts.iter().any(is_source) {
            let read = read.clone();
            match tokio::task::spawn_blocking(read).await {
                Ok(Ok(project)) => {
                    self.project = project;
                    if self.project.is_stale {
                        self.events.send(DevEvent::Stale);
                    }
                    if self.cluster.is_own {
                        self.make_namespaces().await;
                    }
                    if let Err(error) = self.make_callable() {
                        self.events.send(DevEvent::Invalid(error.to_string()));
                    }
                }
                Ok(Err(why)) => self.events.send(DevEvent::Invalid(why)),
                // the session is at its end
                Err(_) => {}
            }
        }
        for part in &parts {
            if let Part::Objects(path) = part
                && self.cluster.is_own
                && self.is_applied(path)
            {
                match self.project.specs.contains(path) {
                    true => self.apply_spec(path, &self.conversions().await).await,
                    false => self.apply(path, &self.project.root.join(path)).await,
                }
            }
        }
        // once their definitions are there
        self.follow();
        if self.options.no_operator {
            return;
        }
        if parts.contains(&Part::Manifest) {
            self.rebuild_from().await;
        }
        if parts.contains(&Part::Code) || parts.contains(&Part::Manifest) {
            self.start_build().await;
        }
    }

    /// Determines again what cargo builds; cargo reports errors when it builds.
    async fn rebuild_from(&mut self) {
        let (root, options) = (self.project.root.clone(), self.options);
        let (binary, release) = (options.binary.clone(), options.release);
        let build =
            tokio::task::spawn_blocking(move || Build::of(&root, binary.as_deref(), release));
        if let Ok(Ok(build)) = build.await {
            self.build = build;
            if let Err(error) = self.files.follow(&self.build) {
                self.events.send(DevEvent::Invalid(error.to_string()));
            }
        }
    }

    /// Whether the session applies this file.
    fn is_applied(&self, path: &str) -> bool {
        let is_wanted = match path.split_once('/') {
            Some(("crds", _)) => self.project.specs.iter().any(|spec| spec == path),
            _ => {
                self.options.samples
                    || ![FIXTURES, SAMPLES]
                        .iter()
                        .any(|it| Path::new(path).starts_with(it))
            }
        };
        is_wanted && self.project.root.join(path).exists()
    }

    /// Starts a build; restarts a running build.
    async fn start_build(&mut self) {
        if let Some(building) = self.building.take() {
            building.stop().await;
        }
        self.events.send(DevEvent::Building);
        match self.build.start(!self.is_built) {
            Ok(building) => self.building = Some(building),
            Err(error) => self.events.send(DevEvent::BuildFailed(error.to_string())),
        }
    }

    /// Replaces the running operator by the new build.
    async fn restart(&mut self, built: &Built) {
        self.is_built = true;
        let (arguments, settings) = (&self.options.arguments, self.settings());
        let runs = self.operator.as_ref();
        if runs.is_some_and(|operator| operator.is_of(&built.program, &settings)) {
            self.events.send(DevEvent::Unchanged);
            return;
        }
        self.events.send(DevEvent::Built(built.took));
        if let Some(operator) = self.operator.take() {
            operator.stop().await;
        }
        let root = &self.project.root;
        match Operator::start(&built.program, arguments, &settings, root, &self.events) {
            Ok(operator) => self.operator = Some(operator),
            Err(error) => self.events.send(DevEvent::Exited(error.to_string())),
        }
    }
}

/// Waits for the end of a build or of the operator, for its webhooks, or for a change of files.
async fn next(
    building: &mut Option<Building>,
    operator: &mut Option<Operator>,
    until_served: &mut Option<JoinHandle<()>>,
    files: &mut Files,
) -> Next {
    let built = async {
        let Some(under_way) = building else {
            return pending().await;
        };
        let built = under_way.built().await;
        *building = None;
        built
    };
    let ended = async {
        let Some(running) = operator else {
            return pending().await;
        };
        let how = running.ended().await;
        *operator = None;
        how
    };
    let served = async {
        let Some(waiting) = until_served else {
            return pending().await;
        };
        let _ended = waiting.await;
        *until_served = None;
    };
    tokio::select! {
        () = served => Next::Served,
        built = built => Next::Built(built),
        how = ended => Next::Ended(how),
        parts = files.changed() => Next::Changed(parts),
    }
}
