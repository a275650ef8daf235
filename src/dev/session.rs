//! The session itself: what is begun, followed, built anew and ended.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    future::pending,
    path::{Path, PathBuf},
};

use jiff::Zoned;
use tokio::task::AbortHandle;

use super::{
    DevError, FIXTURES, SAMPLES,
    build::{Build, Building, Built},
    cluster::{Cluster, manifests},
    files::{Files, Part},
    folder::alone,
    happening::{Happening, Tell},
    listener::Listener,
    objects::{Scope, follow},
    process::{Operator, Settings},
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
    /// Whether the user starts the operator, as in a debugger.
    pub no_operator: bool,
    /// For the operator's binary.
    pub arguments: Vec<OsString>,
}

/// Runs a session until Ctrl-C, SIGTERM or the end of the terminal.
///
/// `read` reads the project anew when its state or specs have changed, or says what is wrong with them.
pub fn run<R>(
    project: Project,
    place: &Place,
    read: R,
    on: impl FnMut(&Zoned, Happening),
) -> Result<(), DevError>
where
    R: Fn() -> Result<Project, String> + Clone + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(Session::run(project, place, read, on));
    // reading the project anew may wait for another command
    runtime.shutdown_background();
    ended
}

struct Session<'a> {
    project: Project,
    place: &'a Place,
    build: Build,
    files: Files,
    cluster: Cluster,
    folder: PathBuf,
    followed: Vec<(ResourceType, AbortHandle)>,
    tell: Tell,
    building: Option<Building>,
    /// Whether cargo has made the operator at least once.
    is_built: bool,
    operator: Option<Operator>,
}

/// What a session waits for.
enum Next {
    Built(Result<Built, String>),
    Ended(String),
    Changed(BTreeSet<Part>),
}

