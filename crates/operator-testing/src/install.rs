//! Applies manifests to the server, like `kubectl apply --server-side`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::BoxFuture;
use http::{Request, request};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kustomization::{kustomization, read};
use crate::{Error, Result, Server};

const MANAGER: &str = "fieldManager=operator-testing&force=true";

impl Server {
    /// Applies all documents of a YAML text, CRDs and namespaces first. Objects without a namespace are created in
    /// [`namespace`](Self::namespace). When this returns, all CRDs are established. Fails if the YAML is invalid, or if the server rejects
    /// an object.
    pub async fn install(&self, yaml: &str) -> Result<()> {
        self.apply_all(documents(yaml)?).await
    }

    /// Applies the objects of a YAML file, like [`install`](Self::install).
    ///
    /// # Errors
    /// If the file cannot be read; and the errors of [`install`](Self::install), with the path of the file.
    pub async fn install_file(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let objects = documents(&read(path)?).map_err(|error| error.in_file(path))?;
        let objects = objects.into_iter().map(|object| (path.to_owned(), object));
        self.apply_files(objects.collect()).await
    }

    /// Applies the files and kustomizations that a kustomization lists under `resources`, with its inline JSON `patches`, in the namespace
    /// that its key `namespace` sets. The keys `labels`, `images` and `commonAnnotations` are ignored, because they do not affect tests.
    /// Fails for other keys.
    pub async fn install_kustomization(&self, path: impl AsRef<Path>) -> Result<()> {
        let objects = kustomization(path)?.into_iter().map(|(_, object)| object);
        self.apply_all(objects.collect()).await
    }

