//! The metrics of one controller's reconciliations, under the names of
//! [controller-runtime](https://pkg.go.dev/sigs.k8s.io/controller-runtime), with its labels, results and buckets.

use std::{sync::Arc, time::Duration};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use super::{HandlerErrors, Queue};
use crate::{Action, Error};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ControllerLabel {
    controller: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResultLabels {
    controller: Arc<str>,
    result: &'static str,
}

/// The bounds of the histogram's buckets, in seconds; the same as in controller-runtime.
const SECONDS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

/// The metrics of one controller.
#[derive(Clone)]
pub(crate) struct ControllerMetrics {
    pub reconciles: Reconciles,
    pub queue: Arc<Queue>,
    pub objects: Gauge,
    pub failing: Gauge,
    pub undecodable: Gauge,
    pub child_reads: Counter,
    pub handler_errors: HandlerErrors,
    pub watch_errors: Counter,
}

/// The reconciliations of one controller.
#[derive(Clone)]
pub(crate) struct Reconciles {
    success: Counter,
    requeue: Counter,
    requeue_after: Counter,
    error: Counter,
    errors: Counter,
    terminal_errors: Counter,
    throttled: Counter,
    pub panics: Counter,
    seconds: Histogram,
    pub active: Gauge,
    pub max_concurrent: Gauge,
}

impl Reconciles {
    /// Counts a reconciliation.
    pub fn done(&self, result: Result<&Action, &Error>, took: Duration) {
        self.seconds.observe(took.as_secs_f64());
        match result.map(Action::delay) {
            Ok(None) => &self.success,
            Ok(Some(Duration::ZERO)) => &self.requeue,
            Ok(Some(_)) => &self.requeue_after,
            Err(error) => {
                self.errors.inc();
                if error.is_permanent() {
                    self.terminal_errors.inc();
                }
                if matches!(error, Error::Throttled { .. }) {
                    self.throttled.inc();
                }
                &self.error
            }
        }
        .inc();
    }

    /// Counts a reconciliation whose object has changed since it was read: it is repeated.
    pub fn outdated(&self, took: Duration) {
        self.seconds.observe(took.as_secs_f64());
        self.requeue.inc();
    }
}

/// The metrics of all controllers.
pub(super) struct Controllers {
    results: Family<ResultLabels, Counter>,
    errors: Family<ControllerLabel, Counter>,
    terminal_errors: Family<ControllerLabel, Counter>,
    throttled: Family<ControllerLabel, Counter>,
    panics: Family<ControllerLabel, Counter>,
    seconds: Family<ControllerLabel, Histogram>,
    active: Family<ControllerLabel, Gauge>,
    max_concurrent: Family<ControllerLabel, Gauge>,
}

impl Controllers {
    pub fn register(registry: &mut Registry) -> Self {
        let families = Self {
            results: Family::default(),
            errors: Family::default(),
            terminal_errors: Family::default(),
            throttled: Family::default(),
            panics: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            active: Family::default(),
            max_concurrent: Family::default(),
        };
        registry.register(
            "controller_runtime_reconcile",
            "Reconciliations by result",
            families.results.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_errors",
            "Reconciliations that failed",
            families.errors.clone(),
        );
        registry.register(
            "controller_runtime_terminal_reconcile_errors",
            "Reconciliations that failed, and are not repeated before the object changes",
            families.terminal_errors.clone(),
        );
        registry.register(
            "operator_throttled_reconciles",
            "Reconciliations that failed because another system limits the rate of its requests",
            families.throttled.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_panics",
            "Calls of the reconciler that panicked",
            families.panics.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_time_seconds",
            "How long reconciliations take",
            families.seconds.clone(),
        );
        registry.register(
            "controller_runtime_active_workers",
            "Reconciliations in flight",
            families.active.clone(),
        );
        registry.register(
            "controller_runtime_max_concurrent_reconciles",
            "The maximum number of reconciliations in flight",
            families.max_concurrent.clone(),
        );
        families
    }

    pub fn of_controller(&self, controller: &Arc<str>) -> Reconciles {
        let label = ControllerLabel {
            controller: controller.clone(),
        };
        let result = |result| {
            self.results.get_or_create_owned(&ResultLabels {
                controller: controller.clone(),
                result,
            })
        };
        Reconciles {
            success: result("success"),
            requeue: result("requeue"),
            requeue_after: result("requeue_after"),
            error: result("error"),
            errors: self.errors.get_or_create_owned(&label),
            terminal_errors: self.terminal_errors.get_or_create_owned(&label),
            throttled: self.throttled.get_or_create_owned(&label),
            panics: self.panics.get_or_create_owned(&label),
            seconds: self.seconds.get_or_create_owned(&label),
            active: self.active.get_or_create_owned(&label),
            max_concurrent: self.max_concurrent.get_or_create_owned(&label),
        }
    }
}
