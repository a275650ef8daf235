//! The session: starts, watches, rebuilds and stops the server, cargo and the operator.

use std::{collections::BTreeSet, ffi::OsString, future::pending, path::PathBuf};

use jiff::Zoned;
use operator_schema::dev::{
    Environment, Instruction, Options as ServerOptions, Project as Served, Start,
};

use super::{
    DevError,
    build::{Build, Building, Built},
    event::{DevEvent, EventSender},
    files::{Files, Part},
    folder::lock,
    listener::Listener,
    process::{Operator, of_user},
    server::Server,
};

/// The parts of a project that a session needs.
#[derive(Clone, Debug)]
pub struct Project {
    pub root: PathBuf,
    /// What the API server needs.
    pub served: Served,
    /// Whether code and manifests do not match the CRDs and `operator.toml`.
    pub is_stale: bool,
}

/// Where and how the operator runs.
#[derive(Clone, Debug)]
pub struct Options {
    pub server: ServerOptions,
    pub binary: Option<String>,
    pub release: bool,
    /// Whether the user starts the operator, as in a debugger.
    pub no_operator: bool,
    /// The arguments for the operator.
    pub arguments: Vec<OsString>,
}

/// Runs a session until Ctrl-C, SIGTERM or the end of the terminal.
///
/// `read` reads the project again when `operator.toml` or CRDs have changed; its error describes what is wrong with them.
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
    folder: PathBuf,
    events: EventSender,
    building: Option<Building>,
    /// A build whose operator starts once the server is ready for it.
    built: Option<Built>,
    /// Whether cargo has built the operator at least once.
    is_built: bool,
    /// The server, which starts after the first build.
    server: Option<Server>,
    operator: Option<Operator>,
}

