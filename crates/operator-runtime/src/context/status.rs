//! Writes the status of the reconciled object if it changed.

use std::{fmt::Debug, sync::atomic::Ordering::Relaxed};

use kube::{
    Resource, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams},
    runtime::events::EventType,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing::debug;

use super::{
    Context, drop_nulls, requests,
    status_fields::{Items, Owners, Versions},
};
use crate::{
    Result,
    engine::version,
    error::{has_code, is_gone},
};

/// Where the status of an object is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StatusPlace {
    Subresource,
    /// In the object, because its kind has no status subresource.
    Object,
}

impl Context {
    /// Writes `status` as the status of `object`, unless it is unchanged.
    ///
    /// This is a server-side apply on the [status
    /// subresource](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#status-subresource) of
    /// one version of `object` only, so that it overwrites neither an object that was recreated under the name nor a concurrent write of
    /// another. If others write the object at the same time, the apply is repeated on the newest version, at most five times. If meanwhile
    /// the spec or a field that is sent was changed, nothing is written; that is not an error, because the object is reconciled again, at the
    /// latest after a second. If it was deleted, nothing is written either.
    ///
    /// If the kind of the reconciled object has no status subresource in this version, the apply is on the object, with the field manager
    /// `<field manager>-status`. Do not write a generation then, also not into a condition: each such write raises `metadata.generation`, and
    /// so triggers the next one. For an object of another kind, it is an error.
    ///
    /// The fields of `status` are sent, except for those that are as in `object` and that another [field
    /// manager](https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers) owns: they stay its own. If `object` is not the
    /// reconciled one, this needs its `managedFields`, and a conflict is an error. A field that this
    /// operator owns and that `status` lacks, for example because it is `None`, is removed; fields that others own are kept. An item of a list
    /// with keys, such as a condition, is sent as a whole or not at all, and so is a list without keys. The apply is forced; that is safe
    /// because the version guarantees that no unseen change is overwritten.
    ///
    /// The comparison is with the status that `object` has. If it has none because only metadata are cached, or because the function of
    /// [`reduce`](crate::ControllerOptions::reduce) drops it, each call sends a request. One that changes nothing triggers no reconciliation;
    /// to save it, call this only after something has changed.
    ///
    /// ```
    /// # use kube::CustomResource;
    /// # use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition as MetaV1;
    /// # use operator_runtime::{Condition, Context, Result};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
    /// # #[kube(group = "example.com", version = "v1", kind = "Widget", namespaced, status = "WidgetStatus", schema = "disabled")]
    /// # struct WidgetSpec {}
    /// # #[derive(Clone, Debug, Default, Deserialize, Serialize)]
    /// # struct WidgetStatus { conditions: Vec<MetaV1> }
    /// # async fn example(widget: &Widget, cx: &Context) -> Result<()> {
    /// let mut status = widget.status.clone().unwrap_or_default();
    /// Condition::new("Ready", true, "AllUp", "3 of 3 replicas are up")
    ///     .set_in(&mut status.conditions, widget.metadata.generation)?;
    /// cx.update_status(widget, &status).await?;
    /// # Ok(()) }
    /// ```
    pub async fn update_status<K, S>(&self, object: &K, status: &S) -> Result<()>
    where
        K: Resource<DynamicType = ()> + Serialize,
        S: Serialize,
    {
        let mut wanted = serde_json::to_value(status)?;
        drop_nulls(&mut wanted);
        let is_owner = self.is_owner(object);
        let given = serde_json::to_value(object)?;
        // What this reconciliation has written already is newer than what the reconciler was given; a daemon is given newer objects.
        let is_newest = |written: &Value| is_owner && !is_newer(object, written);
        let read = self.written().clone().filter(is_newest);
        let mut read = self.stored(read.unwrap_or_else(|| given.clone()), is_owner)?;
        if is_same(&wanted, &read.status) {
            return Ok(());
        }
        let mut given = without_nulls(&given["status"]);
        let mut newest = Some(read.clone());
        if read.needs_newest() {
            newest = self.newest(&read).await?;
            if let Some(newest) = &mut newest {
                if read.status.is_null() {
                    // only metadata are cached, or the status is dropped from the cache
                    read.status = newest.status.clone();
                    given = newest.status.clone();
                } else if read.version == newest.version {
                    // the typed status may lack fields of the stored one
                    newest.status = read.status.clone();
                }
            }
        }
        for _ in 0..=REPETITIONS {
            let Some(newest_read) = newest else { break };
            if newest_read.has_nothing_to_write(&wanted, &given) {
                return Ok(());
            }
            let versions = Versions {
                given: &given,
                read: &read.status,
                newest: &newest_read.status,
            };
            let owners = newest_read.owners.as_ref();
            let owners = owners.cloned().unwrap_or_default();
            let Ok(fields) = owners.to_send(&wanted, versions, Items::Whole) else {
                break;
            };
            let is_ours_alone = owners.is_ours_alone();
            let version = &newest_read.version;
            let place = self.status_place(is_owner);
            let is_removal = fields.is_none();
            let answer = self.apply_status(object, version, fields, is_ours_alone, place);
            match answer.await {
                // the kind has the subresource now
                Ok(written)
                    if place == StatusPlace::Object
                        && !is_removal
                        && is_same(&without_nulls(&written["status"]), &newest_read.status) =>
                {
                    self.controller.status_in_object.store(false, Relaxed);
                    newest = self.newest(&read).await?;
                }
                Ok(written) => {
                    if is_owner {
                        self.record_written(written);
                        if self.facts.is_background {
                            self.set_outdated(false);
                        }
                    }
                    return Ok(());
                }
                Err(error) if is_owner && has_code(&error, &[409]) => {
                    debug!("status not written: {error}");
                    newest = self.newest(&read).await?;
                }
                Err(error) => {
                    if is_gone(&error) && !(is_owner && self.exists().await?) {
                        return Ok(());
                    }
                    let may_be_missing = is_owner && place == StatusPlace::Subresource;
                    if !may_be_missing || !self.finds_no_subresource::<K>(&error).await? {
                        return Err(error.into());
                    }
                    newest = self.newest(&read).await?;
                }
            }
        }
        self.set_outdated(true);
        Ok(())
    }

