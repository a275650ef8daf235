//! The session: applies the objects of the project, watches objects, and follows the instructions.

use std::path::{Path, PathBuf};

use kube::api::DynamicObject;
use operator_schema::dev::{
    Environment, Event, FIXTURES, Instruction, Message, Options, Project, Resource, SAMPLES, Start,
};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{AbortHandle, JoinHandle};

use super::cluster::{Cluster, manifests};
use super::conversions::Conversions;
use super::objects::{Scope, follow};
use super::webhooks::{CONFIGURATIONS, Webhooks};
use super::{DevError, Output};

/// Follows the instructions until there are no more.
pub async fn run(
    mut instructions: UnboundedReceiver<Instruction>,
    output: &Output,
) -> Result<(), DevError> {
    let Some(Instruction::Start(start)) = instructions.recv().await else {
        return Ok(());
    };
    let Start {
        root,
        folder,
        project,
        options,
    } = *start;
    let namespace = project.namespaces.first().map(String::as_str);
    let cluster = if options.cluster {
        let service = options.webhook_url.as_ref().map(|_| project.name.as_str());
        let context = options.context.clone();
        Cluster::current(context, namespace, service, &folder, output).await?
    } else {
        Cluster::in_memory(&project.name, namespace, &folder, output).await?
    };
    let mut session = Session {
        root,
        folder,
        project,
        options,
        cluster,
        followed: vec![],
        output: output.clone(),
        webhooks: None,
        uncalled: None,
        until_served: None,
    };
    session.prepare_webhooks()?;
    session.begin().await;
    session.done();
    loop {
        let served = async {
            match &mut session.until_served {
                Some(waiting) => drop(waiting.await),
                None => std::future::pending().await,
            }
        };
        let instruction = tokio::select! {
            () = served => None,
            instruction = instructions.recv() => match instruction {
                Some(instruction) => Some(instruction),
                None => break,
            },
        };
        match instruction {
            Some(instruction) => {
                session.react(instruction).await;
                session.done();
            }
            None => {
                session.until_served = None;
                session.apply_samples().await;
            }
        }
    }
    session.cluster.shutdown().await;
    Ok(())
}

struct Session {
    root: PathBuf,
    folder: PathBuf,
    project: Project,
    options: Options,
    cluster: Cluster,
    followed: Vec<(Resource, AbortHandle)>,
    output: Output,
    /// Where the operator serves its webhooks, if the server in memory calls them.
    webhooks: Option<Webhooks>,
    /// The folder with the certificate of webhooks that nothing calls.
    uncalled: Option<PathBuf>,
    /// Ends when the webhooks are served, so that the samples can be applied.
    until_served: Option<JoinHandle<()>>,
}