/// An event that a session waits for.
enum Next {
    Built(Result<Built, String>),
    Ended(String),
    /// The server has followed an instruction, or has ended.
    Followed(Result<(), DevError>),
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
        let folder = build.target.join("cargo-operator");
        let folder = folder.join(&project.served.name);
        let _lock = lock(&folder)?;
        let files = Files::watch(&project.root, &build)?;
        let mut session = Session {
            project,
            options,
            build,
            files,
            folder,
            events,
            building: None,
            built: None,
            is_built: false,
            server: None,
            operator: None,
        };
        if session.project.is_stale {
            session.events.send(DevEvent::Stale);
        }
        if let Some(context) = &session.options.server.context {
            session.events.send(DevEvent::Context(context.clone()));
        }
        let mut ended = Ok(());
        let mut is_on = listener
            .run_until_interrupted(session.start_build())
            .await
            .is_some();
        while is_on {
            let next = next(
                &mut session.building,
                &mut session.operator,
                &mut session.server,
                &mut session.files,
            );
            let Some(next) = listener.run_until_interrupted(next).await else {
                break;
            };
            let reacted = session.react(next, &read);
            is_on = match listener.run_until_interrupted(reacted).await {
                Some(Ok(())) => true,
                Some(Err(error)) => {
                    ended = Err(error);
                    false
                }
                None => false,
            };
        }
        if let Some(building) = session.building.take() {
            building.stop().await;
        }
        if let Some(operator) = session.operator.take() {
            operator.stop().await;
        }
        if let Some(server) = session.server.take() {
            server.stop().await;
        }
        listener.drain();
        ended
    }

    /// Reports how the user has to start the operator.
    fn leave_to_user(&self, environment: &Environment) {
        let (variables, file) = (of_user(environment), self.folder.join("operator.env"));
        let lines = variables
            .iter()
            .map(|(name, value)| format!("{name}={value}\n"));
        if let Err(error) = std::fs::write(&file, lines.collect::<String>()) {
            let why = format!("{}: {error}", file.display());
            self.events.send(DevEvent::Invalid(why));
        }
        let is_set = |name: &&String| std::env::var_os(name).is_some();
        let unset = environment.unset.iter().filter(is_set).cloned().collect();
        self.events.send(DevEvent::StartManually {
            environment: variables,
            file,
            unset,
        });
    }

    /// Handles an event that `next` returned.
    async fn react<R>(&mut self, next: Next, read: &R) -> Result<(), DevError>
    where
        R: Fn() -> Result<Project, String> + Clone + Send + 'static,
    {
        match next {
            Next::Built(Ok(built)) => {
                if self.server.is_none() {
                    self.start_server(&built).await?;
                }
                self.is_built = true;
                self.built = Some(built);
                self.restart().await;
            }
            Next::Built(Err(why)) => self.events.send(DevEvent::BuildFailed(why)),
            Next::Ended(how) => self.events.send(DevEvent::Exited(how)),
            Next::Followed(followed) => {
                followed?;
                self.restart().await;
            }
            Next::Changed(parts) => self.changed(parts, read).await?,
        }
        Ok(())
    }

    async fn start_server(&mut self, built: &Built) -> Result<(), DevError> {
        let mut server = Server::start(&built.server, &self.events)?;
        let start = Start {
            root: self.project.root.clone(),
            folder: self.folder.clone(),
            project: self.project.served.clone(),
            options: self.options.server.clone(),
        };
        server
            .instruct(&Instruction::Start(Box::new(start)))
            .await?;
        self.server = Some(server);
        Ok(())
    }

    /// Gives the server an instruction; one that has not started yet will get the project as it is then.
    async fn instruct(&mut self, instruction: Instruction) -> Result<(), DevError> {
        match &mut self.server {
            Some(server) => server.instruct(&instruction).await,
            None => Ok(()),
        }
    }

    /// Handles a change of the project's files.
    async fn changed<R>(&mut self, parts: BTreeSet<Part>, read: &R) -> Result<(), DevError>
    where
        R: Fn() -> Result<Project, String> + Clone + Send + 'static,
    {
        let is_source = |part: &Part| match part {
            Part::Config => true,
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
                    let served = Box::new(self.project.served.clone());
                    self.instruct(Instruction::Project(served)).await?;
                }
                Ok(Err(why)) => self.events.send(DevEvent::Invalid(why)),
                // the session is at its end
                Err(_) => {}
            }
        }
        let paths = parts.iter().filter_map(|part| match part {
            Part::Objects(path) => Some(path.clone()),
            _ => None,
        });
        self.instruct(Instruction::Changed(paths.collect())).await?;
        // a user who starts the operator also builds it
        if self.options.no_operator && self.server.is_some() {
            return Ok(());
        }
        if parts.contains(&Part::Manifest) {
            self.rebuild_from().await;
        }
        if parts.contains(&Part::Code) || parts.contains(&Part::Manifest) {
            self.start_build().await;
        }
        Ok(())
    }

    /// Determines again what cargo builds. Errors are ignored, because cargo reports them when it builds.
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

    /// Replaces the running operator by the new build, if there is one and the server has followed all instructions.
    async fn restart(&mut self) {
        let Some(environment) = self.server.as_ref().and_then(Server::environment).cloned() else {
            return;
        };
        let Some(built) = self.built.take() else {
            return;
        };
        if self.options.no_operator {
            return self.leave_to_user(&environment);
        }
        let runs = self.operator.as_ref();
        if runs.is_some_and(|operator| operator.was_started_from(&built.program, &environment)) {
            self.events.send(DevEvent::Unchanged);
            return;
        }
        self.events.send(DevEvent::Built(built.took));
        if let Some(operator) = self.operator.take() {
            operator.stop().await;
        }
        let (arguments, root) = (&self.options.arguments, &self.project.root);
        match Operator::start(&built.program, arguments, &environment, root, &self.events) {
            Ok(operator) => self.operator = Some(operator),
            Err(error) => self.events.send(DevEvent::Exited(error.to_string())),
        }
    }
}

/// Waits for the end of a build or of the operator, for the server, or for a change of files.
async fn next(
    building: &mut Option<Building>,
    operator: &mut Option<Operator>,
    server: &mut Option<Server>,
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
    let followed = async {
        match server {
            Some(server) => server.followed().await,
            None => pending().await,
        }
    };
    tokio::select! {
        followed = followed => Next::Followed(followed),
        built = built => Next::Built(built),
        how = ended => Next::Ended(how),
        parts = files.changed() => Next::Changed(parts),
    }
}
