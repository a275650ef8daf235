//! The metrics that `/metrics` exports in the [OpenMetrics](https://prometheus.io/docs/specs/om/open_metrics_spec/) text format: those that
//! operators of controller-runtime export, under their names, and those of this runtime, which begin with `operator_`.

mod controller;
mod process;
mod queue;
mod requests;
#[cfg(feature = "webhook")]
mod webhook;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, info::Info},
    registry::Registry,
};

#[cfg(feature = "webhook")]
pub(crate) use self::webhook::WebhookMetrics;
#[cfg(feature = "webhook")]
use self::webhook::Webhooks;
pub(crate) use self::{controller::ControllerMetrics, queue::Queue};
use self::{controller::Controllers, process::Process, queue::Queues, requests::Requests};
use crate::{engine::identity::Identity, lock::lock};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ControllerLabels {
    controller: Arc<str>,
    group: String,
    kind: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct HandlerLabels {
    controller: Arc<str>,
    handler: String,
}

/// The failed calls of a controller's handlers.
#[derive(Clone)]
pub(crate) struct HandlerErrors {
    controller: Arc<str>,
    errors: Family<HandlerLabels, Counter>,
}

impl HandlerErrors {
    /// Counts a failed call. A call of a sub-handler counts as one of its handler, because the number of sub-handlers is not limited.
    pub fn count(&self, id: &str) {
        let labels = HandlerLabels {
            controller: self.controller.clone(),
            handler: id.split('/').next().unwrap_or_default().to_owned(),
        };
        self.errors.get_or_create(&labels).inc();
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WatchLabel {
    group: String,
    resource: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct LeaseLabel {
    name: String,
}

/// All metrics of an operator.
pub(crate) struct Metrics {
    /// The metrics whose names begin with `operator_`, and those of the program.
    own: Mutex<Registry>,
    /// The metrics under the names of controller-runtime and client-go.
    conventional: Registry,
    controllers: Controllers,
    queues: Queues,
    pub requests: Requests,
    #[cfg(feature = "webhook")]
    pub webhooks: Webhooks,
    pub leader: Gauge,
    /// 1 while an operator with a higher priority works.
    pub paused: Gauge,
    objects: Family<ControllerLabels, Gauge>,
    failing: Family<ControllerLabels, Gauge>,
    undecodable: Family<ControllerLabels, Gauge>,
    child_reads: Family<ControllerLabels, Counter>,
    handler_errors: Family<HandlerLabels, Counter>,
    watches: Family<WatchLabel, Counter>,
    watch_errors: Family<ControllerLabels, Counter>,
}

impl Metrics {
    /// The metrics of an operator that is elected with this lease.
    pub fn new(operator: &str, lease: &str) -> Self {
        let mut conventional = Registry::default();
        let leaders = Family::<LeaseLabel, Gauge>::default();
        conventional.register(
            "leader_election_master_status",
            "1 while this replica is the leader, 0 while it is a standby",
            leaders.clone(),
        );
        if let Some(process) = Process::new() {
            conventional.register_collector(Box::new(process));
        }
        let metrics = Self {
            own: Mutex::new(Registry::with_prefix("operator")),
            controllers: Controllers::register(&mut conventional),
            queues: Queues::register(&mut conventional),
            requests: Requests::register(&mut conventional),
            #[cfg(feature = "webhook")]
            webhooks: Webhooks::register(&mut conventional),
            leader: leaders.get_or_create_owned(&LeaseLabel { name: lease.into() }),
            conventional,
            objects: Family::default(),
            failing: Family::default(),
            undecodable: Family::default(),
            child_reads: Family::default(),
            handler_errors: Family::default(),
            paused: Gauge::default(),
            watches: Family::default(),
            watch_errors: Family::default(),
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
            "paused",
            "1 while this replica waits because another with a higher priority works",
            self.paused.clone(),
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
            "handler_errors",
            "Failed calls of handlers",
            self.handler_errors.clone(),
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
    }

    /// The metrics of a controller, which are exported from now on.
    pub fn of_controller(&self, identity: &Identity) -> ControllerMetrics {
        let Identity { name, kind, .. } = identity;
        let controller: Arc<str> = name.as_str().into();
        let queue = self.queues.of_controller(&controller);
        let label = ControllerLabels {
            controller: controller.clone(),
            group: kind.group.clone(),
            kind: kind.kind.clone(),
        };
        ControllerMetrics {
            reconciles: self.controllers.of_controller(&controller),
            queue,
            objects: self.objects.get_or_create_owned(&label),
            failing: self.failing.get_or_create_owned(&label),
            undecodable: self.undecodable.get_or_create_owned(&label),
            child_reads: self.child_reads.get_or_create_owned(&label),
            handler_errors: HandlerErrors {
                controller,
                errors: self.handler_errors.clone(),
            },
            watch_errors: self.watch_errors.get_or_create_owned(&label),
        }
    }

    /// Counts the start of a watch on this URL path.
    pub fn watch_started(&self, path: &str) {
        let resource = path.rsplit('/').next().unwrap_or_default().to_owned();
        // The core group's paths begin with `/api/`, and name no group.
        let group = path
            .strip_prefix("/apis/")
            .and_then(|path| path.split('/').next())
            .unwrap_or_default()
            .to_owned();
        let label = WatchLabel { group, resource };
        self.watches.get_or_create(&label).inc();
    }

    /// Removes the numbers of objects, after the controllers have ended.
    pub fn forget_objects(&self) {
        for objects in [&self.objects, &self.failing, &self.undecodable] {
            objects.clear();
        }
    }

    /// The registry, in which a program can register its own metrics.
    pub fn registry(&self) -> MutexGuard<'_, Registry> {
        lock(&self.own)
    }

    /// The text of `/metrics`.
    pub fn page(&self) -> Result<String, fmt::Error> {
        self.queues.refresh();
        let mut page = String::new();
        text::encode_registry(&mut page, &self.conventional)?;
        text::encode(&mut page, &self.registry())?;
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kind::GroupKind;

    #[test]
    fn every_metric_of_a_controller_is_exported_from_the_start() {
        let metrics = Metrics::new("memcached-operator", "memcached-lease");
        let identity = |name: &str| Identity {
            operator: "memcached-operator".into(),
            kind: GroupKind {
                group: "cache.example.com".into(),
                kind: "Memcached".into(),
            },
            name: name.into(),
            is_named: false,
            shares_kind: false,
        };
        metrics.of_controller(&identity("memcached"));
        let other = metrics.of_controller(&identity("memcached.other"));
        other.reconciles.panics.inc();
        metrics.watch_started("/apis/cache.example.com/v1/namespaces/a/memcacheds");
        metrics.watch_started("/api/v1/configmaps");
        let page = metrics.page().unwrap();
        for line in [
            r#"controller_runtime_reconcile_total{controller="memcached",result="error"} 0"#,
            r#"controller_runtime_reconcile_total{controller="memcached",result="requeue_after"} 0"#,
            r#"controller_runtime_reconcile_panics_total{controller="memcached"} 0"#,
            r#"controller_runtime_reconcile_panics_total{controller="memcached.other"} 1"#,
            r#"controller_runtime_reconcile_time_seconds_count{controller="memcached"} 0"#,
            r#"workqueue_depth{name="memcached",controller="memcached"} 0"#,
            r#"workqueue_queue_duration_seconds_bucket{le="+Inf",name="memcached",controller="memcached"} 0"#,
            r#"operator_undecodable_objects{controller="memcached",group="cache.example.com",kind="Memcached"} 0"#,
            r#"operator_watch_starts_total{group="cache.example.com",resource="memcacheds"} 1"#,
            r#"operator_watch_starts_total{group="",resource="configmaps"} 1"#,
            r#"leader_election_master_status{name="memcached-lease"} 0"#,
        ] {
            assert!(
                page.lines().any(|found| found == line),
                "{line} is not in\n{page}"
            );
        }
        assert!(
            page.contains(r#"operator_build_info{name="memcached-operator",runtime="#),
            "{page}"
        );
        assert!(page.ends_with("# EOF\n") && page.matches("# EOF").count() == 1);
    }
}
