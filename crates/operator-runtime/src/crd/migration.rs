//! Rewrites stored objects in the storage version of their CRD, and then removes all other versions from `status.storedVersions`, so that
//! these versions can be removed from the CRD. Runs in the leader only, beside the controllers.
//!
//! The API server stores an object in the storage version when it writes it. A write that changes nothing is stored if the stored bytes
//! differ, which they do in another version. So each object gets a patch that names only its uid and its resource version; if another
//! client has written the object meanwhile, the patch fails with a conflict, and is not needed any more.
//! <https://kubernetes.io/docs/tasks/manage-kubernetes-objects/storage-version-migration/>

use std::{convert::Infallible, fmt, num::NonZeroU16, time::Duration};

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, Client,
    api::{ListParams, Patch, PatchParams},
    core::{ApiResource, DynamicObject},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tracing::{info, warn};

use crate::error::{client_message, has_code};

/// How long a storage version must be in effect before objects are rewritten. Until then, other API servers of the cluster may still store
/// objects in the previous one.
const PROPAGATION_DELAY: Duration = Duration::from_secs(60);

/// The interval between two checks of the CRDs.
const INTERVAL: Duration = Duration::from_secs(300);
/// The delay before a retry, doubled for each failure in a row, up to [`INTERVAL`].
const FIRST_DELAY: Duration = Duration::from_secs(1);

/// The number of objects in a page of a list.
const PAGE: u32 = 500;

/// The CRDs whose objects are migrated.
#[derive(Clone)]
pub(crate) struct Migration {
    pub client: Client,
    pub operator: String,
    pub crds: Vec<String>,
    /// The maximum number of objects that are rewritten in a second.
    pub rate: NonZeroU16,
}

impl Migration {
    /// Migrates the objects of each CRD when its storage version has changed.
    pub async fn run(self) -> Infallible {
        let mut delay = FIRST_DELAY;
        loop {
            let mut has_failed = false;
            for crd in &self.crds {
                if let Err(error) = self.migrate(crd).await {
                    has_failed = true;
                    warn!(crd, "cannot migrate the stored objects: {error}");
                }
            }
            delay = if has_failed {
                (delay * 2).min(INTERVAL)
            } else {
                FIRST_DELAY
            };
            sleep(if has_failed { delay } else { INTERVAL }).await;
        }
    }

    /// Migrates the objects of a CRD, if it has stored objects of other versions.
    async fn migrate(&self, name: &str) -> Result<(), Problem> {
        let Some(pending) = self.pending(name).await? else {
            return Ok(());
        };
        sleep(PROPAGATION_DELAY).await;
        let Some(crd) = self.pending(name).await? else {
            return Ok(());
        };
        if crd.resource.version != pending.resource.version {
            return Err(Problem::Changed);
        }
        let version = &crd.resource.version;
        let started = match crd.started {
            Some(started) => started,
            None => self.begin(&crd).await?,
        };
        info!(crd = name, version, "rewriting the stored objects");
        let written = self.rewrite(&crd.resource, started).await?;
        self.finish(&crd).await?;
        info!(
            crd = name,
            version, written, "all objects are stored in the storage version"
        );
        Ok(())
    }

    /// The CRD, if objects may be stored in another version than its storage version.
    async fn pending(&self, name: &str) -> kube::Result<Option<Pending>> {
        let crd = self.crds().get_opt(name).await?;
        Ok(crd.and_then(|crd| Pending::of(&crd, &self.annotation())))
    }

    /// Records on the CRD the resource version from which on objects are stored in the storage version, so that a replica that continues
    /// skips the objects that were already rewritten. Returns that version.
    async fn begin(&self, crd: &Pending) -> Result<u64, Problem> {
        let objects = self.all(&crd.resource);
        let list = objects
            .list_metadata(&ListParams::default().limit(1))
            .await?;
        let resource_version = list.metadata.resource_version.unwrap_or_default();
        let started = number(&resource_version);
        let record = Record {
            storage_version: crd.resource.version.clone(),
            resource_version,
            generation: crd.generation,
        };
        let record = serde_json::to_string(&record).expect("a struct of strings");
        self.annotate(crd, record.into()).await?;
        Ok(started)
    }

