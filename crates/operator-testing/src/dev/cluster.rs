//! The cluster on which the operator runs: an API server in memory, or the user's cluster.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use http::Request;
use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Config,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::GroupVersionKind,
    discovery,
    runtime::{conditions, wait::await_condition},
};
use operator_schema::dev::{Event, FIXTURES, SAMPLES};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{sleep, timeout};
use tower::service_fn;

use super::{DevError, Output, requests};
use crate::http::Serving;
use crate::{ApiServer, Workloads};

/// The field manager of the objects that the session applies.
const MANAGER: &str = "cargo-operator";

/// The variables that would make kube use a proxy to reach the server on this host.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];

/// How long to wait until a new CRD is served.
const PATIENCE: Duration = Duration::from_secs(10);

/// A cluster, with a client that has all permissions, or those of the user.
pub struct Cluster {
    pub client: Client,
    /// The kubeconfig for the operator.
    pub kubeconfig: String,
    /// The variables that would make the operator use a proxy, and are unset for it.
    pub proxies: &'static [&'static str],
    /// Whether only the session uses the cluster, so that conflicting fields are overwritten.
    pub is_own: bool,
    serving: Option<Serving>,
}

impl Cluster {
    /// Starts an API server in memory, on which the operator has the permissions of its service account. The kubeconfigs are written to
    /// `folder`; objects without a namespace are created in `namespace`.
    pub async fn in_memory(
        name: &str,
        namespace: Option<&str>,
        folder: &Path,
        output: &Output,
    ) -> Result<Self, DevError> {
        let server = ApiServer::new().with_workloads(Workloads::default());
        let account = format!("system:serviceaccount:{name}:{name}");
        let (service, user, of_requests) = (server.clone(), account.clone(), output.clone());
        let service = service_fn(move |request: Request<_>| {
            let (server, user, output) = (service.clone(), user.clone(), of_requests.clone());
            async move { requests::answer(server, request, &user, &output).await }
        });
        let serving = Serving::start(service).await?;
        let (admin, operator) = (
            folder.join("kubeconfig"),
            folder.join("operator.kubeconfig"),
        );
        serving.write_kubeconfig(&admin)?;
        serving.write_kubeconfig_as(&account, &operator)?;
        output.event(Event::Serving {
            url: serving.url(),
            context: None,
            kubeconfig: Some(admin),
        });
        Ok(Self {
            client: Client::new(server, namespace.unwrap_or("default")),
            kubeconfig: operator.display().to_string(),
            proxies: PROXIES,
            is_own: true,
            serving: Some(serving),
        })
    }

    /// Connects to the cluster of the current context, which is reported before it is used. The operator gets a copy of the kubeconfig, so
    /// that it stays on this cluster if the user switches to another context.
    ///
    /// If the cluster can call the operator's webhooks, `service_namespace` is the namespace of their Service, and becomes the
    /// namespace of the operator's context.
    pub async fn current(
        context: Option<String>,
        namespace: Option<&str>,
        service_namespace: Option<&str>,
        folder: &Path,
        output: &Output,
    ) -> Result<Self, DevError> {
        let failed = |error: &dyn std::fmt::Display| DevError::Kubeconfig(error.to_string());
        let mut kubeconfig = Kubeconfig::read().map_err(|error| failed(&error))?;
        if context.is_some() {
            kubeconfig.current_context = context;
        }
        let context = kubeconfig.current_context.clone();
        let copy = folder.join("operator.kubeconfig");
        let mut of_operator = kubeconfig.clone();
        let context_of_operator = of_operator
            .contexts
            .iter_mut()
            .find(|it| Some(&it.name) == context.as_ref())
            .and_then(|it| it.context.as_mut());
        if let (Some(context), Some(namespace)) = (context_of_operator, service_namespace) {
            context.namespace = Some(namespace.to_owned());
        }
        write_kubeconfig(&copy, &of_operator).map_err(|source| DevError::File {
            path: copy.clone(),
            source,
        })?;
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let mut config = config.map_err(|error| failed(&error))?;
        if let Some(namespace) = namespace {
            namespace.clone_into(&mut config.default_namespace);
        }
        output.event(Event::Serving {
            url: config
                .cluster_url
                .to_string()
                .trim_end_matches('/')
                .to_owned(),
            context: Some(context.unwrap_or_default()),
            kubeconfig: None,
        });
        let client = Client::try_from(config).map_err(|error| failed(&error))?;
        let version = client.apiserver_version().await;
        version.map_err(|error| failed(&error))?;
        Ok(Self {
            client,
            kubeconfig: copy.display().to_string(),
            proxies: &[],
            is_own: false,
            serving: None,
        })
    }