    /// The status of an object, and who owns it. The objects of a caller may have `managedFields`; without them, the owners are known only
    /// of the reconciled object.
    fn stored(&self, object: Value, is_owner: bool) -> Result<Stored> {
        let metadata = ObjectMeta::deserialize(&object["metadata"])?;
        let entries = match &metadata.managed_fields {
            Some(entries) => Some(entries.clone()),
            None if is_owner => self.controller.status_owners.of_object(&metadata),
            None => Some(vec![]),
        };
        let manager = self.status_manager(self.status_place(is_owner));
        Ok(Stored {
            version: json!(metadata.resource_version),
            generation: metadata.generation,
            status: without_nulls(&object["status"]),
            owners: entries.map(|entries| Owners::of(&entries, &manager)),
        })
    }

    /// The reconciled object in its newest version; `None` if it was deleted, or its spec has changed since it was `read`.
    async fn newest(&self, read: &Stored) -> Result<Option<Stored>> {
        let Some(newest) = self.read_owner().await? else {
            return Ok(None);
        };
        let newest = self.stored(newest, true)?;
        Ok((newest.generation == read.generation).then_some(newest))
    }

    /// Applies fields of the status to this version of the object. If there are none, all of ours are removed.
    async fn apply_status<K>(
        &self,
        object: &K,
        version: &Value,
        fields: Option<Value>,
        is_ours_alone: bool,
        place: StatusPlace,
    ) -> kube::Result<Value>
    where
        K: Resource<DynamicType = ()>,
    {
        let name = object.name_any();
        // A uid would not do: for the status of a custom object the API server does not look at it.
        let metadata = json!({ "name": name, "resourceVersion": version });
        let status = fields.unwrap_or_else(|| json!({}));
        let is_removal = is_ours_alone && status == json!({});
        let patch = json!({
            "apiVersion": K::api_version(&()),
            "kind": K::kind(&()),
            "metadata": metadata,
            "status": status,
        });
        let manager = self.status_manager(place);
        let parameters = PatchParams::apply(&manager).force();
        let patch = Patch::Apply(&patch);
        let answer = self.patch_status(object, &parameters, &patch, place).await;
        let is_invalid = |error: &kube::Error| has_code(error, &[422]);
        if !is_removal || !answer.as_ref().is_err_and(is_invalid) {
            return answer;
        }
        // An apply that removes the last fields of a status makes it null, which is not valid. All of it was ours.
        let removal = json!({ "metadata": metadata, "status": null });
        let parameters = PatchParams {
            field_manager: Some(manager),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(&removal);
        self.patch_status(object, &parameters, &patch, place).await
    }

    /// Sends a patch to the status of an object, or to the object that contains it.
    async fn patch_status<K, P>(
        &self,
        object: &K,
        parameters: &PatchParams,
        patch: &Patch<P>,
        place: StatusPlace,
    ) -> kube::Result<Value>
    where
        K: Resource<DynamicType = ()>,
        P: Serialize + Debug,
    {
        let requests = requests::<K>(object.namespace().as_deref());
        let name = object.name_any();
        let request = match place {
            StatusPlace::Subresource => {
                requests.patch_subresource("status", &name, parameters, patch)
            }
            StatusPlace::Object => requests.patch(&name, parameters, patch),
        };
        let request = request.map_err(kube::Error::BuildRequest)?;
        self.controller.client.request(request).await
    }

    /// The field manager of the status. In an object, the status must not share it with the other fields: an apply would remove these.
    fn status_manager(&self, place: StatusPlace) -> String {
        let manager = self.field_manager();
        match place {
            StatusPlace::Subresource => manager.to_owned(),
            StatusPlace::Object => format!("{manager}-status"),
        }
    }

    fn status_place(&self, is_owner: bool) -> StatusPlace {
        if is_owner && self.controller.status_in_object.load(Relaxed) {
            StatusPlace::Object
        } else {
            StatusPlace::Subresource
        }
    }

    /// Whether a write to the status subresource has failed because the kind has none, which is remembered. Without a permission for it, the
    /// API server does not report that it is missing, and a generated role has none then.
    async fn finds_no_subresource<K>(&self, error: &kube::Error) -> kube::Result<bool>
    where
        K: Resource<DynamicType = ()>,
    {
        if !has_code(error, &[403, 404]) {
            return Ok(false);
        }
        let client = &self.controller.client;
        let served = if K::group(&()).is_empty() {
            client.list_core_api_resources(&K::version(&())).await?
        } else {
            client
                .list_api_group_resources(&K::api_version(&()))
                .await?
        };
        let status = format!("{}/status", K::plural(&()));
        let is_missing = !served.resources.iter().any(|it| it.name == status);
        self.controller.status_in_object.store(is_missing, Relaxed);
        Ok(is_missing)
    }

    /// Sets fields of the status of the reconciled object, whatever its version is. Reports fields that its schema lacks.
    pub(crate) async fn merge_status<K>(&self, object: &K, status: Value) -> Result<()>
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        self.set_status(object, &status).await?;
        if self.is_gone() {
            return Ok(());
        }
        let written = self.written().clone().unwrap_or_default();
        let fields = status.as_object().into_iter().flatten();
        let lost = fields.filter(|(name, _)| written["status"].get(name).is_none());
        for (name, _) in lost {
            let note = format!("the schema has no field status.{name}, so its value is lost");
            self.event(object, EventType::Warning, "StatusFieldMissing", note)
                .await;
        }
        Ok(())
    }

