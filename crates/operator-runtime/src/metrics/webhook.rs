//! The requests to webhooks, under the names of [controller-runtime](https://pkg.go.dev/sigs.k8s.io/controller-runtime).

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WebhookLabel {
    webhook: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CodeLabels {
    webhook: Arc<str>,
    code: u16,
}

/// The bounds of the histogram's buckets, in seconds.
const SECONDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The metrics of all webhooks.
#[derive(Clone)]
pub(crate) struct Webhooks {
    requests: Family<CodeLabels, Counter>,
    seconds: Family<WebhookLabel, Histogram>,
    in_flight: Family<WebhookLabel, Gauge>,
    panics: Counter,
    failures: Family<WebhookLabel, Counter>,
}

impl Webhooks {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let webhooks = Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            in_flight: Family::default(),
            panics: Counter::default(),
            failures: Family::default(),
        };
        registry.register(
            "controller_runtime_webhook_requests",
            "Requests to webhooks by HTTP status code",
            webhooks.requests.clone(),
        );
        registry.register(
            "controller_runtime_webhook_latency_seconds",
            "How long webhooks take to answer",
            webhooks.seconds.clone(),
        );
        registry.register(
            "controller_runtime_webhook_requests_in_flight",
            "Requests to webhooks that are being answered",
            webhooks.in_flight.clone(),
        );
        registry.register(
            "controller_runtime_webhook_panics",
            "Calls of webhooks that panicked",
            webhooks.panics.clone(),
        );
        registry.register(
            "operator_webhook_failures",
            "Requests that webhooks failed to answer",
            webhooks.failures.clone(),
        );
        webhooks
    }

    /// The metrics of the webhook with this path, which are exported from now on.
    pub fn of_webhook(&self, path: &str) -> WebhookMetrics {
        let webhook: Arc<str> = path.into();
        let label = WebhookLabel {
            webhook: webhook.clone(),
        };
        for code in [StatusCode::OK, StatusCode::INTERNAL_SERVER_ERROR] {
            let labels = CodeLabels {
                webhook: webhook.clone(),
                code: code.as_u16(),
            };
            drop(self.requests.get_or_create(&labels));
        }
        WebhookMetrics {
            requests: self.requests.clone(),
            webhook,
            seconds: self.seconds.get_or_create_owned(&label),
            in_flight: self.in_flight.get_or_create_owned(&label),
            panics: self.panics.clone(),
            failures: self.failures.get_or_create_owned(&label),
        }
    }
}

/// The metrics of one webhook.
pub(crate) struct WebhookMetrics {
    requests: Family<CodeLabels, Counter>,
    webhook: Arc<str>,
    seconds: Histogram,
    in_flight: Gauge,
    pub panics: Counter,
    /// Counts requests without a review: those that got an HTTP server error, and those whose client did not wait for the response.
    pub failures: Counter,
}

impl WebhookMetrics {
    /// Counts a request as in flight for as long as the result exists.
    pub fn begin(&self) -> InFlight<'_> {
        self.in_flight.inc();
        InFlight {
            metrics: self,
            is_answered: false,
        }
    }
}

/// A request in flight. If it is dropped before [`answered`](Self::answered), it counts as failed: the client has closed the connection.
pub(crate) struct InFlight<'a> {
    metrics: &'a WebhookMetrics,
    is_answered: bool,
}

impl InFlight<'_> {
    /// Counts the answer.
    pub fn answered(mut self, code: StatusCode, took: Duration) {
        self.is_answered = true;
        let metrics = self.metrics;
        metrics.seconds.observe(took.as_secs_f64());
        let labels = CodeLabels {
            webhook: metrics.webhook.clone(),
            code: code.as_u16(),
        };
        metrics.requests.get_or_create(&labels).inc();
        if code.is_server_error() {
            metrics.failures.inc();
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.metrics.in_flight.dec();
        if !self.is_answered {
            self.metrics.failures.inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text;

    #[test]
    fn requests_are_counted_by_webhook_and_code() {
        let mut registry = Registry::default();
        let webhooks = Webhooks::register(&mut registry);
        let metrics = webhooks.of_webhook("/convert");
        let _in_flight = metrics.begin();
        drop(metrics.begin());
        let took = Duration::from_millis(3);
        metrics.begin().answered(StatusCode::BAD_REQUEST, took);
        let unavailable = StatusCode::SERVICE_UNAVAILABLE;
        metrics.begin().answered(unavailable, took);
        metrics.panics.inc();
        let mut page = String::new();
        text::encode(&mut page, &registry).unwrap();
        for line in [
            r#"controller_runtime_webhook_requests_total{webhook="/convert",code="200"} 0"#,
            r#"controller_runtime_webhook_requests_total{webhook="/convert",code="500"} 0"#,
            r#"controller_runtime_webhook_requests_total{webhook="/convert",code="400"} 1"#,
            r#"controller_runtime_webhook_latency_seconds_bucket{le="0.005",webhook="/convert"} 2"#,
            r#"controller_runtime_webhook_requests_in_flight{webhook="/convert"} 1"#,
            "controller_runtime_webhook_panics_total 1",
            r#"operator_webhook_failures_total{webhook="/convert"} 2"#,
        ] {
            assert!(
                page.lines().any(|found| found == line),
                "{line} is not in\n{page}"
            );
        }
    }
}
