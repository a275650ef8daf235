//! The user's cluster: the requests of an uninstallation, with errors that name the request.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, Config,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, PartialObjectMeta, Preconditions},
    client::{ClientBuilder, retry::RetryPolicy},
    config::{KubeConfigOptions, Kubeconfig},
};
use tower::{buffer::BufferLayer, retry::RetryLayer};

use super::{Object, UninstallError};

/// The objects of a page of a list.
const PAGE: u32 = 500;

/// A connection to the API server, with the permissions of the user.
pub struct Cluster {
    pub client: Client,
    /// The URL of the API server.
    pub server: String,
    /// The context of the kubeconfig.
    pub context: String,
}

impl Cluster {
    /// Connects to the cluster of a context, or of the current one.
    pub async fn connect(context: Option<&str>) -> Result<Self, UninstallError> {
        let failed = |error: &dyn std::fmt::Display| UninstallError::Kubeconfig(error.to_string());
        let kubeconfig = Kubeconfig::read().map_err(|error| failed(&error))?;
        let chosen = context
            .map(str::to_owned)
            .or_else(|| kubeconfig.current_context.clone());
        let Some(chosen) = chosen.filter(|name| !name.is_empty()) else {
            return Err(failed(&"it has no current context"));
        };
        if !kubeconfig.contexts.iter().any(|it| it.name == chosen) {
            let known = kubeconfig.contexts.iter().map(|it| it.name.as_str());
            let known: Vec<&str> = known.collect();
            return Err(UninstallError::Context {
                name: chosen,
                known: match known.as_slice() {
                    [] => "none".to_owned(),
                    known => known.join(", "),
                },
            });
        }
        let options = KubeConfigOptions {
            context: Some(chosen.clone()),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let mut config = config.map_err(|error| failed(&error))?;
        let server = config.cluster_url.to_string();
        // by default, a server that is not available is asked for minutes
        config.default_retry = false;
        let client = ClientBuilder::try_from(config).map_err(|error| failed(&error))?;
        let client = client
            .with_layer(&BufferLayer::new(1))
            .with_layer(&RetryLayer::new(RetryPolicy::default()))
            .build();
        let cluster = Self {
            client,
            server: server.trim_end_matches('/').to_owned(),
            context: chosen,
        };
        match cluster.client.apiserver_version().await {
            Ok(_) => Ok(cluster),
            // nothing else has an answer without these
            Err(kube::Error::Api(status)) if ![401, 403].contains(&status.code) => {
                let why = format!("it answered {} {}", status.code, status.message);
                Err(UninstallError::Unreachable {
                    server: cluster.server,
                    why: why.trim_end().to_owned(),
                })
            }
            Err(error) => Err(cluster.error("get /version".to_owned(), error)),
        }
    }

    /// An object, if it exists and its kind is served.
    pub(super) async fn read(
        &self,
        object: &Object,
    ) -> Result<Option<DynamicObject>, UninstallError> {
        let result = self.api(object).get(&object.name).await;
        self.optional(format!("get {object}"), result)
    }

    /// Deletes the object with this uid. `params` decides about its dependents.
    pub(super) async fn delete(
        &self,
        object: &Object,
        uid: Option<String>,
        params: DeleteParams,
    ) -> Result<(), UninstallError> {
        let params = params.preconditions(Preconditions {
            uid,
            resource_version: None,
        });
        let result = self.api(object).delete(&object.name, &params).await;
        self.optional(format!("delete {object}"), result)?;
        Ok(())
    }

    pub(super) async fn crd(
        &self,
        name: &str,
    ) -> Result<Option<CustomResourceDefinition>, UninstallError> {
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let action = format!("get CustomResourceDefinition {name}");
        self.optional(action, crds.get(name).await)
    }

    pub(super) async fn delete_crd(&self, name: &str) -> Result<(), UninstallError> {
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let action = format!("delete CustomResourceDefinition {name}");
        self.optional(action, crds.delete(name, &DeleteParams::default()).await)?;
        Ok(())
    }

    /// The metadata of all objects of a kind, in all namespaces; none if the kind is not served.
    pub(super) async fn list(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
    ) -> Result<Vec<PartialObjectMeta<DynamicObject>>, UninstallError> {
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, resource),
            None => Api::all_with(self.client.clone(), resource),
        };
        let action = format!("list {}", resource.plural);
        let mut params = ListParams::default().limit(PAGE);
        let mut objects = vec![];
        loop {
            let page = api.list_metadata(&params).await;
            let Some(page) = self.optional(action.clone(), page)? else {
                return Ok(objects);
            };
            objects.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(objects),
            }
        }
    }

    fn api(&self, object: &Object) -> Api<DynamicObject> {
        match &object.namespace {
            Some(namespace) => {
                Api::namespaced_with(self.client.clone(), namespace, &object.resource)
            }
            None => Api::all_with(self.client.clone(), &object.resource),
        }
    }

    /// The result of a request, or `None` if the object does not exist, or is another one by now.
    fn optional<T>(
        &self,
        action: String,
        result: Result<T, kube::Error>,
    ) -> Result<Option<T>, UninstallError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(None),
            Err(error) => Err(self.error(action, error)),
        }
    }

    pub(super) fn error(&self, action: String, error: kube::Error) -> UninstallError {
        let status = match error {
            kube::Error::Api(status) => status,
            error => {
                return UninstallError::Unreachable {
                    server: self.server.clone(),
                    why: causes(&error),
                };
            }
        };
        let message = status.message.clone();
        match status.code {
            401 => UninstallError::Unauthorized(self.server.clone()),
            403 => UninstallError::Forbidden { action, message },
            500.. if message.contains("conversion webhook") => {
                UninstallError::Conversion { action, message }
            }
            _ => UninstallError::Refused { action, message },
        }
    }
}

/// The message of an error, and those of its causes that it does not contain.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}
