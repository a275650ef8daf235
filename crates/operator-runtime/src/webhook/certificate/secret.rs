//! The Secret that the replicas share. A write names the version that it is based on, so that one of several writers wins.

use k8s_openapi::ByteString;
use kube::Client;
use serde_json::{Map, Value, json};

use super::{
    contents::{Entries, Material},
    request::{Failure, create, get, merge_patch, send},
};

pub(super) struct Secret {
    client: Client,
    operator: String,
    name: String,
    /// The path of the Secrets of the namespace.
    collection: String,
}

/// The Secret as it was read.
pub(super) struct Stored {
    pub version: String,
    pub entries: Entries,
}

/// The outcome of a write.
pub(super) enum Written {
    /// The new `resourceVersion` of the Secret.
    Version(String),
    /// Another replica has changed it.
    Conflict,
}

impl Secret {
    pub fn new(client: Client, operator: &str, name: &str, namespace: &str) -> Self {
        Self {
            client,
            operator: operator.to_owned(),
            name: name.to_owned(),
            collection: format!("/api/v1/namespaces/{namespace}/secrets"),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub async fn read(&self) -> Result<Option<Stored>, Failure> {
        let secret = get(&self.client, &self.path()).await?;
        Ok(secret.map(|secret| Stored {
            version: version(&secret),
            entries: entries(&secret["data"]),
        }))
    }

    /// Creates the Secret, or changes the entries of the one that was read.
    pub async fn write(
        &self,
        stored: Option<&Stored>,
        material: &Material,
    ) -> Result<Written, Failure> {
        let entries = material.entries().map(|(name, text)| {
            let data = json!(ByteString(text.into_bytes()));
            (name.to_owned(), data)
        });
        let data: Map<_, _> = entries.into_iter().collect();
        let written = match stored {
            None => {
                let secret = json!({
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {
                        "name": self.name,
                        "labels": { "app.kubernetes.io/managed-by": self.operator },
                    },
                    "type": "kubernetes.io/tls",
                    "data": data,
                });
                let request = create(&self.collection, &self.operator);
                send(&self.client, request, &secret).await
            }
            Some(stored) => {
                let metadata = json!({ "resourceVersion": stored.version });
                let patch = json!({ "metadata": metadata, "data": data });
                let request = merge_patch(&self.path(), &self.operator);
                send(&self.client, request, &patch).await
            }
        };
        match written {
            Ok(secret) => Ok(Written::Version(version(&secret))),
            Err(failure) if is_changed(&failure, stored.is_some()) => Ok(Written::Conflict),
            Err(failure) => Err(failure),
        }
    }

    fn path(&self) -> String {
        format!("{}/{}", self.collection, self.name)
    }
}

/// Whether the Secret was created, changed or deleted meanwhile. If it did not exist, "not found" is about the namespace.
fn is_changed(failure: &Failure, existed: bool) -> bool {
    failure.is_conflict() || existed && failure.is_not_found()
}

fn version(object: &Value) -> String {
    object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The entries of the data. Those that are not base64 count as missing.
fn entries(data: &Value) -> Entries {
    data.as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, text)| {
            let ByteString(bytes) = serde_json::from_value(text.clone()).ok()?;
            Some((name.clone(), bytes))
        })
        .collect()
}
