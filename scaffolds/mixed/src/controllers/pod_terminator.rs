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
    /// The present one of each object.
    periods: Mutex<BTreeMap<String, Period>>,
}

#[derive(Clone, Copy)]
struct Period {
    generation: Option<i64>,
    begun: Instant,
    /// The number of pods that have been ended, also in earlier periods.
    ended: i32,
}

impl Reconciler for PodTerminatorReconciler {
    type Resource = PodTerminator;
    const FINALIZER: Option<&'static str> = Some("programs.example.com/mixed");

    async fn reconcile(&self, terminator: Arc<PodTerminator>, cx: &Context) -> Result<Action> {
        let length = Duration::from_secs(terminator.spec.period_seconds().unsigned_abs().into());
        let is_present = |period: &Period| {
            period.generation == terminator.metadata.generation && period.begun.elapsed() < length
        };
        // a change of the status is no reason to end pods
        let period = match self.period(&terminator).filter(is_present) {
            Some(period) => period,
            None => self.end_pods(&terminator, cx).await?,
        };
        let mut status = terminator.status.clone().unwrap_or_default();
        status.ended = Some(period.ended);
        cx.update_status(&*terminator, &status).await?;
        Ok(Action::requeue(
            length.saturating_sub(period.begun.elapsed()),
        ))
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
    fn period(&self, terminator: &PodTerminator) -> Option<Period> {
        let periods = self.periods.lock().unwrap_or_else(PoisonError::into_inner);
        periods.get(&terminator.name_any()).copied()
    }

    fn set_period(&self, terminator: &PodTerminator, period: Period) {
        let mut periods = self.periods.lock().unwrap_or_else(PoisonError::into_inner);
        periods.insert(terminator.name_any(), period);
    }

    /// Begins a period, and ends pods. If that fails halfway, the others live until the next one.
    async fn end_pods(&self, terminator: &PodTerminator, cx: &Context) -> Result<Period> {
        let spec = &terminator.spec;
        let selector = spec
            .selector
            .iter()
            .map(|(key, value)| format!("{key}={value}"));
        let selector = ListParams::default().labels(&selector.collect::<Vec<_>>().join(","));
        let pods: Api<Pod> = Api::all(cx.client().clone());
        let mut running = pods.list(&selector).await?.items;
        running.retain(|pod| pod.metadata.deletion_timestamp.is_none());
        running.truncate(victims(spec, running.len()));

        let reported = || terminator.status.as_ref()?.ended;
        let before = self.period(terminator).map(|period| period.ended);
        let mut period = Period {
            generation: terminator.metadata.generation,
            begun: Instant::now(),
            ended: before.or_else(reported).unwrap_or(0),
        };
        self.set_period(terminator, period);
        for pod in &running {
            let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
            let reason = if spec.dry_run() { "WouldEnd" } else { "Ended" };
            if !spec.dry_run() {
                let pods: Api<Pod> = Api::namespaced(cx.client().clone(), &namespace);
                pods.delete(&name, &DeleteParams::default()).await?;
                period.ended += 1;
                self.set_period(terminator, period);
            }
            cx.event(
                terminator,
                EventType::Normal,
                reason,
                format!("{namespace}/{name}"),
            )
            .await;
        }
        Ok(period)
    }
}

/// How many of `count` pods are ended: the percentage, rounded down, but so that the minimum remains.
fn victims(spec: &PodTerminatorSpec, count: usize) -> usize {
    let number = |value: i32| usize::try_from(value).unwrap_or(0);
    let share = count * number(spec.percent()) / 100;
    share.min(count.saturating_sub(number(spec.minimum())))
}
