//! The queries of [kubebuilder's Grafana dashboards](https://book.kubebuilder.io/plugins/available/grafana-v1-alpha) find their metrics.
//!
//! The labels `job`, `namespace`, `pod` and `instance` are not here: Prometheus adds them to what it scrapes. All of the dashboards'
//! queries are listed; none is about Go.

use crate::support::*;

use std::{sync::Arc, time::Duration};

use operator_runtime::Settings;

/// The metric of each query, and the labels by which it groups: `controller-runtime-metrics.json`, then `controller-resources-metrics.json`
/// and the variables of both, which are also those of `custom-metrics`.
const QUERIES: [(&str, &[&str]); 15] = [
    ("controller_runtime_active_workers", &["controller"]),
    ("controller_runtime_reconcile_total", &[]),
    ("controller_runtime_reconcile_errors_total", &[]),
    ("workqueue_depth", &["name"]),
    ("workqueue_queue_duration_seconds_bucket", &["name", "le"]),
    ("workqueue_adds_total", &["name"]),
    ("workqueue_unfinished_work_seconds", &["name"]),
    ("workqueue_work_duration_seconds_bucket", &["name", "le"]),
    ("workqueue_retries_total", &["name"]),
    ("process_cpu_seconds_total", &[]),
    ("process_resident_memory_bytes", &[]),
    // Others that alerts use, or that controller-runtime exports.
    (
        "controller_runtime_reconcile_time_seconds_bucket",
        &["controller", "le"],
    ),
    (
        "controller_runtime_max_concurrent_reconciles",
        &["controller"],
    ),
    ("rest_client_requests_total", &["code", "host", "method"]),
    ("leader_election_master_status", &["name"]),
];

/// The samples of a metric as pairs of labels and value.
fn samples<'a>(page: &'a str, metric: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
    page.lines().filter_map(move |line| {
        let rest = line.strip_prefix(metric)?;
        let (labels, value) = rest.rsplit_once(' ')?;
        let is_other = !labels.is_empty() && !labels.starts_with('{');
        (!is_other).then(|| (labels, value.parse().unwrap()))
    })
}

fn has(labels: &str, label: &str) -> bool {
    let [first, later] = ["{", ","].map(|before| format!("{before}{label}=\""));
    labels.contains(&first) || labels.contains(&later)
}

async fn value(running: &Running, metric: &str, filter: &str) -> f64 {
    let (_, page) = running.page("/metrics").await;
    samples(&page, metric)
        .filter(|(labels, _)| labels.contains(filter))
        .map(|(_, value)| value)
        .sum()
}

#[tokio::test]
async fn every_query_of_kubebuilders_dashboards_finds_its_metric() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let mut settings = Settings::for_tests();
    settings.concurrency = 2.try_into().unwrap();
    let running = Running::start(server.client(), settings, widgets::<true>(&calls)).await;
    create(&server, "fine", "ok").await;
    ready(&server, "fine").await;
    create(&server, "failing", "fail").await;
    create(&server, "odd", "permanent").await;
    event(&server, "odd", "PermanentError").await;
    server
        .eventually("it is retried", async || {
            (value(&running, "workqueue_retries_total", "").await >= 2.0).then_some(())
        })
        .await;

    let (_, page) = running.page("/metrics").await;
    for (metric, labels) in QUERIES {
        let found =
            samples(&page, metric).find(|(found, _)| labels.iter().all(|label| has(found, label)));
        assert!(found.is_some(), "no {metric} {labels:?} in\n{page}");
    }
    for (metric, labels) in [
        (
            "controller_runtime_reconcile_total",
            r#"controller="widget",result="success""#,
        ),
        ("controller_runtime_reconcile_total", r#"result="error""#),
        ("controller_runtime_reconcile_errors_total", ""),
        ("controller_runtime_terminal_reconcile_errors_total", ""),
        ("controller_runtime_reconcile_time_seconds_count", ""),
        ("workqueue_adds_total", r#"name="widget""#),
        ("workqueue_queue_duration_seconds_count", r#"name="widget""#),
        (
            "workqueue_work_duration_seconds_bucket",
            r#"le="+Inf",name="widget""#,
        ),
        (
            "rest_client_requests_total",
            r#"code="200",host="",method="PATCH""#,
        ),
        ("rest_client_requests_total", r#"method="GET""#),
        ("process_resident_memory_bytes", ""),
    ] {
        let sum: f64 = samples(&page, metric)
            .filter(|(found, _)| found.contains(labels))
            .map(|(_, value)| value)
            .sum();
        assert!(sum > 0.0, "{metric}{{{labels}}} is {sum} in\n{page}");
    }
    let leader = r#"leader_election_master_status{name="widget-operator"}"#;
    assert_eq!(running.metric(leader).await, Some(1.0));
}

#[tokio::test]
async fn saturated_workers_show_in_the_depth_of_the_queue() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let mut settings = Settings::for_tests();
    settings.concurrency = 2.try_into().unwrap();
    let running = Running::start(server.client(), settings, widgets::<false>(&calls)).await;
    for name in ["a", "b", "c", "d", "e"] {
        create(&server, name, "hang").await;
    }
    server
        .eventually("two hang, and the others wait", async || {
            let depth = value(&running, "workqueue_depth", r#"controller="widget""#).await;
            let active = value(&running, "controller_runtime_active_workers", "").await;
            (depth == 3.0 && active == 2.0).then_some(())
        })
        .await;
    let workers = value(&running, "controller_runtime_max_concurrent_reconciles", "").await;
    assert_eq!(workers, 2.0);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let unfinished = value(&running, "workqueue_unfinished_work_seconds", "").await;
    let longest = value(&running, "workqueue_longest_running_processor_seconds", "").await;
    assert!(
        longest > 0.2 && unfinished > longest,
        "{longest} of {unfinished}"
    );
}
