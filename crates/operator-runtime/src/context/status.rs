//! The status of the reconciled object, written when it changed.

use kube::{
    Resource, ResourceExt,
    api::{Patch, PatchParams},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Context, drop_nulls, requests};
use crate::{Result, decode::forget_managers, error::is_gone};

impl Context {
    /// Makes `status` the status of `object`, if it is not so already.
    ///
    /// This is a server-side apply on the
    /// [status subresource](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#status-subresource):
    /// fields that are not sent and that others own stay; those that are sent become this operator's. An object that is gone by now is no error.
    pub async fn update_status<K, S>(&self, object: &K, status: &S) -> Result<()>
    where
        K: Resource<DynamicType = ()> + Serialize,
        S: Serialize,
    {
        let mut wanted = serde_json::to_value(status)?;
        drop_nulls(&mut wanted);
        let mut current = serde_json::to_value(object)?["status"].take();
        drop_nulls(&mut current);
        let nothing = |status: &Value| status.is_null() || *status == json!({});
        if wanted == current || nothing(&wanted) && nothing(&current) {
            return Ok(());
        }
        let name = object.name_any();
        let patch = json!({
            "apiVersion": K::api_version(&()),
            "kind": K::kind(&()),
            "metadata": { "name": name },
            "status": wanted,
        });
        let parameters = PatchParams::apply(self.operator()).force();
        let request = requests::<K>(object.namespace().as_deref())
            .patch_subresource("status", &name, &parameters, &Patch::Apply(&patch))
            .map_err(kube::Error::BuildRequest)?;
        match self.controller.client.request::<Value>(request).await {
            Ok(mut written) => {
                forget_managers(&mut written);
                if self.owner.reference.as_ref().map(|owner| &owner.uid) == object.uid().as_ref() {
                    *self.written() = Some(written);
                }
                Ok(())
            }
            Err(error) if is_gone(&error) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