    /// Applies objects of files; an error has the path of the file.
    pub(crate) fn apply_files(
        &self,
        mut objects: Vec<(PathBuf, Value)>,
    ) -> BoxFuture<'_, Result<()>> {
        objects.sort_by_key(|(_, object)| order(object));
        Box::pin(async move {
            for (path, object) in objects {
                let applied = self.apply_one(object).await;
                applied.map_err(|error| error.in_file(&path))?;
            }
            Ok(())
        })
    }

    /// Boxed, so that it is compiled in this crate and not in each test.
    fn apply_all(&self, mut objects: Vec<Value>) -> BoxFuture<'_, Result<()>> {
        objects.sort_by_key(order);
        Box::pin(async move {
            for object in objects {
                self.apply_one(object).await?;
            }
            Ok(())
        })
    }

    /// Deletes all objects of a YAML text, with background propagation; missing objects are not an error.
    pub(crate) async fn uninstall(&self, yaml: &str) -> Result<()> {
        for mut object in documents(yaml)? {
            let path = self.path_of(&mut object).await?;
            // the default of Jobs and ReplicationControllers is to orphan their pods
            let path = format!("{path}?propagationPolicy=Background");
            self.send_if_found(Request::delete(path)).await?;
        }
        Ok(())
    }

    /// Removes the owner references of an object.
    pub(crate) async fn disown(&self, object: Value) -> Result<()> {
        self.strip(object, "ownerReferences").await
    }

    /// Removes a field of an object's metadata.
    pub(crate) async fn strip(&self, mut object: Value, field: &str) -> Result<()> {
        let path = self.path_of(&mut object).await?;
        let request = Request::patch(path).header("content-type", "application/merge-patch+json");
        self.send(request, &json!({"metadata": {field: null}}).to_string())
            .await?;
        Ok(())
    }

    /// The URL path of an object; sets its namespace if it has none, and removes it if the kind is cluster-scoped.
    pub(crate) async fn path_of(&self, object: &mut Value) -> Result<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let name = text(&object["metadata"]["name"]);
        for (field, value) in [
            ("apiVersion", &api_version),
            ("kind", &kind),
            ("metadata.name", &name),
        ] {
            if value.is_empty() {
                return Err(Error::Document(
                    field,
                    object.to_string().chars().take(200).collect(),
                ));
            }
        }
        let root = if api_version.contains('/') {
            format!("/apis/{api_version}")
        } else {
            format!("/api/{api_version}")
        };
        let resources = self.fetch(&root).await?.unwrap_or_default();
        let resource = resources["resources"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|resource| resource["kind"] == *kind && !text(&resource["name"]).contains('/'));
        let Some(resource) = resource else {
            return Err(Error::Kind { api_version, kind });
        };
        let plural = text(&resource["name"]);
        Ok(if resource["namespaced"] == true {
            let namespace = match object["metadata"]["namespace"].as_str() {
                Some(namespace) => namespace.to_owned(),
                None => self.namespace().to_owned(),
            };
            object["metadata"]["namespace"] = namespace.as_str().into();
            format!("{root}/namespaces/{namespace}/{plural}/{name}")
        } else {
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.shift_remove("namespace");
            }
            format!("{root}/{plural}/{name}")
        })
    }

    async fn apply_one(&self, mut object: Value) -> Result<()> {
        let path = self.path_of(&mut object).await?;
        if let Some(real) = self.real() {
            real.claim(&path, self.fetch(&path)).await?;
        }
        let request = Request::patch(format!("{path}?{MANAGER}"))
            .header("content-type", "application/apply-patch+yaml");
        self.send(request, &object.to_string()).await?;
        if object["kind"] == "CustomResourceDefinition" {
            self.await_established(&path, &object).await?;
        }
        Ok(())
    }

    /// Waits up to 15 seconds until a CRD is established and discovery lists its resource.
    async fn await_established(&self, path: &str, definition: &Value) -> Result<()> {
        let group = definition["spec"]["group"].as_str().unwrap_or_default();
        let version = definition["spec"]["versions"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|version| version["served"] == true)
            .and_then(|version| version["name"].as_str());
        for _ in 0..300 {
            let crd = self.fetch(path).await?.unwrap_or_default();
            let conditions = crd["status"]["conditions"].as_array();
            let established = conditions.into_iter().flatten().any(|condition| {
                condition["type"] == "Established" && condition["status"] == "True"
            });
            let resources = match version {
                Some(version) => self.fetch(&format!("/apis/{group}/{version}")).await?,
                None => Some(Value::Null),
            };
            let listed = resources.is_some_and(|resources| {
                let plural = &definition["spec"]["names"]["plural"];
                let all = resources["resources"].as_array();
                all.is_none_or(|all| all.iter().any(|resource| resource["name"] == *plural))
            });
            if established && listed {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(Error::NotEstablished(
            path.rsplit('/').next().unwrap_or_default().to_owned(),
        ))
    }

    /// Reads the object at a URL path, if it exists.
    async fn fetch(&self, path: &str) -> Result<Option<Value>> {
        self.send_if_found(Request::get(path)).await
    }

    /// Sends a request without a body; `None` if there is no object at its path.
    async fn send_if_found(&self, request: request::Builder) -> Result<Option<Value>> {
        match self.send(request, "").await {
            Ok(object) => Ok(Some(object)),
            Err(Error::Kube(kube::Error::Api(status))) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn send(&self, request: request::Builder, body: &str) -> Result<Value> {
        let request = request
            .body(body.as_bytes().to_vec())
            .map_err(|error| Error::Document("usable name", error.to_string()))?;
        Ok(self.own_client().request(request).await?)
    }
}

/// The order in which objects are applied: those that others need come first.
fn order(object: &Value) -> u8 {
    match object["kind"].as_str() {
        Some("CustomResourceDefinition") => 0,
        Some("Namespace") => 1,
        Some("ServiceAccount") => 2,
        Some("ClusterRole" | "Role") => 3,
        _ => 4,
    }
}

/// The objects of a YAML text, including the items of lists.
pub(crate) fn documents(yaml: &str) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for document in serde_yaml::Deserializer::from_str(yaml) {
        let document = Value::deserialize(document)?;
        match document["items"].as_array() {
            Some(items) if document["kind"] == "List" => objects.extend(items.iter().cloned()),
            _ if document.is_null() => {}
            _ => objects.push(document),
        }
    }
    Ok(objects)
}
