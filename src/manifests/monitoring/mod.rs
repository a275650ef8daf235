//! Objects that monitor the operator: a ServiceMonitor and alerts for the Prometheus operator, and a dashboard for Grafana.
//! <https://prometheus-operator.dev/docs/api-reference/api/>

mod alert;
mod dashboard;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::deployment::METRICS;
use super::rbac::cluster_role;
use super::rule::{normalize, rule};
use super::{NAME_LABEL, Object, Operator, Role};

const GROUP: &str = "monitoring.coreos.com";

/// The label by which Grafana's sidecar finds dashboards:
/// <https://github.com/grafana/helm-charts/tree/main/charts/grafana#sidecar-for-dashboards>
const DASHBOARD_LABEL: &str = "grafana_dashboard";

/// The path of the token in the pod of Prometheus.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// The objects; none unless the project asks for them.
pub(super) fn objects(operator: &Operator<'_>) -> Vec<Object> {
    let mut objects = vec![];
    if operator.config.monitoring.protected {
        objects.extend(protection(operator));
    }
    if operator.config.monitoring.prometheus {
        objects.extend(prometheus(operator));
    }
    objects
}

/// The permissions to ask who reads the metrics, and the role of those who may, which the administrator of Prometheus binds.
fn protection(operator: &Operator<'_>) -> [Object; 3] {
    let [role, binding] = cluster_role(
        operator,
        Role::MetricsPermissions,
        format!("{}-metrics", operator.config.name),
        normalize(review_rules()),
    );
    let reader = ClusterRole {
        metadata: ObjectMeta {
            name: Some(format!("{}-metrics-reader", operator.config.name)),
            ..operator.cluster_metadata()
        },
        rules: Some(vec![PolicyRule {
            non_resource_urls: Some(vec!["/metrics".to_owned()]),
            verbs: vec!["get".to_owned()],
            ..PolicyRule::default()
        }]),
        aggregation_rule: None,
    };
    [role, binding, Object::new(Role::MetricsReader, reader)]
}

/// The rules for an operator with protected metrics.
pub fn review_rules() -> [PolicyRule; 2] {
    [
        rule("authentication.k8s.io", &["tokenreviews"], &["create"]),
        rule(
            "authorization.k8s.io",
            &["subjectaccessreviews"],
            &["create"],
        ),
    ]
}

/// The ServiceMonitor, the alerts and the dashboard.
fn prometheus(operator: &Operator<'_>) -> Vec<Object> {
    let object = |role, kind: &str, spec: Value| Object {
        role,
        value: json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": kind,
            "metadata": operator.metadata(&operator.config.name),
            "spec": spec,
        }),
        settings: vec![],
    };
    let mut endpoint = json!({"port": METRICS});
    if operator.config.monitoring.protected {
        endpoint["scheme"] = "https".into();
        endpoint["bearerTokenFile"] = TOKEN.into();
        // the operator signs this certificate itself
        endpoint["tlsConfig"] = json!({"insecureSkipVerify": true});
    }
    let monitor =
        json!({"selector": operator.selector(), "endpoints": [endpoint], "jobLabel": NAME_LABEL});
    let group = json!({"name": operator.config.name, "rules": alert::rules(operator)});
    vec![
        object(Role::ServiceMonitor, "ServiceMonitor", monitor),
        object(Role::Alerts, "PrometheusRule", json!({"groups": [group]})),
        Object::new(Role::Dashboard, config_map(operator)),
    ]
}

/// The dashboard in a ConfigMap with the label by which Grafana finds it.
fn config_map(operator: &Operator<'_>) -> ConfigMap {
    let dashboard = serde_json::to_string_pretty(&dashboard::dashboard(operator))
        .expect("values with string keys");
    let mut labels = operator.labels();
    labels.insert(DASHBOARD_LABEL.to_owned(), "1".to_owned());
    ConfigMap {
        metadata: ObjectMeta {
            labels: Some(labels),
            ..operator.metadata(format!("{}-dashboard", operator.config.name))
        },
        data: Some([(format!("{}.json", operator.config.name), dashboard)].into()),
        ..ConfigMap::default()
    }
}

/// The matcher for the job of the operator's metrics. The ServiceMonitor takes the job from a label, because its default is the name of the
/// Service, which an overlay may change.
fn job(operator: &Operator<'_>) -> String {
    format!("job=\"{}\"", operator.config.name)
}

/// The CRDs of the Prometheus operator, for tests; they accept everything.
pub fn prometheus_crds() -> Vec<Value> {
    let kinds = [
        ("PrometheusRule", "prometheusrules"),
        ("ServiceMonitor", "servicemonitors"),
    ];
    kinds
        .map(|(kind, plural)| super::certificate::lenient_crd(GROUP, kind, plural))
        .into()
}