impl<'a> Session<'a> {
    async fn run<R>(
        project: Project,
        place: &'a Place,
        read: R,
        on: impl FnMut(&Zoned, Happening),
    ) -> Result<(), DevError>
    where
        R: Fn() -> Result<Project, String> + Clone + Send + 'static,
    {
        let (tell, told) = Tell::new();
        let mut listener = Listener::new(told, on);
        let build = Build::of(&project.root, place.binary.as_deref(), place.release)?;
        let folder = build.target.join("cargo-operator").join(&project.name);
        let _alone = alone(&folder)?;
        let files = Files::watch(&project.root, &build)?;
        let namespace = project.namespaces.first().map(String::as_str);
        let cluster = match place.cluster {
            true => Cluster::current(namespace, &folder, &tell).await,
            false => Cluster::in_memory(&project.name, namespace, &folder, &tell).await,
        };
        // which cluster it is, is to be seen also where it does not answer
        listener.tell_rest();
        let mut session = Session {
            project,
            place,
            build,
            files,
            cluster: cluster?,
            folder,
            followed: vec![],
            tell,
            building: None,
            is_built: false,
            operator: None,
        };
        let mut is_on = listener.meanwhile(session.begin()).await.is_some();
        while is_on {
            let next = next(
                &mut session.building,
                &mut session.operator,
                &mut session.files,
            );
            is_on = match listener.meanwhile(next).await {
                Some(next) => listener
                    .meanwhile(session.react(next, &read))
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
        listener.tell_rest();
        Ok(())
    }

    /// Brings onto the cluster what the operator needs, and its samples, whose creation is to be seen; and builds.
    async fn begin(&mut self) {
        if !self.cluster.is_own && self.cluster.has_deployed(&self.project.name).await {
            self.tell.tell(Happening::Rival(self.project.name.clone()));
        }
        for spec in &self.project.specs {
            self.apply(spec, &self.project.root.join(spec)).await;
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
            // what samples refer to comes first
            for path in manifests(&root.join(FIXTURES)) {
                self.apply_of_project(&path).await;
            }
            for path in manifests(&root.join(SAMPLES)) {
                self.apply_of_project(&path).await;
            }
        }
        if self.project.is_stale {
            self.tell.tell(Happening::Stale);
        }
        match self.place.no_operator {
            true => self.leave_to_user(),
            false => self.start_build().await,
        }
    }

    /// What the operator is to be started with.
    fn settings(&self) -> Settings {
        let mut settings = self.cluster.settings.clone();
        if !self.project.namespaces.is_empty() {
            let names = self.project.namespaces.join(",");
            settings.set.push(("WATCH_NAMESPACE", names.into()));
        }
        settings
    }

    /// Tells with what the user is to start the operator.
    fn leave_to_user(&self) {
        let settings = self.settings();
        let (environment, file) = (settings.of_user(), self.folder.join("operator.env"));
        let lines = environment
            .iter()
            .map(|(name, value)| format!("{name}={value}\n"));
        if let Err(error) = std::fs::write(&file, lines.collect::<String>()) {
            let why = format!("{}: {error}", file.display());
            self.tell.tell(Happening::Wrong(why));
        }
        let is_set = |name: &&'static str| std::env::var_os(name).is_some();
        let unset = settings.unset.into_iter().filter(is_set).collect();
        self.tell.tell(Happening::Unstarted {
            environment,
            file,
            unset,
        });
    }

    /// Follows the project's kinds, what they own and watch, and events; and nothing else any more.
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
                let (client, tell) = (self.cluster.client.clone(), self.tell.clone());
                let follower = tokio::spawn(follow(client, kind.clone(), scope.clone(), tell));
                self.followed.push((kind, follower.abort_handle()));
            }
        }
    }

    async fn make_namespaces(&self) {
        let names = &self.project.namespaces;
        self.cluster.make_namespaces(names, &self.tell).await;
    }

    async fn apply_of_project(&self, path: &Path) {
        let inside = path.strip_prefix(&self.project.root).unwrap_or(path);
        self.apply(&inside.to_string_lossy().replace('\\', "/"), path)
            .await;
    }

    async fn apply(&self, shown: &str, path: &Path) {
        self.cluster.apply(shown, path, &self.tell).await;
    }

    async fn react<R>(&mut self, next: Next, read: &R)
    where
        R: Fn() -> Result<Project, String> + Clone + Send + 'static,
    {
        match next {
            Next::Built(Ok(built)) => self.restart(&built).await,
            Next::Built(Err(why)) => self.tell.tell(Happening::NotBuilt(why)),
            Next::Ended(how) => self.tell.tell(Happening::Ended(how)),
            Next::Changed(parts) => self.changed(parts, read).await,
        }
    }

    /// Follows a change of the project's files. A cluster that is not the session's own gets nothing more.
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
                        self.tell.tell(Happening::Stale);
                    }
                    if self.cluster.is_own {
                        self.make_namespaces().await;
                    }
                }
                Ok(Err(why)) => self.tell.tell(Happening::Wrong(why)),
                // the session is at its end
                Err(_) => {}
            }
        }
        for part in &parts {
            if let Part::Objects(path) = part
                && self.cluster.is_own
                && self.is_applied(path)
            {
                let file = self.project.root.join(path);
                self.apply(path, &file).await;
            }
        }
        // once their definitions are there
        self.follow();
        if self.place.no_operator {
            return;
        }
        if parts.contains(&Part::Manifest) {
            self.rebuild_from().await;
        }
        if parts.contains(&Part::Code) || parts.contains(&Part::Manifest) {
            self.start_build().await;
        }
    }

    /// Finds out anew what cargo is to build; what is wrong, cargo tells when it tries.
    async fn rebuild_from(&mut self) {
        let (root, place) = (self.project.root.clone(), self.place);
        let (binary, release) = (place.binary.clone(), place.release);
        let found =
            tokio::task::spawn_blocking(move || Build::of(&root, binary.as_deref(), release));
        if let Ok(Ok(build)) = found.await {
            self.build = build;
            if let Err(error) = self.files.follow(&self.build) {
                self.tell.tell(Happening::Wrong(error.to_string()));
            }
        }
    }

    /// Whether the session brings that file onto the cluster.
    fn is_applied(&self, path: &str) -> bool {
        let is_wanted = match path.split_once('/') {
            Some(("crds", _)) => self.project.specs.iter().any(|spec| spec == path),
            _ => {
                self.place.samples
                    || ![FIXTURES, SAMPLES]
                        .iter()
                        .any(|it| Path::new(path).starts_with(it))
            }
        };
        is_wanted && self.project.root.join(path).exists()
    }

    /// Builds, anew if a build is under way.
    async fn start_build(&mut self) {
        if let Some(building) = self.building.take() {
            building.stop().await;
        }
        self.tell.tell(Happening::Building);
        match self.build.start(!self.is_built) {
            Ok(building) => self.building = Some(building),
            Err(error) => self.tell.tell(Happening::NotBuilt(error.to_string())),
        }
    }

    /// Puts the new operator in the place of the old one.
    async fn restart(&mut self, built: &Built) {
        self.is_built = true;
        let (arguments, settings) = (&self.place.arguments, self.settings());
        let runs = self.operator.as_ref();
        if runs.is_some_and(|operator| operator.is_of(&built.program, &settings)) {
            self.tell.tell(Happening::Unchanged);
            return;
        }
        self.tell.tell(Happening::Built(built.took));
        if let Some(operator) = self.operator.take() {
            operator.stop().await;
        }
        let root = &self.project.root;
        match Operator::start(&built.program, arguments, &settings, root, &self.tell) {
            Ok(operator) => self.operator = Some(operator),
            Err(error) => self.tell.tell(Happening::Ended(error.to_string())),
        }
    }
}

/// Waits for the end of a build or of the operator, or for a change of the files.
async fn next(
    building: &mut Option<Building>,
    operator: &mut Option<Operator>,
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
    tokio::select! {
        built = built => Next::Built(built),
        how = ended => Next::Ended(how),
        parts = files.changed() => Next::Changed(parts),
    }
}
