//! Reads and writes the reconciled object itself: its version, and annotations.

use std::{collections::BTreeMap, sync::atomic::Ordering::Relaxed};

use kube::{
    Resource, ResourceExt,
    api::{Patch, PatchParams},
};
use serde::Serialize;
use serde_json::{Value, json};
use tracing::debug;

use super::{Context, requests};
use crate::{
    Result,
    error::{has_code, is_gone},
};

/// The precondition of a write of annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precondition {
    /// The object still has the version that was read, or that our last write returned.
    Version,
    /// The object was not deleted and recreated; its version does not matter.
    Uid,
}

/// A part of the API server's message when it rejects a write because the object has another uid.
const OTHER_UID: &str = "UID in precondition";

/// Annotations to set, or to remove if the value is `None`.
pub(crate) type Annotations = BTreeMap<String, Option<String>>;

impl Context {
    /// Whether the reconciled object still has the version that was read, or that our last write returned, according to the API server.
    /// Records if the object does not exist.
    pub(crate) async fn is_unchanged<K>(&self, object: &K) -> Result<bool>
    where
        K: Resource<DynamicType = ()>,
    {
        let newest = self.read_owner().await?;
        let known = self.known_version(object);
        Ok(newest.is_some_and(|newest| newest["metadata"]["resourceVersion"] == known))
    }

    fn known_version(&self, object: &impl Resource) -> Value {
        match &*self.written() {
            Some(written) => written["metadata"]["resourceVersion"].clone(),
            None => json!(object.meta().resource_version),
        }
    }

    /// Writes annotations of the reconciled object, and returns whether they were written. They are not if the precondition does not hold,
    /// or if the object was deleted; in both cases the reconciliation should end.
    pub(crate) async fn annotate<K>(
        &self,
        object: &K,
        annotations: Annotations,
        precondition: Precondition,
    ) -> Result<bool>
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let metadata = match precondition {
            Precondition::Version => {
                let version = self.known_version(object);
                json!({ "resourceVersion": version, "annotations": annotations })
            }
            Precondition::Uid => json!({ "uid": object.uid(), "annotations": annotations }),
        };
        let parameters = PatchParams {
            field_manager: Some(self.field_manager().to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let request = requests::<K>(object.namespace().as_deref())
            .patch(&object.name_any(), &parameters, &patch)
            .map_err(kube::Error::BuildRequest)?;
        let mut answer = self
            .controller
            .client
            .request::<Value>(request.clone())
            .await;
        if precondition == Precondition::Uid && answer.as_ref().is_err_and(is_busy) {
            answer = self.controller.client.request(request).await;
        }
        match answer {
            Ok(written) => {
                self.record_written(written);
                Ok(true)
            }
            Err(kube::Error::Api(refused))
                if refused.code == 409 && precondition == Precondition::Version =>
            {
                debug!("annotations not written: {}", refused.message);
                self.set_outdated(true);
                Ok(false)
            }
            Err(kube::Error::Api(refused))
                if refused.code == 409 && refused.message.contains(OTHER_UID) =>
            {
                debug!("annotations not written: {}", refused.message);
                self.facts.is_gone.store(true, Relaxed);
                Ok(false)
            }
            // the object was recreated under its name: the API server takes the uid in the patch as a change, which is not valid
            Err(error) if precondition == Precondition::Uid && has_code(&error, &[422]) => {
                if self.exists().await? {
                    Err(error.into())
                } else {
                    Ok(false)
                }
            }
            Err(error) if is_gone(&error) => {
                self.facts.is_gone.store(true, Relaxed);
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether the API server gave up the patch, which it repeats after conflicts, because others write the object so often. A conflict of the
/// uid does not count.
fn is_busy(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(refused) if refused.code == 409 && !refused.message.contains(OTHER_UID))
}