/// The environment variables with which an operator takes over from the deployed one, whose lease is in the namespace of the same name.
fn taking_over(name: &str) -> [(&'static str, String); 3] {
    [
        ("LEADER_ELECTION", "true".into()),
        ("LEASE_NAMESPACE", name.into()),
        ("PRIORITY", "1000".into()),
    ]
}

impl Session {
    /// Reports that an instruction was followed, with the environment for the operator.
    fn done(&self) {
        self.output.send(Message::Done(self.environment()));
    }

    /// Applies the objects that the operator needs, and then, after the watches have started, the samples, so that their creation is
    /// reported.
    async fn begin(&mut self) {
        if !self.cluster.is_own && self.cluster.has_deployed(&self.project.name).await {
            self.output.event(Event::AlreadyDeployed {
                name: self.project.name.clone(),
                pauses: self.options.take_over,
            });
        }
        let conversions = self.conversions().await;
        for crd in &self.project.crds {
            self.apply_crd(crd, &conversions).await;
        }
        self.follow();
        if self.cluster.is_own {
            self.make_namespaces().await;
            let namespace = self.root.join("manifests/namespace.yaml");
            self.apply_of_project(&namespace).await;
            for path in manifests(&self.root.join("manifests/rbac")) {
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
            // the API server would reject the samples while nothing serves the webhooks
            Some(webhooks) if self.options.samples => {
                let (client, name) = (self.cluster.client.clone(), self.project.name.clone());
                let converted = self.project.converted.clone();
                let served = webhooks.clone().wait_until_served(client, name, converted);
                self.until_served = Some(tokio::spawn(served));
                self.output.event(Event::SamplesWait);
            }
            _ => self.apply_samples().await,
        }
    }

    /// Prepares the webhooks, once the operator has some: an address, if the server in memory calls them. If nothing calls them, a
    /// certificate, so that the operator neither waits for one nor keeps one in the cluster.
    fn prepare_webhooks(&mut self) -> Result<(), DevError> {
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
        let project = &self.project;
        match &self.webhooks {
            Some(webhooks) => webhooks.conversions(&project.conversion, &project.converted),
            None => {
                let url = self.options.webhook_url.as_deref();
                let (conversion, converted) = (&project.conversion, &project.converted);
                Conversions::on_cluster(&self.cluster, url, conversion, converted).await
            }
        }
    }

    async fn apply_crd(&self, path: &str, conversions: &Conversions) {
        let file = self.root.join(path);
        let change = |object: &mut DynamicObject| conversions.add_to(object);
        self.cluster
            .apply_changed(path, &file, change, &self.output)
            .await;
    }

    /// Reports whether and how the user's cluster calls the operator.
    fn report_webhooks(&self, conversions: &Conversions) {
        let url = &self.options.webhook_url;
        let mut configurations = CONFIGURATIONS.iter();
        if configurations.any(|path| self.root.join(path).exists()) {
            self.output.event(Event::ForeignWebhooks(url.clone()));
        }
        let crds = match url {
            Some(_) => self.project.converted.clone(),
            None => conversions.missing(&self.project.converted),
        };
        if !crds.is_empty() {
            let url = url.clone();
            self.output.event(Event::ForeignConversions { url, crds });
        }
    }

    /// Applies the configurations of the webhooks.
    async fn apply_webhooks(&self) {
        let Some(webhooks) = &self.webhooks else {
            return;
        };
        for path in CONFIGURATIONS {
            let file = self.root.join(path);
            if file.exists() {
                let change = |object: &mut DynamicObject| webhooks.redirect(object);
                self.cluster
                    .apply_changed(path, &file, change, &self.output)
                    .await;
            }
        }
    }

    /// Applies fixtures and samples, if the user wants them.
    async fn apply_samples(&self) {
        if !self.options.samples {
            return;
        }
        // the objects that samples refer to come first
        for folder in [FIXTURES, SAMPLES] {
            for path in manifests(&self.root.join(folder)) {
                self.apply_of_project(&path).await;
            }
        }
    }

    /// The environment for starting the operator.
    fn environment(&self) -> Environment {
        let mut set = vec![("KUBECONFIG", self.cluster.kubeconfig.clone())];
        if !self.project.namespaces.is_empty() {
            set.push(("WATCH_NAMESPACE", self.project.namespaces.join(",")));
        }
        if self.options.take_over {
            set.extend(taking_over(&self.project.name));
        }
        match (&self.webhooks, &self.options.webhook_url) {
            (Some(webhooks), _) => set.extend(webhooks.environment()),
            (None, Some(url)) => set.push(("WEBHOOK_URL", url.clone())),
            (None, None) => {
                if let Some(certificates) = &self.uncalled {
                    // nothing calls them: any port will do
                    set.push(("WEBHOOK_ADDRESS", "127.0.0.1:0".into()));
                    let certificates = certificates.display().to_string();
                    set.push(("WEBHOOK_CERTIFICATES", certificates));
                }
            }
        }
        let set = set
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        let unset = self.cluster.proxies.iter().map(|name| (*name).to_owned());
        Environment {
            set: set.collect(),
            unset: unset.collect(),
        }
    }

    /// Watches the kinds of the project, the kinds that they own and watch, and events; stops all other watches.
    fn follow(&mut self) {
        let mut kinds = self.project.kinds.clone();
        let scope = if self.cluster.is_own {
            Scope::All
        } else {
            let own = kinds.iter().take(self.project.own);
            Scope::Of(
                own.map(|kind| format!("{}/{}", kind.group, kind.kind))
                    .collect(),
            )
        };
        kinds.push(Resource {
            group: String::new(),
            version: "v1".into(),
            kind: "Event".into(),
            plural: "events".into(),
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
                let (client, output) = (self.cluster.client.clone(), self.output.clone());
                let follower = tokio::spawn(follow(client, kind.clone(), scope.clone(), output));
                self.followed.push((kind, follower.abort_handle()));
            }
        }
    }

    async fn make_namespaces(&self) {
        let names = &self.project.namespaces;
        self.cluster.make_namespaces(names, &self.output).await;
    }

    async fn apply_of_project(&self, path: &Path) {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        self.apply(&inside.to_string_lossy().replace('\\', "/"), path)
            .await;
    }

    async fn apply(&self, shown: &str, path: &Path) {
        self.cluster.apply(shown, path, &self.output).await;
    }

    /// Follows an instruction. On the user's cluster, nothing is applied again.
    async fn react(&mut self, instruction: Instruction) {
        match instruction {
            // a session starts only once
            Instruction::Start(_) => {}
            Instruction::Project(project) => {
                self.project = *project;
                if self.cluster.is_own {
                    self.make_namespaces().await;
                }
                if let Err(error) = self.prepare_webhooks() {
                    self.output.event(Event::Invalid(error.to_string()));
                }
            }
            Instruction::Changed(paths) => {
                for path in paths.iter().filter(|path| self.is_applied(path)) {
                    if self.project.crds.contains(path) {
                        self.apply_crd(path, &self.conversions().await).await;
                    } else {
                        self.apply(path, &self.root.join(path)).await;
                    }
                }
                // a new kind can be watched once its CRD is there
                self.follow();
            }
        }
    }

    /// Whether the session applies this file.
    fn is_applied(&self, path: &str) -> bool {
        let is_wanted = match path.split_once('/') {
            Some(("crds", _)) => self.project.crds.iter().any(|crd| crd == path),
            _ => {
                self.options.samples
                    || ![FIXTURES, SAMPLES]
                        .iter()
                        .any(|it| Path::new(path).starts_with(it))
            }
        };
        self.cluster.is_own && is_wanted && self.root.join(path).exists()
    }
}
