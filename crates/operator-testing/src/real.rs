//! A real API server: a private one, started from its binaries, or the cluster of the current context.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Mutex;
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::assets::ControlPlane;
use crate::request_log::RecordLayer;
use crate::{Error, Result, lock};

/// A real server, and what the test created on it.
pub(crate) struct Real {
    config: Config,
    namespace: String,
    /// The processes of a private server.
    control_plane: Option<ControlPlane>,
    /// On a shared cluster: the objects that `install` created outside the namespace.
    claimed: Mutex<BTreeSet<String>>,
}

impl Real {
    /// Starts a private server with these additional admission plugins, separated by commas.
    pub async fn from_assets(plugins: &str) -> Result<Self> {
        let (control_plane, config) = ControlPlane::start_from_environment(plugins).await?;
        Ok(Self {
            config,
            namespace: "default".into(),
            control_plane: Some(control_plane),
            claimed: Mutex::default(),
        })
    }

    /// Uses the cluster of the current context, with a new namespace.
    pub async fn from_kubeconfig() -> Result<Self> {
        let unusable = |error: kube::config::KubeconfigError| Error::Kubeconfig(error.to_string());
        let kubeconfig = Kubeconfig::read().map_err(unusable)?;
        let context = kubeconfig.current_context.clone().unwrap_or_default();
        let options = KubeConfigOptions::default();
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(unusable)?;
        let client = Client::try_from(config.clone())?;
        let body = json!({"metadata": {"generateName": "operator-testing-"}}).to_string();
        let request = http::Request::post("/api/v1/namespaces")
            .header("content-type", "application/json")
            .body(body.into_bytes())
            .map_err(|error| Error::Kubeconfig(error.to_string()))?;
        let made: Value = client.request(request).await?;
        let namespace = made["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        eprintln!("operator-testing: context {context}, namespace {namespace}");
        config.default_namespace.clone_from(&namespace);
        Ok(Self {
            config,
            namespace,
            control_plane: None,
            claimed: Mutex::default(),
        })
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub fn client(&self, layer: &RecordLayer, namespace: &str) -> Client {
        let mut config = self.config.clone();
        namespace.clone_into(&mut config.default_namespace);
        // kube must not retry by itself: each response is recorded, as in memory.
        config.default_retry = false;
        ClientBuilder::try_from(config)
            .expect("this configuration made a client before")
            .with_layer(layer)
            .build()
    }

    pub fn own_client(&self) -> Client {
        Client::try_from(self.config.clone()).expect("this configuration made a client before")
    }

    /// Registers an object that is about to be applied. Fails if the object exists and no test of this process created it.
    pub async fn claim(
        &self,
        path: &str,
        existing: impl Future<Output = Result<Option<Value>>>,
    ) -> Result<()> {
        if self.control_plane.is_some()
            || path.contains(&format!("/namespaces/{}/", self.namespace))
        {
            return Ok(());
        }
        let mut claims = CLAIMS.lock().await;
        if !claims.contains_key(path) && existing.await?.is_some() {
            return Err(Error::Taken(path.to_owned()));
        }
        let mut mine = lock(&self.claimed);
        if mine.insert(path.to_owned()) {
            *claims.entry(path.to_owned()).or_default() += 1;
        }
        Ok(())
    }

    /// Deletes the namespace, and the other objects that no test of this process uses any more.
    fn clean_up(&self) {
        let mine = std::mem::take(&mut *lock(&self.claimed));
        let (config, namespace) = (self.config.clone(), self.namespace.clone());
        // The runtime of the test may be shutting down, so this thread has its own.
        let worker = std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?
                .block_on(async move {
                    let client = Client::try_from(config).map_err(std::io::Error::other)?;
                    let mut claims = CLAIMS.lock().await;
                    let mut unused = Vec::new();
                    for path in mine {
                        let users = claims.get(&path).copied().unwrap_or_default();
                        if users > 1 {
                            claims.insert(path, users - 1);
                        } else {
                            claims.remove(&path);
                            unused.push(path);
                        }
                    }
                    delete_object(&client, &format!("/api/v1/namespaces/{namespace}"), false).await;
                    for path in unused {
                        delete_object(&client, &path, true).await;
                    }
                    Ok::<_, std::io::Error>(())
                })
        });
        if !matches!(worker.join(), Ok(Ok(()))) {
            eprintln!(
                "operator-testing: could not clean up namespace {}",
                self.namespace
            );
        }
    }
}

/// The objects that tests of this process created outside their namespaces on a shared cluster, and how many tests use each.
static CLAIMS: tokio::sync::Mutex<BTreeMap<String, usize>> =
    tokio::sync::Mutex::const_new(BTreeMap::new());

/// Deletes an object; with `wait`, waits until it is deleted, because it would disturb the next test.
async fn delete_object(client: &Client, path: &str, wait: bool) {
    let request = |method: &str| {
        http::Request::builder()
            .method(method)
            .uri(path)
            .body(Vec::new())
            .ok()
    };
    let Some(delete) = request("DELETE") else {
        return;
    };
    match client.request::<Value>(delete).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => return,
        Err(error) => eprintln!("operator-testing: cannot remove {path}: {error}"),
    }
    for _ in 0..if wait { 100 } else { 0 } {
        let Some(get) = request("GET") else {
            return;
        };
        if client.request::<Value>(get).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        if self.control_plane.is_none() {
            self.clean_up();
        }
    }
}
