//! The network policy of the operator, and the Service that exposes its metrics.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer,
    NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::deployment::{METRICS, ports};
use super::webhook;
use super::{Object, Operator, Role};

/// The usual ports of the API server, for the `kubernetes` Service and its endpoints. Its address depends on the cluster.
const API_SERVER_PORTS: [i32; 2] = [443, 6443];

/// Allows ingress to the metrics port from pods, and to the webhooks from anywhere, because API servers are often not in the pod network;
/// and egress to DNS and to the API server.
pub(super) fn policy(operator: &Operator<'_>) -> Object {
    let any_pod = NetworkPolicyPeer {
        namespace_selector: Some(LabelSelector::default()),
        ..NetworkPolicyPeer::default()
    };
    let ingress = |from, name: &str| NetworkPolicyIngressRule {
        from,
        ports: Some(vec![port("TCP", IntOrString::String(name.to_owned()))]),
    };
    let metrics = ingress(Some(vec![any_pod.clone()]), METRICS);
    let webhooks = operator
        .has_webhooks()
        .then(|| ingress(None, webhook::PORT_NAME));
    let ingress = std::iter::once(metrics).chain(webhooks);
    let policy = NetworkPolicy {
        metadata: operator.metadata(&operator.config.name),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(operator.selector()),
            policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
            ingress: Some(ingress.collect()),
            egress: Some(vec![
                NetworkPolicyEgressRule {
                    to: Some(vec![any_pod]),
                    ports: Some(
                        ["UDP", "TCP"]
                            .map(|it| port(it, IntOrString::Int(53)))
                            .into(),
                    ),
                },
                NetworkPolicyEgressRule {
                    to: None,
                    ports: Some(
                        API_SERVER_PORTS
                            .map(|it| port("TCP", IntOrString::Int(it)))
                            .into(),
                    ),
                },
            ]),
        }),
    };
    Object::new(Role::NetworkPolicy, policy)
}

/// The Service of the metrics.
pub(super) fn metrics(operator: &Operator<'_>) -> Object {
    let ports = ports(operator)
        .into_iter()
        .filter(|(name, _)| *name == METRICS)
        .map(|(name, port)| ServicePort {
            name: Some(name.to_owned()),
            port,
            target_port: Some(IntOrString::String(name.to_owned())),
            ..ServicePort::default()
        });
    let service = Service {
        metadata: operator.metadata(format!("{}-metrics", operator.config.name)),
        spec: Some(ServiceSpec {
            selector: Some(operator.pod_labels()),
            ports: Some(ports.collect()),
            ..ServiceSpec::default()
        }),
        status: None,
    };
    Object::new(Role::Metrics, service)
}

fn port(protocol: &str, port: IntOrString) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol.to_owned()),
        port: Some(port),
        end_port: None,
    }
}
