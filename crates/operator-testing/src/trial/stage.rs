//! The servers of a trial: each run has its own copy of a server in memory, or all runs share a real server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Runtime;

use super::Trial;
use crate::Server;
use crate::fixture::one_object;
use crate::real::Real;
use operator_apiserver::ApiServer;

/// A server with the manifests and namespaces of a trial, but without its samples.
pub(super) enum Stage {
    Memory(ApiServer),
    Real(Arc<Real>),
}

/// The additional admission plugin of a real server; the server in memory has `enforce_owner_references` for it.
const PLUGINS: &str = "OwnerReferencesPermissionEnforcement";

impl Stage {
    /// Creates the server in memory, or starts a real one if `OPERATOR_TEST_SERVER` is `assets`.
    pub fn new(trial: &Trial) -> Self {
        let stage = match std::env::var("OPERATOR_TEST_SERVER").as_deref() {
            Ok("assets") => {
                let real = Self::real_runtime().block_on(Real::from_assets(PLUGINS));
                let real = real.unwrap_or_else(|error| panic!("the API server: {error}"));
                Self::Real(Arc::new(real))
            }
            _ => Self::empty(),
        };
        stage.prepared(trial)
    }

    pub fn in_memory(trial: &Trial) -> Self {
        Self::empty().prepared(trial)
    }

    fn empty() -> Self {
        let server = ApiServer::new();
        server.enforce_owner_references();
        Self::Memory(server)
    }

    /// Installs namespaces and manifests.
    fn prepared(self, trial: &Trial) -> Self {
        let stage = self;
        stage.runtime().block_on(async {
            let server = match &stage {
                Self::Memory(server) => Server::of(server.clone(), trial.namespace()),
                Self::Real(_) => stage.server(trial),
            };
            for name in &trial.namespaces {
                let object =
                    format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: '{name}'}}}}");
                let made = server.install(&object).await;
                made.unwrap_or_else(|error| panic!("the namespace {name}: {error}"));
            }
            for crd in &trial.crds {
                let installed = server.install_file(crd).await;
                installed.unwrap_or_else(|error| panic!("{error}"));
            }
            let installed = server.install_kustomization(&trial.manifests).await;
            installed.unwrap_or_else(|error| panic!("{}: {error}", trial.manifests.display()));
            let prepared = trial.install_fixtures(&server).await;
            prepared.unwrap_or_else(|error| panic!("{error}"));
        });
        stage
    }

    /// Returns the server for one run.
    pub fn server(&self, trial: &Trial) -> Server {
        match self {
            Self::Memory(server) => Server::of(server.fork(), trial.namespace()),
            Self::Real(real) => Server::on(real.clone(), trial.namespace()),
        }
    }

    pub fn is_real(&self) -> bool {
        matches!(self, Self::Real(_))
    }

    /// Creates the tokio runtime of a run. In memory, its clock is paused and jumps ahead when all tasks wait.
    pub fn runtime(&self) -> Runtime {
        match self {
            Self::Real(_) => Self::real_runtime(),
            Self::Memory(_) => {
                let mut builder = tokio::runtime::Builder::new_current_thread();
                let runtime = builder.enable_all().start_paused(true).build();
                runtime.expect("a runtime starts")
            }
        }
    }

    fn real_runtime() -> Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build();
        runtime.expect("a runtime starts")
    }

    /// How long the operator must not write to count as settled: the configured time, or a shorter one on a real server, which runs in real
    /// time.
    pub fn rest(&self, rest: Duration) -> Duration {
        match self {
            Self::Memory(_) => rest,
            Self::Real(_) => REAL_REST,
        }
    }
}

impl Trial {
    /// Applies the fixtures. Those without a namespace are created in each namespace of the samples.
    async fn install_fixtures(&self, server: &Server) -> crate::Result<()> {
        let Some(folder) = &self.fixtures else {
            return Ok(());
        };
        let mut namespaces: BTreeSet<String> = BTreeSet::new();
        for sample in &self.samples {
            let named = one_object(&sample.text)?["metadata"]["namespace"].clone();
            let named = named.as_str().unwrap_or(server.namespace());
            namespaces.insert(named.to_owned());
        }
        for namespace in namespaces {
            server.install_fixtures_in(folder, &namespace).await?;
        }
        Ok(())
    }
}

/// How long the operator must not write on a real server: longer than the retry delay of `Settings::for_tests`.
const REAL_REST: Duration = Duration::from_secs(2);

impl Server {
    /// Returns all objects by `GROUP/PLURAL/NAMESPACE/NAME`; for a real server, the objects of all resources that can be listed.
    pub(super) async fn objects(&self) -> BTreeMap<String, Arc<Value>> {
        match self.service() {
            Some(server) => server.objects(),
            None => self.listed().await.unwrap_or_default(),
        }
    }

    /// Lists all resources of a real server, in the preferred version of each group.
    async fn listed(&self) -> kube::Result<BTreeMap<String, Arc<Value>>> {
        let client = self.own_client();
        let mut objects = BTreeMap::new();
        let groups = client.list_api_groups().await?;
        let preferred = groups.groups.into_iter().filter_map(|group| {
            let preferred = group.preferred_version?;
            Some((group.name, format!("/apis/{}", preferred.group_version)))
        });
        let core = (String::new(), "/api/v1".to_owned());
        for (group, root) in preferred.chain([core]) {
            let resources: Value = client.request(get(&root)?).await?;
            for resource in resources["resources"].as_array().into_iter().flatten() {
                let mut verbs = resource["verbs"].as_array().into_iter().flatten();
                let plural = resource["name"].as_str().unwrap_or_default();
                if !verbs.any(|verb| verb == "list") {
                    continue;
                }
                let list: Value = client.request(get(&format!("{root}/{plural}"))?).await?;
                for item in list["items"].as_array().into_iter().flatten() {
                    let text = |field: &str| item["metadata"][field].as_str().unwrap_or_default();
                    let path = [&*group, plural, text("namespace"), text("name")].join("/");
                    let mut item = item.clone();
                    for field in ["apiVersion", "kind"] {
                        if item[field].is_null() {
                            item[field] = match field {
                                "kind" => resource["kind"].clone(),
                                _ => list["apiVersion"].clone(),
                            };
                        }
                    }
                    objects.insert(path, Arc::new(item));
                }
            }
        }
        Ok(objects)
    }
}

fn get(path: &str) -> kube::Result<http::Request<Vec<u8>>> {
    http::Request::get(path)
        .body(Vec::new())
        .map_err(kube::Error::HttpError)
}
