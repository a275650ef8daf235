//! The dashboard: <https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/>

use serde_json::{Value, json};

use super::job;
use crate::operator::Operator;

/// The version of Grafana's JSON model.
const SCHEMA: u32 = 39;

/// The width of a dashboard, and the size of a panel.
const COLUMNS: usize = 24;
const WIDTH: usize = 8;
const HEIGHT: usize = 7;

/// A panel: its title, its unit, and its queries with their legends. `JOB` in a query stands for the matcher of the operator's job.
type Panel = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const PANELS: [Panel; 12] = [
    (
        "Replicas",
        "short",
        &[
            ("sum(up{JOB})", "answering"),
            ("sum(leader_election_master_status{JOB})", "working"),
        ],
    ),
    (
        "Objects",
        "short",
        &[("max by (group, kind) (operator_objects{JOB})", "{{kind}}")],
    ),
    (
        "Failing objects",
        "short",
        &[
            (
                "sum by (controller) (operator_failing_objects{JOB})",
                "{{controller}}",
            ),
            (
                "sum by (controller) (operator_undecodable_objects{JOB})",
                "{{controller}}, undecodable",
            ),
        ],
    ),
    (
        "Reconciliations",
        "ops",
        &[(
            "sum by (controller, result) (rate(controller_runtime_reconcile_total{JOB}[$__rate_interval]))",
            "{{controller}} {{result}}",
        )],
    ),
    (
        "Duration of reconciliations",
        "s",
        &[
            (
                "histogram_quantile(0.5, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket{JOB}[$__rate_interval])))",
                "{{controller}} 50 %",
            ),
            (
                "histogram_quantile(0.99, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket{JOB}[$__rate_interval])))",
                "{{controller}} 99 %",
            ),
        ],
    ),
    (
        "Errors and panics",
        "ops",
        &[
            (
                "sum by (controller) (rate(controller_runtime_reconcile_errors_total{JOB}[$__rate_interval]))",
                "{{controller}}",
            ),
            (
                "sum by (controller) (rate(controller_runtime_reconcile_panics_total{JOB}[$__rate_interval]))",
                "{{controller}}, panics",
            ),
            (
                "sum by (handler) (rate(operator_handler_errors_total{JOB}[$__rate_interval]))",
                "{{handler}}",
            ),
        ],
    ),
    (
        "Queue",
        "short",
        &[(
            "sum by (controller) (workqueue_depth{JOB})",
            "{{controller}}",
        )],
    ),
    (
        "Time in the queue",
        "s",
        &[(
            "histogram_quantile(0.99, sum by (controller, le) (rate(workqueue_queue_duration_seconds_bucket{JOB}[$__rate_interval])))",
            "{{controller}} 99 %",
        )],
    ),
    (
        "Workers",
        "percentunit",
        &[(
            "sum by (controller) (controller_runtime_active_workers{JOB}) / sum by (controller) (controller_runtime_max_concurrent_reconciles{JOB})",
            "{{controller}}",
        )],
    ),
    (
        "Requests to the API server",
        "reqps",
        &[(
            "sum by (method, code) (rate(rest_client_requests_total{JOB}[$__rate_interval]))",
            "{{method}} {{code}}",
        )],
    ),
    (
        "Failed watches",
        "ops",
        &[(
            "sum by (kind) (rate(operator_watch_errors_total{JOB}[$__rate_interval]))",
            "{{kind}}",
        )],
    ),
    (
        "Processor time and memory",
        "short",
        &[
            (
                "sum(rate(process_cpu_seconds_total{JOB}[$__rate_interval]))",
                "cores",
            ),
            ("sum(process_resident_memory_bytes{JOB}) / 1048576", "MiB"),
        ],
    ),
];

/// The panels of operators with webhooks.
const WEBHOOK_PANELS: [Panel; 2] = [
    (
        "Requests to webhooks",
        "reqps",
        &[(
            "sum by (webhook, code) (rate(controller_runtime_webhook_requests_total{JOB}[$__rate_interval]))",
            "{{webhook}} {{code}}",
        )],
    ),
    (
        "Duration of webhooks",
        "s",
        &[(
            "histogram_quantile(0.99, sum by (webhook, le) (rate(controller_runtime_webhook_latency_seconds_bucket{JOB}[$__rate_interval])))",
            "{{webhook}} 99 %",
        )],
    ),
];

/// The dashboard of an operator.
pub fn dashboard(operator: &Operator<'_>) -> Value {
    let job = job(operator);
    let of_webhooks = WEBHOOK_PANELS.iter().filter(|_| operator.has_webhooks());
    let source = json!({"type": "prometheus", "uid": "${source}"});
    let panels = PANELS.iter().chain(of_webhooks).enumerate();
    let panels = panels.map(|(index, (title, unit, queries))| {
        let (row, column) = (index / (COLUMNS / WIDTH), index % (COLUMNS / WIDTH));
        let targets = queries.iter().zip('A'..).map(|((query, legend), letter)| {
            json!({
                "refId": letter,
                "datasource": source,
                "expr": query.replace("JOB", &job),
                "legendFormat": legend,
            })
        });
        json!({
            "id": index + 1,
            "type": "timeseries",
            "title": title,
            "datasource": source,
            "gridPos": {"x": column * WIDTH, "y": row * HEIGHT, "w": WIDTH, "h": HEIGHT},
            "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
            "targets": targets.collect::<Vec<_>>(),
        })
    });
    json!({
        "uid": format!("operator-{}", operator.config.name).chars().take(40).collect::<String>(),
        "title": format!("Operator {}", operator.config.name),
        "tags": ["operator"],
        "schemaVersion": SCHEMA,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [{
            "name": "source", "label": "Data source", "type": "datasource", "query": "prometheus",
        }]},
        "panels": panels.collect::<Vec<_>>(),
    })
}
