//! Reconciles [`CachePolicy`]: a ConfigMap with its spec lies beside each object, and the condition `Ready` tells whether it could be written.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use operator_runtime::{Action, Condition, Context, Reconciler, Result, Setup};

use crate::api::cache_policy::v1::CachePolicy;

/// Called once at the start. `setup.get::<T>()` has what `operator` in `lib.rs` provides: flags, clients, state of your own.
pub async fn setup(_setup: Setup) -> Result<CachePolicyReconciler> {
    Ok(CachePolicyReconciler)
}

/// What the reconciler keeps between its calls goes into fields.
pub struct CachePolicyReconciler;

impl Reconciler for CachePolicyReconciler {
    type Resource = CachePolicy;

    /// Called after every change of the object and of what it owns: makes the cluster what the object asks for.
    async fn reconcile(&self, cache_policy: Arc<CachePolicy>, cx: &Context) -> Result<Action> {
        let applied = cx.apply(&config_map(&cache_policy, cx)?).await;
        let mut status = cache_policy.status.clone().unwrap_or_default();
        status.observed_generation = cache_policy.metadata.generation;
        ready(&applied).set_in(
            status.conditions.get_or_insert_default(),
            cache_policy.metadata.generation,
        )?;
        let told = cx.update_status(&*cache_policy, &status).await;
        applied?;
        told?;
        Ok(Action::await_change())
    }
}

/// Whether the ConfigMap is there as it should be; it may belong to somebody else, or be refused.
fn ready(applied: &Result<ConfigMap>) -> Condition {
    match applied {
        Ok(_) => Condition::new(
            "Ready",
            true,
            "Applied",
            "the ConfigMap holds the current spec",
        ),
        Err(error) => Condition::new("Ready", false, "ApplyFailed", error.to_string()),
    }
}

/// The child: what it should be, with no regard to what it is.
fn config_map(cache_policy: &CachePolicy, cx: &Context) -> Result<ConfigMap> {
    let spec = serde_json::to_string(&cache_policy.spec)?;
    Ok(ConfigMap {
        metadata: cx.child_metadata(cache_policy, cache_policy.name_any()),
        data: Some(BTreeMap::from([("spec.json".into(), spec)])),
        ..Default::default()
    })
}

// ours: what the platform team counts
pub const COUNTED: &str = "policies";
