//! `[monitoring]` of `operator.toml`.

use serde::Deserialize;

/// How the operator is monitored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Monitoring {
    /// Whether there are a ServiceMonitor and alerts for the Prometheus operator, and a dashboard for Grafana.
    pub prometheus: bool,
    /// Whether the metrics are served over TLS, and only to clients that the API server permits to read them.
    pub protected: bool,
}
