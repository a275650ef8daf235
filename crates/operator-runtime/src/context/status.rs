//! Writes the status of the reconciled object if it changed.

use std::sync::atomic::Ordering::Relaxed;

use kube::{
    Resource, ResourceExt,
    api::{Patch, PatchParams},
    runtime::events::EventType,
};
use serde::Serialize;
use serde_json::{Value, json};
use tracing::debug;

use super::{Context, drop_nulls, requests};
use crate::{
    Result,
    engine::decode::forget_managers,
    error::{has_code, is_gone},
};

impl Context {
    /// Writes `status` as the status of `object`, unless it is unchanged.
    ///
    /// This is a server-side apply on the [status
    /// subresource](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#status-subresource) of
    /// the given version of `object` only, so that it overwrites neither an object that was recreated under the name nor a concurrent write
    /// of another. If the reconciled object has changed since it was read, nothing is written; that is not an error, because the object is
    /// reconciled again, at the latest after a second. If it was deleted, nothing is written either. It is an error if the kind has no
    /// status subresource in this version.
    ///
    /// A field that this operator has set before and that `status` lacks, for example because it is `None`, is removed, unless another
    /// manager owns it too. Fields that `status` lacks and that others own are kept. The fields of `status` are applied with force; that is
    /// safe because the version guarantees that no unseen change is overwritten. A condition of another writer that `status` took over from
    /// `object` is sent unchanged, and both own it then.
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
        // What this reconciliation has written already is newer than what the reconciler was given; a daemon is given newer objects.
        let is_newest = |written: &Value| is_owner && !is_newer(object, written);
        let mut newest = match self.written().clone().filter(is_newest) {
            Some(written) => written,
            None => serde_json::to_value(object)?,
        };
        let version = newest["metadata"]["resourceVersion"].take();
        let mut current = newest["status"].take();
        drop_nulls(&mut current);
        let nothing = |status: &Value| status.is_null() || *status == json!({});
        if wanted == current || nothing(&wanted) && nothing(&current) {
            return Ok(());
        }
        let name = object.name_any();
        // A uid would not do: for the status of a custom object the API server does not look at it.
        let mut patch = json!({
            "apiVersion": K::api_version(&()),
            "kind": K::kind(&()),
            "metadata": { "name": name, "resourceVersion": version },
            "status": wanted,
        });
        drop_nulls(&mut patch);
        let parameters = PatchParams::apply(self.field_manager()).force();
        let request = requests::<K>(object.namespace().as_deref())
            .patch_subresource("status", &name, &parameters, &Patch::Apply(&patch))
            .map_err(kube::Error::BuildRequest)?;
        let mut answer = self.controller.client.request::<Value>(request).await;
        let is_invalid = |error: &kube::Error| has_code(error, &[422]);
        if nothing(&patch["status"]) && answer.as_ref().is_err_and(is_invalid) {
            // An apply that removes the last fields of a status makes it null, which is not valid. All of it was ours.
            let removal = json!({ "metadata": patch["metadata"], "status": null });
            let parameters = PatchParams {
                field_manager: Some(self.field_manager().to_owned()),
                ..PatchParams::default()
            };
            let request = requests::<K>(object.namespace().as_deref())
                .patch_subresource("status", &name, &parameters, &Patch::Merge(&removal))
                .map_err(kube::Error::BuildRequest)?;
            answer = self.controller.client.request(request).await;
        }
        match answer {
            Ok(mut written) => {
                forget_managers(&mut written);
                if is_owner {
                    self.record_written(written);
                    if self.facts.is_background {
                        self.set_outdated(false);
                    }
                }
                Ok(())
            }
            Err(kube::Error::Api(refused)) if refused.code == 409 && is_owner => {
                debug!("status not written: {}", refused.message);
                self.set_outdated(true);
                Ok(())
            }
            Err(error) if is_gone(&error) && is_owner => {
                match self.exists().await? {
                    // what is not there is the subresource
                    true => Err(error.into()),
                    false => Ok(()),
                }
            }
            Err(error) if is_gone(&error) => Ok(()),
            Err(error) => Err(error.into()),
        }
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
            field_manager: Some(self.field_manager().to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(json!({ "metadata": { "uid": object.uid() }, "status": status }));
        let (requests, name) = (
            requests::<K>(object.namespace().as_deref()),
            object.name_any(),
        );
        let request = requests
            .patch_subresource("status", &name, &parameters, &patch)
            .map_err(kube::Error::BuildRequest)?;
        let mut answer = self.controller.client.request::<Value>(request).await;
        if answer.as_ref().is_err_and(is_gone) && self.exists().await? {
            // what is not there is the subresource
            let request = requests
                .patch(&name, &parameters, &patch)
                .map_err(kube::Error::BuildRequest)?;
            answer = self.controller.client.request(request).await;
        }
        let mut written = match answer {
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
        forget_managers(&mut written);
        self.record_written(written);
        Ok(())
    }

    fn is_owner(&self, object: &impl Resource) -> bool {
        let owner = self.owner.reference.as_ref();
        owner.is_some_and(|owner| object.meta().uid.as_ref() == Some(&owner.uid))
    }
}

/// Whether an object is newer than what a write of it returned. [Resource
/// versions](https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions) of one kind compare as numbers.
fn is_newer(object: &impl Resource, written: &Value) -> bool {
    let number = |version: &str| version.parse::<u128>().ok();
    let version = object.meta().resource_version.as_deref().and_then(number);
    let written = written["metadata"]["resourceVersion"]
        .as_str()
        .and_then(number);
    matches!((version, written), (Some(version), Some(written)) if version > written)
}
