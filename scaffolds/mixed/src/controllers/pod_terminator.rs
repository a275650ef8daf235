//! Ends pods now and then, so that people see whether their programs survive it. It shows a cluster-scoped kind whose finalizer is removed when
//! an object is deleted, work at intervals, and requests for objects of another kind.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams},
};
use operator_runtime::{Action, Context, EventType, Reconciler, Result, Setup};
use tokio::time::Instant;

use crate::api::pod_terminator::v1::{PodTerminator, PodTerminatorSpec};

pub async fn setup(_setup: Setup) -> Result<PodTerminatorReconciler> {
    Ok(PodTerminatorReconciler::default())
}

#[derive(Default)]
pub struct PodTerminatorReconciler {
    /// Of each object, when pods were last ended, and for which generation.
    last: Mutex<BTreeMap<String, (Option<i64>, Instant)>>,
}

impl Reconciler for PodTerminatorReconciler {
    type Resource = PodTerminator;
    const FINALIZER: Option<&'static str> = Some("programs.example.com/mixed");

    async fn reconcile(&self, terminator: Arc<PodTerminator>, cx: &Context) -> Result<Action> {
        let spec = &terminator.spec;
        let period = Duration::from_secs(spec.period_seconds().unsigned_abs().into());
        if let Some(remaining) = self.begin(&terminator, period) {
            return Ok(Action::requeue(remaining));
        }
        let selector = spec
            .selector
            .iter()
            .map(|(key, value)| format!("{key}={value}"));
        let selector = ListParams::default().labels(&selector.collect::<Vec<_>>().join(","));
        let pods: Api<Pod> = Api::all(cx.client().clone());
        let mut running = pods.list(&selector).await?.items;
        running.retain(|pod| pod.metadata.deletion_timestamp.is_none());
        running.truncate(victims(spec, running.len()));

        let mut ended = 0;
        for pod in &running {
            let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
            let reason = if spec.dry_run() { "WouldEnd" } else { "Ended" };
            if !spec.dry_run() {
                let pods: Api<Pod> = Api::namespaced(cx.client().clone(), &namespace);
                pods.delete(&name, &DeleteParams::default()).await?;
                ended += 1;
            }
            cx.event(
                &*terminator,
                EventType::Normal,
                reason,
                format!("{namespace}/{name}"),
            )
            .await;
        }
        let mut status = terminator.status.clone().unwrap_or_default();
        status.ended = Some(status.ended.unwrap_or(0) + ended);
        cx.update_status(&*terminator, &status).await?;
        Ok(Action::requeue(period))
    }

    /// Nothing is ended any more.
    async fn cleanup(&self, terminator: Arc<PodTerminator>, cx: &Context) -> Result<()> {
        cx.event(
            &*terminator,
            EventType::Normal,
            "Stopped",
            "no pod is ended any more",
        )
        .await;
        Ok(())
    }
}

impl PodTerminatorReconciler {
    /// Begins a period, or returns the rest of the one that has begun: a change of the status is no reason to end pods.
    fn begin(&self, terminator: &PodTerminator, period: Duration) -> Option<Duration> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (generation, now) = (terminator.metadata.generation, Instant::now());
        if let Some((known, begun)) = last.get(&terminator.name_any())
            && *known == generation
            && now < *begun + period
        {
            return Some(*begun + period - now);
        }
        last.insert(terminator.name_any(), (generation, now));
        None
    }
}

/// How many of `count` pods are ended: the percentage, rounded down, but so that the minimum remains.
fn victims(spec: &PodTerminatorSpec, count: usize) -> usize {
    let number = |value: i32| usize::try_from(value).unwrap_or(0);
    let share = count * number(spec.percent()) / 100;
    share.min(count.saturating_sub(number(spec.minimum())))
}
