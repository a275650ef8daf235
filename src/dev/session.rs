//! The session itself: what is begun, followed, built anew and ended.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    future::pending,
    path::{Path, PathBuf},
    time::Instant,
};

use jiff::Zoned;
use tokio::task::JoinHandle;

use super::{
    DevError,
    build::{Build, Built},
    cluster::{Cluster, manifests},
    files::{Files, Part},
    happening::{Happening, Tell},
    objects::{Scope, follow},
    process::Operator,
};
use crate::project::ResourceType;

/// What of a project a session needs, as its files say it.
#[derive(Clone, Debug)]
pub struct Project {
    pub root: PathBuf,
    pub name: String,
    /// The files of the definitions, from the root.
    pub specs: Vec<String>,
    /// The kinds whose objects are followed; those of the project itself first.
    pub kinds: Vec<ResourceType>,
    /// How many of them are the project's own.
    pub own: usize,
    /// The namespaces that the operator watches, where it does not watch all.
    pub namespaces: Vec<String>,
    /// Whether code and manifests are not what the specs and the state say.
    pub is_stale: bool,
}

/// Where and how the operator is to run.
#[derive(Clone, Debug)]
pub struct Place {
    /// On the user's cluster, not in memory.
    pub cluster: bool,
    /// Whether the samples of the project are applied.
    pub samples: bool,
    /// Files and folders of further objects.
    pub apply: Vec<PathBuf>,
    pub binary: Option<String>,
    pub release: bool,
    /// For the operator's binary.
    pub arguments: Vec<OsString>,
}

/// Runs a session until Ctrl-C, SIGTERM or the end of the terminal.
///
/// `read` reads the project anew when its state or specs have changed; `None` where they are wrong.
pub fn run(
    project: Project,
    place: &Place,
    read: impl Fn() -> Option<Project>,
    on: impl FnMut(&Zoned, Happening),
) -> Result<(), DevError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(Session::run(project, place, read, on));
    // a build that goes on is killed with its task
    runtime.shutdown_background();
    ended
}

struct Session<'a> {
    project: Project,
    place: &'a Place,
    build: Build,
    cluster: Cluster,
    followed: Vec<ResourceType>,
    tell: Tell,
    building: Option<JoinHandle<Option<Built>>>,
    began: Instant,
    is_first: bool,
    operator: Option<Operator>,
}

impl<'a> Session<'a> {
    async fn run(
        project: Project,
        place: &'a Place,
        read: impl Fn() -> Option<Project>,
        mut on: impl FnMut(&Zoned, Happening),
    ) -> Result<(), DevError> {
        let mut end = std::pin::pin!(end());
        let (tell, mut told) = Tell::new();
        let build = Build::of(&project.root, place.binary.as_deref(), place.release)?;
        let mut files = Files::watch(&project.root, &build)?;
        let cluster = match place.cluster {
            true => Cluster::current(&tell).await,
            false => {
                let folder = build.target.join("cargo-operator").join(&project.name);
                let namespace = project.namespaces.first().map_or("default", String::as_str);
                Cluster::in_memory(&project.name, namespace, &folder, &tell).await
            }
        };
        // which cluster it is, is to be seen also where it does not answer
        while let Ok((at, happening)) = told.try_recv() {
            on(&at, happening);
        }
        let mut session = Session {
            project,
            place,
            build,
            cluster: cluster?,
            followed: vec![],
            tell,
            building: None,
            began: Instant::now(),
            is_first: true,
            operator: None,
        };
        {
            let mut begun = std::pin::pin!(session.begin());
            loop {
                tokio::select! {
                    () = &mut end => return Ok(()),
                    Some((at, happening)) = told.recv() => on(&at, happening),
                    () = &mut begun => break,
                }
            }
        }
        if session.project.is_stale {
            session.tell(Happening::Stale);
        }
        session.start_build();
        loop {
            tokio::select! {
                () = &mut end => break,
                Some((at, happening)) = told.recv() => on(&at, happening),
                built = built(&mut session.building) => session.restart(built).await?,
                how = ended(&mut session.operator) => session.tell(Happening::Ended(how)),
                parts = files.changed() => session.changed(parts, &read).await,
            }
        }
        if let Some(operator) = session.operator.take() {
            operator.stop().await;
        }
        session.cluster.shutdown().await;
        while let Ok((at, happening)) = told.try_recv() {
            on(&at, happening);
        }
        Ok(())
    }

    fn tell(&self, happening: Happening) {
        self.tell.tell(happening);
    }

    /// Follows the project's kinds, what they own and watch, and events, as far as that is not done yet.
    fn follow(&mut self) {
        let kinds = &self.project.kinds;
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
        let events = ResourceType {
            group: String::new(),
            version: "v1".into(),
            kind: "Event".into(),
            plural: "events".into(),
            namespaced: true,
        };
        for kind in kinds.iter().chain([&events]) {
            if !self.followed.contains(kind) {
                let (client, tell) = (self.cluster.client.clone(), self.tell.clone());
                tokio::spawn(follow(client, kind.clone(), scope.clone(), tell));
                self.followed.push(kind.clone());
            }
        }
    }