    /// Sets fields of the status of the reconciled object, whatever its version is. The answer is what was [written](Self::written).
    pub(crate) async fn set_status<K>(&self, object: &K, status: &Value) -> Result<()>
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let parameters = PatchParams {
            field_manager: Some(format!("{}-handlers", self.field_manager())),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(json!({ "metadata": { "uid": object.uid() }, "status": status }));
        let place = self.status_place(true);
        let mut answer = self.patch_status(object, &parameters, &patch, place).await;
        if let Err(error) = &answer
            && place == StatusPlace::Subresource
            && self.finds_no_subresource::<K>(error).await?
        {
            let place = StatusPlace::Object;
            answer = self.patch_status(object, &parameters, &patch, place).await;
        }
        let written = match answer {
            Ok(written) => written,
            Err(error) if is_gone(&error) => {
                self.facts.is_gone.store(true, Relaxed);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        if written["metadata"]["uid"].as_str() != object.meta().uid.as_deref() {
            // of a custom object the API server does not look at the uid
            self.facts.is_gone.store(true, Relaxed);
            return Ok(());
        }
        self.record_written(written);
        Ok(())
    }

    fn is_owner(&self, object: &impl Resource) -> bool {
        let owner = self.owner.reference.as_ref();
        owner.is_some_and(|owner| object.meta().uid.as_ref() == Some(&owner.uid))
    }
}

/// How often a status is written again because others write the object at the same time.
const REPETITIONS: usize = 5;

/// What an object has in a version.
#[derive(Clone, Debug)]
struct Stored {
    version: Value,
    generation: Option<i64>,
    status: Value,
    /// `None` if they are not known.
    owners: Option<Owners>,
}

impl Stored {
    /// Whether the owners are not known, or others own fields of the status although it is absent.
    fn needs_newest(&self) -> bool {
        let owners = self.owners.as_ref();
        owners.is_none_or(|owners| self.status.is_null() && !owners.is_ours_alone())
    }

    /// Whether this status differs from the wanted one only in what others own. `given` is the status that the caller was given.
    fn has_nothing_to_write(&self, wanted: &Value, given: &Value) -> bool {
        let owners = self.owners.clone().unwrap_or_default();
        let ours = |status, given| {
            let versions = Versions {
                given,
                read: &self.status,
                newest: &self.status,
            };
            owners.to_send(status, versions, Items::Parts).ok()
        };
        ours(wanted, given) == ours(&self.status, &self.status)
    }
}

fn without_nulls(status: &Value) -> Value {
    let mut status = status.clone();
    drop_nulls(&mut status);
    status
}

/// Whether two statuses are equal; an absent one is an empty one.
fn is_same(one: &Value, other: &Value) -> bool {
    let is_nothing = |status: &Value| status.is_null() || *status == json!({});
    one == other || is_nothing(one) && is_nothing(other)
}

/// Whether an object is newer than what a write of it returned.
fn is_newer(object: &impl Resource, written: &Value) -> bool {
    let version = version::number_of(object.meta());
    let written = version::number(written["metadata"]["resourceVersion"].as_str());
    matches!((version, written), (Some(version), Some(written)) if version > written)
}
