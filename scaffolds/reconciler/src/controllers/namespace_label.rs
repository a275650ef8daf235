//! Labels the namespace of each object, and removes the label when the object is deleted. It shows that nothing is missed, not even while the
//! operator is down: a reconciler makes the cluster match the object as it is, whatever happened to it before, a watch of the namespaces restores
//! a label that somebody else removes, and a finalizer keeps a deleted object until its label is removed.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use operator_runtime::{Action, Changed, Context, ObjectRef, Reconciler, Result, Setup, Store};
use serde_json::{Value, json};

use crate::api::namespace_label::v1::NamespaceLabel;

pub async fn setup(_setup: Setup) -> Result<NamespaceLabelReconciler> {
    Ok(NamespaceLabelReconciler)
}

pub struct NamespaceLabelReconciler;

impl Reconciler for NamespaceLabelReconciler {
    type Resource = NamespaceLabel;
    const FINALIZER: Option<&'static str> = Some("programs.example.com/reconciler");

    async fn reconcile(&self, label: Arc<NamespaceLabel>, cx: &Context) -> Result<Action> {
        write(&label, json!(label.spec.value), cx).await?;
        let mut status = label.status.clone().unwrap_or_default();
        status.observed_generation = label.metadata.generation;
        cx.update_status(&*label, &status).await?;
        Ok(Action::await_change())
    }

    async fn cleanup(&self, label: Arc<NamespaceLabel>, cx: &Context) -> Result<()> {
        write(&label, Value::Null, cx).await
    }

    /// The objects in a namespace that changed.
    fn parents(
        &self,
        namespace: &Changed,
        cache: &Store<NamespaceLabel>,
    ) -> Vec<ObjectRef<NamespaceLabel>> {
        let mut labels = cache.state();
        labels.retain(|label| label.metadata.namespace == namespace.metadata.name);
        labels.iter().map(|it| ObjectRef::from_obj(&**it)).collect()
    }
}

/// Sets the label, or removes it if the value is null. A patch that changes nothing is not a write.
async fn write(label: &NamespaceLabel, value: Value, cx: &Context) -> Result<()> {
    let key = format!("programs.example.com/{}", label.name_any());
    let patch = Patch::Merge(json!({ "metadata": { "labels": { key: value } } }));
    let namespaces: Api<Namespace> = Api::all(cx.client());
    let namespace = label.namespace().unwrap_or_default();
    namespaces
        .patch_metadata(&namespace, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}