    /// Brings onto the cluster what the operator needs, and its samples, whose creation is to be seen.
    async fn begin(&mut self) {
        for spec in &self.project.specs {
            self.apply(spec, &self.project.root.join(spec)).await;
        }
        self.follow();
        let root = &self.project.root;
        if self.cluster.is_own {
            self.cluster
                .make_namespaces(&self.project.namespaces, &self.tell)
                .await;
            self.apply(
                "manifests/namespace.yaml",
                &root.join("manifests/namespace.yaml"),
            )
            .await;
            for path in manifests(&root.join("manifests/rbac")) {
                self.apply_of_project(&path).await;
            }
        }
        for path in &self.place.apply {
            let paths = if path.is_dir() {
                manifests(path)
            } else {
                vec![path.clone()]
            };
            for path in paths {
                self.apply(&path.display().to_string(), &path).await;
            }
        }
        if self.place.samples {
            for path in manifests(&root.join("manifests/samples")) {
                self.apply_of_project(&path).await;
            }
        }
    }

    async fn apply_of_project(&self, path: &Path) {
        let inside = path.strip_prefix(&self.project.root).unwrap_or(path);
        self.apply(&inside.to_string_lossy().replace('\\', "/"), path)
            .await;
    }

    async fn apply(&self, shown: &str, path: &Path) {
        self.cluster.apply(shown, path, &self.tell).await;
    }

    /// Follows a change of the project's files.
    async fn changed(&mut self, parts: BTreeSet<Part>, read: &impl Fn() -> Option<Project>) {
        let mut is_source = false;
        for part in &parts {
            match part {
                Part::Code => self.start_build(),
                Part::State => is_source = true,
                Part::Objects(path) => {
                    let (is_spec, is_sample) = (
                        path.starts_with("crds/"),
                        path.starts_with("manifests/samples/"),
                    );
                    is_source |= is_spec;
                    let file = self.project.root.join(path);
                    let is_wanted = is_spec
                        || is_sample && self.place.samples
                        || !is_sample && self.cluster.is_own;
                    if file.exists() && is_wanted {
                        self.apply(path, &file).await;
                    }
                }
            }
        }
        if !is_source {
            return;
        }
        let is_stale = match read() {
            Some(project) => {
                self.project = project;
                self.follow();
                self.project.is_stale
            }
            None => true,
        };
        if is_stale {
            self.tell(Happening::Stale);
        }
    }

    /// Builds, anew if a build is under way.
    fn start_build(&mut self) {
        if let Some(building) = self.building.take() {
            building.abort();
        }
        self.tell(Happening::Building);
        self.began = Instant::now();
        let build = self.build.clone();
        let mut command = tokio::process::Command::from(build.command(self.is_first));
        command.kill_on_drop(true);
        self.building = Some(tokio::spawn(async move {
            let output = command.spawn().ok()?.wait_with_output().await.ok()?;
            build
                .built(&output.stdout)
                .filter(|_| output.status.success())
        }));
    }

    /// Puts the new operator in the place of the old one.
    async fn restart(&mut self, built: Option<Built>) -> Result<(), DevError> {
        let Some(built) = built else {
            self.tell(Happening::NotBuilt);
            return Ok(());
        };
        self.is_first = false;
        if built.is_fresh && self.operator.is_some() {
            self.tell(Happening::Unchanged);
            return Ok(());
        }
        self.tell(Happening::Built(self.began.elapsed()));
        if let Some(operator) = self.operator.take() {
            operator.stop().await;
        }
        let (arguments, environment) = (&self.place.arguments, &self.cluster.environment);
        let root = &self.project.root;
        let mut environment = environment.clone();
        if !self.project.namespaces.is_empty() {
            let names = self.project.namespaces.join(",");
            environment.push(("WATCH_NAMESPACE", names.into()));
        }
        let operator = Operator::start(&built.program, arguments, &environment, root, &self.tell)?;
        self.operator = Some(operator);
        Ok(())
    }
}

/// Waits for the build under way, if there is one.
async fn built(building: &mut Option<JoinHandle<Option<Built>>>) -> Option<Built> {
    let Some(task) = building else {
        return pending().await;
    };
    let built = task.await;
    *building = None;
    built.ok().flatten()
}

/// Waits until the operator ends by itself, if one runs; how it ended.
async fn ended(operator: &mut Option<Operator>) -> String {
    let Some(running) = operator else {
        return pending().await;
    };
    let how = running.ended().await;
    *operator = None;
    how
}

/// Ctrl-C, SIGTERM, or the terminal's end.
async fn end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (terminate, hangup) = (
            signal(SignalKind::terminate()),
            signal(SignalKind::hangup()),
        );
        if let (Ok(mut terminate), Ok(mut hangup)) = (terminate, hangup) {
            tokio::select! {
                _ended = tokio::signal::ctrl_c() => {}
                _ended = terminate.recv() => {}
                _ended = hangup.recv() => {}
            }
            return;
        }
    }
    let _ended = tokio::signal::ctrl_c().await;
}
