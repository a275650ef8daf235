//! The alerts: few, and each with a page that says what to do.

use serde_json::{Value, json};

use super::job;
use crate::operator::Operator;

/// The page with a section for each alert.
const RUNBOOKS: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/runbooks.md");

/// An alert of every operator, or of those with webhooks.
struct Alert {
    name: &'static str,
    /// The PromQL expression. `JOB` stands for the matcher of the operator's job, and `SECONDS` for the time before a certificate expires.
    query: &'static str,
    /// How long the query must have results before the alert fires.
    after: &'static str,
    severity: &'static str,
    summary: &'static str,
    needs_webhooks: bool,
}

const ALERTS: [Alert; 7] = [
    Alert {
        name: "OperatorDown",
        // an average, because `up` of a replica that crashes again and again is 1 at times
        query: "(max(avg_over_time(up{JOB}[15m])) or vector(0)) < 0.5",
        after: "5m",
        severity: "critical",
        summary: "no replica of the operator answers",
        needs_webhooks: false,
    },
    Alert {
        name: "OperatorWithoutLeader",
        // a paused operator has no leader on purpose; if it was already paused an hour ago, the pause may have been forgotten
        query: "max(leader_election_master_status{JOB}) == 0 unless (max(operator_paused{JOB}) == 1 unless max(operator_paused{JOB} offset 1h) == 1)",
        after: "5m",
        severity: "critical",
        summary: "no replica of the operator works",
        needs_webhooks: false,
    },
    Alert {
        name: "OperatorObjectsFail",
        query: "sum by (controller) (operator_failing_objects{JOB}) > 0 or sum by (controller) (operator_undecodable_objects{JOB}) > 0",
        after: "30m",
        severity: "warning",
        summary: "{{ $value }} objects of {{ $labels.controller }} fail",
        needs_webhooks: false,
    },
    Alert {
        name: "OperatorReconciliationHangs",
        query: "max by (controller) (workqueue_longest_running_processor_seconds{JOB}) > 900",
        after: "5m",
        severity: "warning",
        summary: "a reconciliation of {{ $labels.controller }} has run for {{ $value | humanizeDuration }}",
        needs_webhooks: false,
    },
    Alert {
        name: "OperatorCannotWatch",
        query: "sum by (controller, group, kind) (increase(operator_watch_errors_total{JOB}[5m])) > 3",
        after: "15m",
        severity: "warning",
        summary: "{{ $labels.controller }} cannot watch {{ $labels.kind }}",
        needs_webhooks: false,
    },
    Alert {
        name: "OperatorWebhookFails",
        // the part after `or`: no replica has a certificate, so none serves webhooks
        query: "sum by (webhook) (rate(operator_webhook_failures_total{JOB}[5m])) > 0 or max(operator_webhook_certificate_expiry_seconds{JOB}) == 0",
        after: "10m",
        severity: "critical",
        summary: "the webhook {{ $labels.webhook }} fails",
        needs_webhooks: true,
    },
    Alert {
        name: "OperatorCertificateExpires",
        query: "min(operator_webhook_certificate_expiry_seconds{JOB} > 0) - time() < SECONDS",
        after: "1h",
        severity: "critical",
        summary: "the certificate of the webhooks expires in {{ $value | humanizeDuration }}",
        needs_webhooks: true,
    },
];

/// A week, or a quarter of a certificate's lifetime if that is shorter. Both are later than the renewal, when a third of it is left.
fn seconds_before_expiry(operator: &Operator<'_>) -> i64 {
    const WEEK: i64 = 7 * 86400;
    let lifetime = operator.config.deployment.duration(
        "--webhook-certificate-lifetime",
        "WEBHOOK_CERTIFICATE_LIFETIME",
    );
    lifetime.map_or(WEEK, |lifetime| WEEK.min(lifetime.as_secs() / 4))
}

/// The alerts as rules of a PrometheusRule.
pub fn rules(operator: &Operator<'_>) -> Vec<Value> {
    let job = job(operator);
    let seconds = seconds_before_expiry(operator).to_string();
    let has_webhooks = operator.has_webhooks();
    ALERTS
        .iter()
        .filter(|it| has_webhooks || !it.needs_webhooks)
        .map(|alert| {
            let section = alert.name.to_lowercase();
            json!({
                "alert": alert.name,
                "expr": alert.query.replace("JOB", &job).replace("SECONDS", &seconds),
                "for": alert.after,
                "labels": {"severity": alert.severity, "operator": operator.config.name},
                "annotations": {
                    "summary": format!("{}: {}", operator.config.name, alert.summary),
                    "runbook_url": format!("{RUNBOOKS}#{section}"),
                },
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_alert_has_a_section_in_the_runbooks() {
        let text = include_str!("../../../docs/runbooks.md");
        let sections = text.lines().filter_map(|line| line.strip_prefix("## "));
        assert_eq!(sections.collect::<Vec<_>>(), ALERTS.map(|it| it.name));
    }
}