    /// Whether a Deployment of the operator exists on the cluster.
    pub async fn has_deployed(&self, name: &str) -> bool {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), name);
        deployments
            .get_opt(name)
            .await
            .is_ok_and(|deployment| deployment.is_some())
    }

    /// `spec.conversion` of an installed CRD, if it calls a webhook.
    pub async fn conversion_webhook(&self, crd: &str) -> Option<Value> {
        let resource = ApiResource::erase::<CustomResourceDefinition>(&());
        let crds: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let conversion = crds.get_opt(crd).await.ok().flatten()?.data["spec"]["conversion"].take();
        (conversion["strategy"] == "Webhook").then_some(conversion)
    }

    /// Applies the objects of a file, CRDs and namespaces first; rejections are reported.
    pub async fn apply(&self, shown: &str, path: &Path, output: &Output) {
        self.apply_changed(shown, path, |_| (), output).await;
    }

    /// Like [`apply`](Self::apply), after each object was changed by `change`.
    pub async fn apply_changed(
        &self,
        shown: &str,
        path: &Path,
        change: impl Fn(&mut DynamicObject),
        output: &Output,
    ) {
        let refused = match read(path) {
            Ok(objects) if Path::new(shown).starts_with(SAMPLES) && objects.len() != 1 => {
                vec![format!(
                    "it has {} objects, but a sample is one object; move the objects that it refers to into a file in {FIXTURES}/",
                    objects.len()
                )]
            }
            Ok(mut objects) => {
                objects.iter_mut().for_each(change);
                self.apply_all(objects).await
            }
            Err(why) => vec![why],
        };
        if refused.is_empty() {
            output.event(Event::Applied(shown.to_owned()));
        }
        for why in refused {
            output.event(Event::ApplyFailed(shown.to_owned(), why));
        }
    }

    /// Creates missing namespaces.
    pub async fn make_namespaces(&self, names: &[String], output: &Output) {
        for name in names {
            let mut namespace = DynamicObject::new(name, &ApiResource::erase::<Namespace>(&()));
            namespace.metadata.name = Some(name.clone());
            if let Err(error) = self.apply_one(&namespace).await {
                output.event(Event::ApplyFailed(
                    format!("the namespace {name}"),
                    message(&error),
                ));
            }
        }
    }

    /// Applies objects. Returns the rejected ones, each with the reason; the others are applied.
    async fn apply_all(&self, mut objects: Vec<DynamicObject>) -> Vec<String> {
        let kind = |object: &DynamicObject| {
            object
                .types
                .as_ref()
                .map(|it| it.kind.clone())
                .unwrap_or_default()
        };
        objects.sort_by_key(|object| match kind(object).as_str() {
            "CustomResourceDefinition" | "Namespace" => 0,
            _ => 1,
        });
        let mut refused = vec![];
        for object in &objects {
            if let Err(error) = self.apply_one(object).await {
                let name = object.metadata.name.as_deref().unwrap_or("without a name");
                refused.push(format!("{} {name}: {}", kind(object), message(&error)));
            }
        }
        refused
    }

    async fn apply_one(&self, object: &DynamicObject) -> Result<(), kube::Error> {
        let types = object.types.clone().unwrap_or_default();
        let gvk = GroupVersionKind::try_from(&types)
            .map_err(|error| kube::Error::Service(error.into()))?;
        let (resource, capabilities) = self.resource(&gvk).await?;
        let is_namespaced = capabilities.scope == discovery::Scope::Namespaced;
        let client = self.client.clone();
        let api: Api<DynamicObject> = match (is_namespaced, &object.metadata.namespace) {
            (false, _) => Api::all_with(client, &resource),
            (true, Some(namespace)) => Api::namespaced_with(client, namespace, &resource),
            (true, None) => Api::default_namespaced_with(client, &resource),
        };
        let Some(name) = &object.metadata.name else {
            return api.create(&PostParams::default(), object).await.map(drop);
        };
        let params = PatchParams::apply(MANAGER);
        let params = if self.is_own { params.force() } else { params };
        api.patch(name, &params, &Patch::Apply(object)).await?;
        if gvk.kind == "CustomResourceDefinition" {
            let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
            let established = await_condition(definitions, name, conditions::is_crd_established());
            // if it is not established in time, the first of its objects is reported
            let _late = timeout(PATIENCE, established).await;
        }
        Ok(())
    }

    /// The API resource of a kind, which may be served only some time after its CRD is applied.
    async fn resource(
        &self,
        gvk: &GroupVersionKind,
    ) -> Result<(ApiResource, discovery::ApiCapabilities), kube::Error> {
        const PAUSE: Duration = Duration::from_millis(100);
        let mut tries = if self.is_own { 1 } else { 20 };
        loop {
            tries -= 1;
            match discovery::pinned_kind(&self.client, gvk).await {
                Err(error) if tries > 0 && is_unknown(&error) => sleep(PAUSE).await,
                result => return result,
            }
        }
    }

    /// Shuts down a server in memory. Watches end, and its state is discarded.
    pub async fn shutdown(self) {
        if let Some(serving) = self.serving {
            serving.shutdown().await;
        }
    }
}

/// Writes a kubeconfig that only this user can read, because it may contain keys and tokens.
fn write_kubeconfig(path: &Path, kubeconfig: &Kubeconfig) -> io::Result<()> {
    write_private(path, &serde_json::to_vec(kubeconfig)?)
}

/// Writes a file that only this user can read.
pub(super) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Whether an error means that the API server does not serve the kind, or not yet.
fn is_unknown(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 404,
        kube::Error::Discovery(_) => true,
        _ => false,
    }
}

/// The message of the server, if it has answered.
fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        error => error.to_string(),
    }
}

/// The objects of a YAML or JSON file, including the items of lists.
fn read(path: &Path) -> Result<Vec<DynamicObject>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut objects = vec![];
    for document in serde_yaml::Deserializer::from_str(&text) {
        let mut document = Value::deserialize(document).map_err(|error| error.to_string())?;
        let items = match document["kind"].as_str() {
            Some("List") => document["items"].take(),
            _ => Value::Null,
        };
        match items {
            Value::Array(items) => objects.extend(items),
            _ if document.is_null() => {}
            _ => objects.push(document),
        }
    }
    let typed = |object| serde_json::from_value(object).map_err(|error| error.to_string());
    objects.into_iter().map(typed).collect()
}

/// The manifests in a folder, sorted by name, without a kustomization.
pub fn manifests(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_manifest = |path: &PathBuf| {
        let has = |ends: &[&str]| {
            path.extension()
                .is_some_and(|it| ends.iter().any(|end| it == *end))
        };
        let is_kustomization = path.file_stem().is_some_and(|it| it == "kustomization");
        has(&["yaml", "yml", "json"]) && !is_kustomization
    };
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(is_manifest)
        .collect();
    paths.sort();
    paths
}
