//! The metrics that `/metrics` exports in the [OpenMetrics](https://prometheus.io/docs/specs/om/open_metrics_spec/) text format.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::Registry,
};

use crate::engine::{identity::Identity, kind::GroupKind};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct KindLabel {
    group: String,
    kind: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResultLabels {
    group: String,
    kind: String,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WatchLabel {
    group: String,
    resource: String,
}

/// The results that a reconciliation can have; each is exported from the start, as zero.
const RESULTS: [&str; 5] = ["success", "conflict", "error", "permanent_error", "panic"];

/// All metrics of an operator.
pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    results: Family<ResultLabels, Counter>,
    durations: Family<KindLabel, Histogram>,
    active: Family<KindLabel, Gauge>,
    objects: Family<KindLabel, Gauge>,
    failing: Family<KindLabel, Gauge>,
    undecodable: Family<KindLabel, Gauge>,
    child_reads: Family<KindLabel, Counter>,
    panics: Family<KindLabel, Counter>,
    watches: Family<WatchLabel, Counter>,
    watch_errors: Family<KindLabel, Counter>,
    pub leader: Gauge,
}

/// The metrics of one kind.
#[derive(Clone)]
pub(crate) struct KindMetrics {
    pub kind: GroupKind,
    results: Family<ResultLabels, Counter>,
    pub duration: Histogram,
    pub active: Gauge,
    pub objects: Gauge,
    pub failing: Gauge,
    pub undecodable: Gauge,
    pub child_reads: Counter,
    pub panics: Counter,
    pub watch_errors: Counter,
}

impl Metrics {
    pub fn new(operator: &str) -> Self {
        let metrics = Self {
            registry: Mutex::new(Registry::with_prefix("operator")),
            results: Family::default(),
            durations: Family::new_with_constructor(|| {
                Histogram::new([0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0])
            }),
            active: Family::default(),
            objects: Family::default(),
            failing: Family::default(),
            undecodable: Family::default(),
            child_reads: Family::default(),
            panics: Family::default(),
            watches: Family::default(),
            watch_errors: Family::default(),
            leader: Gauge::default(),
        };
        metrics.register(operator);
        metrics
    }

    fn register(&self, operator: &str) {
        let mut registry = self.registry();
        let build = Info::new([
            ("name", operator.to_owned()),
            ("runtime", env!("CARGO_PKG_VERSION").to_owned()),
        ]);
        registry.register(
            "build",
            "The operator and the version of its runtime",
            build,
        );
        registry.register(
            "reconciles",
            "Reconciliations by result",
            self.results.clone(),
        );
        registry.register(
            "reconcile_duration_seconds",
            "How long reconciliations take",
            self.durations.clone(),
        );
        registry.register(
            "reconciles_active",
            "Reconciliations in flight",
            self.active.clone(),
        );
        registry.register("objects", "Objects in the cache", self.objects.clone());
        registry.register(
            "failing_objects",
            "Objects whose last reconciliation failed",
            self.failing.clone(),
        );
        registry.register(
            "undecodable_objects",
            "Objects that cannot be decoded, and therefore are not reconciled",
            self.undecodable.clone(),
        );
        registry.register(
            "child_reads",
            "Requests that read a child because the cache could not answer",
            self.child_reads.clone(),
        );
        registry.register(
            "panics",
            "Reconciliations that panicked",
            self.panics.clone(),
        );
        registry.register(
            "watch_starts",
            "Watches begun or renewed",
            self.watches.clone(),
        );
        registry.register(
            "watch_errors",
            "Lists and watches that failed",
            self.watch_errors.clone(),
        );
        registry.register("leader", "1 while this replica works", self.leader.clone());
    }

    /// The metrics of a controller, which are exported from now on.
    pub fn of_controller(&self, controller: &Identity) -> KindMetrics {
        let kind = &controller.kind;
        let label = KindLabel {
            group: kind.group.clone(),
            kind: kind.kind.clone(),
        };
        let metrics = KindMetrics {
            kind: kind.clone(),
            results: self.results.clone(),
            duration: self.durations.get_or_create_owned(&label),
            active: self.active.get_or_create_owned(&label),
            objects: self.objects.get_or_create_owned(&label),
            failing: self.failing.get_or_create_owned(&label),
            undecodable: self.undecodable.get_or_create_owned(&label),
            child_reads: self.child_reads.get_or_create_owned(&label),
            panics: self.panics.get_or_create_owned(&label),
            watch_errors: self.watch_errors.get_or_create_owned(&label),
        };
        for result in RESULTS {
            metrics.result(result);
        }
        metrics
    }

    /// Counts the start of a watch on this URL path.
    pub fn watch_started(&self, path: &str) {
        let resource = path.rsplit('/').next().unwrap_or_default().to_owned();
        // The core group's paths begin with `/api/`, and name no group.
        let named = path.strip_prefix("/apis/");
        let group = named.and_then(|path| path.split('/').next());
        let group = group.unwrap_or_default().to_owned();
        let label = WatchLabel { group, resource };
        self.watches.get_or_create(&label).inc();
    }

    /// The registry, in which a program can register its own metrics.
    pub fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn page(&self) -> Result<String, fmt::Error> {
        let mut page = String::new();
        text::encode(&mut page, &self.registry())?;
        Ok(page)
    }
}

impl KindMetrics {
    /// The counter for a result, one of [`RESULTS`].
    pub fn result(&self, result: &'static str) -> Counter {
        self.results.get_or_create_owned(&ResultLabels {
            group: self.kind.group.clone(),
            kind: self.kind.kind.clone(),
            result,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_of_a_kind_is_exported_from_the_start() {
        let metrics = Metrics::new("memcached-operator");
        let controller = |group: &str| Identity {
            operator: "memcached-operator".into(),
            kind: GroupKind {
                group: group.into(),
                kind: "Memcached".into(),
            },
            name: "memcached".into(),
            is_named: false,
            shares_kind: false,
        };
        metrics.of_controller(&controller("cache.example.com"));
        metrics
            .of_controller(&controller("other"))
            .result("error")
            .inc();
        metrics.watch_started("/apis/cache.example.com/v1/namespaces/a/memcacheds");
        metrics.watch_started("/api/v1/configmaps");
        let page = metrics.page().unwrap();
        for line in [
            r#"operator_reconciles_total{group="other",kind="Memcached",result="error"} 1"#,
            r#"operator_reconciles_total{group="cache.example.com",kind="Memcached",result="error"} 0"#,
            r#"operator_undecodable_objects{group="cache.example.com",kind="Memcached"} 0"#,
            r#"operator_watch_starts_total{group="cache.example.com",resource="memcacheds"} 1"#,
            r#"operator_watch_starts_total{group="",resource="configmaps"} 1"#,
            r#"operator_reconcile_duration_seconds_count{group="cache.example.com",kind="Memcached"} 0"#,
            "operator_leader 0",
        ] {
            assert!(page.contains(line), "{line} is not in\n{page}");
        }
        assert!(
            page.contains(r#"operator_build_info{name="memcached-operator",runtime="#),
            "{page}"
        );
    }
}
