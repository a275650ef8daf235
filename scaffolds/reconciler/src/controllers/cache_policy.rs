//! The controller of [`CachePolicy`]: it writes the spec of each object to a ConfigMap, and the condition
//! `Ready` shows whether that succeeded.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use operator_runtime::{Action, Condition, Context, EventType, Reconciler, Result, Setup};

use crate::api::cache_policy::v1::CachePolicy;

/// Called once, when the operator starts. `setup.get::<T>()` returns a value that `operator` in `lib.rs`
/// provides, such as flags or a client.
pub async fn setup(_setup: Setup) -> Result<CachePolicyReconciler> {
    Ok(CachePolicyReconciler)
}

/// State that reconciliations share goes into the fields of this struct.
pub struct CachePolicyReconciler;

impl Reconciler for CachePolicyReconciler {
    type Resource = CachePolicy;
    const FINALIZER: Option<&'static str> = Some("cache.example.com/reconciler");

    /// Makes the cluster match the object. Called after each change of the object or one of its children.
    async fn reconcile(&self, cache_policy: Arc<CachePolicy>, cx: &Context) -> Result<Action> {
        let applied = cx.apply(&config_map(&cache_policy, cx)?).await;
        let mut status = cache_policy.status.clone().unwrap_or_default();
        status.observed_generation = cache_policy.metadata.generation;
        ready(&applied).set_in(
            status.conditions.get_or_insert_default(),
            cache_policy.metadata.generation,
        )?;
        let updated = cx.update_status(&*cache_policy, &status).await;
        applied?;
        updated?;
        Ok(Action::await_change())
    }

    /// Called when the object is being deleted, and again until it succeeds. Kubernetes deletes the
    /// children; undo everything else here.
    async fn cleanup(&self, cache_policy: Arc<CachePolicy>, cx: &Context) -> Result<()> {
        cx.event(
            &*cache_policy,
            EventType::Normal,
            "CleanedUp",
            "no external resources to clean up",
        )
        .await;
        Ok(())
    }
}

/// Whether the ConfigMap was applied. That fails if its name is already in use, or if the API server
/// rejects it.
fn ready(applied: &Result<ConfigMap>) -> Condition {
    match applied {
        Ok(_) => Condition::new(
            "Ready",
            true,
            "Applied",
            "the ConfigMap contains the current spec",
        ),
        Err(error) => Condition::new("Ready", false, "ApplyFailed", error.summary()),
    }
}

/// The desired state of the ConfigMap. [`Context::apply`] creates or updates it.
fn config_map(cache_policy: &CachePolicy, cx: &Context) -> Result<ConfigMap> {
    let spec = serde_json::to_string(&cache_policy.spec)?;
    Ok(ConfigMap {
        metadata: cx.child_metadata(cache_policy, cache_policy.name_any()),
        data: Some(BTreeMap::from([("spec.json".into(), spec)])),
        ..Default::default()
    })
}