    /// Writes each object that was last written before `started`. Returns their number.
    async fn rewrite(&self, resource: &ApiResource, started: u64) -> Result<usize, Problem> {
        let mut ticks = interval(Duration::from_secs(1) / u32::from(self.rate.get()));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut page = ListParams::default().limit(PAGE);
        let mut written = 0;
        loop {
            let list = match self.all(resource).list_metadata(&page).await {
                // the list is no longer consistent; what was written already is newer than `started`
                Err(error) if page.continue_token.is_some() && has_code(&error, &[410]) => {
                    page = ListParams::default().limit(PAGE);
                    continue;
                }
                list => list?,
            };
            for object in list.items {
                let version = object.metadata.resource_version.as_deref();
                if version.map_or(0, number) <= started {
                    ticks.tick().await;
                    self.rewrite_one(resource, &object.metadata).await?;
                    written += 1;
                }
            }
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => return Ok(written),
            }
        }
    }

    /// Writes an object, unless another client has written it since it was listed.
    async fn rewrite_one(
        &self,
        resource: &ApiResource,
        object: &ObjectMeta,
    ) -> Result<(), Problem> {
        let name = object.name.as_deref().unwrap_or_default();
        let (api, path) = match object.namespace.as_deref() {
            Some(namespace) => (
                Api::namespaced_with(self.client.clone(), namespace, resource),
                format!("{namespace}/{name}"),
            ),
            None => (self.all(resource), name.to_owned()),
        };
        let patch = json!({ "metadata": {
            "uid": object.uid,
            "resourceVersion": object.resource_version,
        } });
        let patched = api
            .patch_metadata(name, &self.parameters(), &Patch::Merge(patch))
            .await;
        match patched {
            Ok(_) => Ok(()),
            Err(error) if has_code(&error, &[404, 409]) => {
                // reads the object with a list: the role has no permission to `get` it
                let named = ListParams::default().fields(&format!("metadata.name={name}"));
                let found = api.list_metadata(&named).await?.items.pop();
                let found = found.and_then(|it| it.metadata.resource_version);
                // if the object has not changed, something else rejected the write with this code, such as a webhook
                if found.is_some() && found == object.resource_version {
                    Err(Problem::Object(path, error))
                } else {
                    Ok(())
                }
            }
            Err(error) => Err(Problem::Object(path, error)),
        }
    }

    /// Removes all versions but the storage version from `status.storedVersions`, unless the storage version has changed meanwhile.
    async fn finish(&self, migrated: &Pending) -> Result<(), Problem> {
        let name = &migrated.name;
        let Some(crd) = self.pending(name).await? else {
            return Ok(());
        };
        let version = &migrated.resource.version;
        // the generation also shows a change to another storage version and back
        if crd.generation != migrated.generation {
            return Err(Problem::Changed);
        }
        // first, because afterwards the CRD is not pending, and nothing would remove the annotation
        self.annotate(&crd, Value::Null).await?;
        let Some(crd) = self.pending(name).await? else {
            return Ok(());
        };
        if crd.generation != migrated.generation {
            return Err(Problem::Changed);
        }
        let patch = json!({
            "metadata": { "resourceVersion": crd.resource_version },
            "status": { "storedVersions": [version] },
        });
        let patch = Patch::Merge(patch);
        self.crds()
            .patch_status(name, &self.parameters(), &patch)
            .await?;
        Ok(())
    }

    /// Sets the annotation with the record, if the CRD was not changed meanwhile.
    async fn annotate(&self, crd: &Pending, record: Value) -> kube::Result<()> {
        let patch = json!({ "metadata": {
            "resourceVersion": crd.resource_version,
            "annotations": { self.annotation(): record },
        } });
        let patch = Patch::Merge(patch);
        self.crds()
            .patch_metadata(&crd.name, &self.parameters(), &patch)
            .await?;
        Ok(())
    }

    fn crds(&self) -> Api<DynamicObject> {
        self.all(&ApiResource::erase::<CustomResourceDefinition>(&()))
    }

    fn all(&self, resource: &ApiResource) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), resource)
    }

    fn parameters(&self) -> PatchParams {
        PatchParams {
            field_manager: Some(self.operator.clone()),
            ..PatchParams::default()
        }
    }

    fn annotation(&self) -> String {
        format!("{}/storage-migration", self.operator)
    }
}

/// A CRD that may have stored objects of other versions than its storage version.
#[derive(Debug, PartialEq)]
struct Pending {
    name: String,
    resource_version: Option<String>,
    generation: Option<i64>,
    /// Its kind, in the storage version.
    resource: ApiResource,
    /// The resource version at which the migration began, if the CRD has not changed since.
    started: Option<u64>,
}

impl Pending {
    fn of(crd: &DynamicObject, annotation: &str) -> Option<Self> {
        let spec = &crd.data["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut versions = spec["versions"].as_array()?.iter();
        let version = text(&versions.find(|version| version["storage"] == true)?["name"]);
        let stored = crd.data["status"]["storedVersions"].as_array()?;
        if stored.iter().all(|stored| *stored == *version)
            || crd.metadata.deletion_timestamp.is_some()
        {
            return None;
        }
        let group = text(&spec["group"]);
        let record = crd
            .metadata
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.get(annotation))
            .and_then(|text| serde_json::from_str::<Record>(text).ok());
        Some(Self {
            name: crd.metadata.name.clone()?,
            resource_version: crd.metadata.resource_version.clone(),
            generation: crd.metadata.generation,
            started: record
                .filter(|record| record.storage_version == version)
                .filter(|record| record.generation == crd.metadata.generation)
                .map(|record| number(&record.resource_version)),
            resource: ApiResource {
                api_version: format!("{group}/{version}"),
                group,
                kind: text(&spec["names"]["kind"]),
                plural: text(&spec["names"]["plural"]),
                version,
            },
        })
    }
}

/// The annotation of a CRD whose objects are being migrated.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    storage_version: String,
    resource_version: String,
    /// The generation of the CRD. If it has changed, so may have the storage version, and the record is not used.
    generation: Option<i64>,
}

/// A resource version as a number; [those of one resource can be compared][versions].
///
/// [versions]: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
fn number(resource_version: &str) -> u64 {
    resource_version.parse().unwrap_or_default()
}

/// Why a migration was not completed.
enum Problem {
    /// The storage version changed meanwhile.
    Changed,
    Request(kube::Error),
    /// An object that could not be written.
    Object(String, kube::Error),
}

impl From<kube::Error> for Problem {
    fn from(error: kube::Error) -> Self {
        Self::Request(error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cure = |error| {
            if has_code(error, &[403]) {
                "; `migrate-storage = true` in operator.toml grants the permissions: apply the manifests that `cargo operator regenerate` writes"
            } else {
                ""
            }
        };
        match self {
            Self::Changed => write!(f, "its storage version has changed"),
            Self::Request(error) => write!(f, "{}{}", client_message(error), cure(error)),
            Self::Object(path, error) => {
                write!(
                    f,
                    "{path} cannot be written: {}{}",
                    client_message(error),
                    cure(error)
                )
            }
        }
    }
}
