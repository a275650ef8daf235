//! The addresses and node ports that a Service is given when it is made.

use serde_json::{Value, json};

use super::State;
use super::kind::Kind;
use super::metadata::name;
use super::status::{Cause, Failure, Result};
use super::store::Key;

/// Refuses a Service without a name that is to get an address: an address belongs to someone.
pub(crate) fn check_owner(kind: &Kind, service: &Value) -> Result<()> {
    let spec = &service["spec"];
    let given = spec["clusterIP"].as_str().unwrap_or_default();
    if !name(service).is_empty() || spec["type"] == "ExternalName" || given == "None" {
        return Ok(());
    }
    let (which, address) = match given {
        "" => (String::new(), "10.0.0.2"),
        given => (format!(" {given}"), given),
    };
    let why = format!(
        "Invalid value: {}: failed to allocate IP{which}: IPAddress.networking.k8s.io {address:?} is invalid: spec.parentRef.name: Required value",
        json!([given])
    );
    let cause = Cause::invalid("spec.clusterIPs", why);
    Err(Failure::invalid(kind, "", vec![cause]))
}

impl State {
    /// The Service by which pods reach the server itself.
    pub(crate) fn found_service(&mut self) {
        let key = Key {
            plural: "services".into(),
            namespace: "default".into(),
            name: "kubernetes".into(),
            ..Key::default()
        };
        let object = json!({
            "kind": "Service",
            "apiVersion": "v1",
            "metadata": {
                "name": "kubernetes",
                "namespace": "default",
                "labels": {"component": "apiserver", "provider": "kubernetes"},
            },
            "spec": {
                "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
                "clusterIP": "10.0.0.1",
                "clusterIPs": ["10.0.0.1"],
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
                "internalTrafficPolicy": "Cluster",
            },
            "status": {"loadBalancer": {}},
        });
        self.found(key, object);
    }

    /// Gives a new or changed Service what it asks for and does not have.
    pub(crate) fn allocate(&mut self, live: Option<&Value>, object: &mut Value) {
        let spec = &mut object["spec"];
        let type_ = spec["type"].as_str().unwrap_or_default().to_owned();
        if type_ == "ExternalName" {
            return;
        }
        for field in [
            "clusterIP",
            "clusterIPs",
            "ipFamilies",
            "ipFamilyPolicy",
            "healthCheckNodePort",
        ] {
            let before = live
                .map(|live| live["spec"][field].clone())
                .unwrap_or_default();
            if spec[field].is_null() && !before.is_null() {
                spec[field] = before;
            }
        }
        if spec["clusterIP"].is_null() {
            self.allocated += 1;
            let [_, _, c, d] = (self.allocated + 1).to_be_bytes();
            spec["clusterIP"] = format!("10.0.{c}.{d}").into();
        }
        if spec["clusterIPs"].is_null() {
            spec["clusterIPs"] = json!([spec["clusterIP"]]);
        }
        let is_headless = spec["clusterIP"] == "None";
        let has_selector = spec["selector"].as_object().is_some_and(|s| !s.is_empty());
        let policy = match is_headless && !has_selector {
            true => ("RequireDualStack", json!(["IPv4", "IPv6"])),
            false => ("SingleStack", json!(["IPv4"])),
        };
        if spec["ipFamilyPolicy"].is_null() {
            spec["ipFamilyPolicy"] = policy.0.into();
        }
        if spec["ipFamilies"].is_null() {
            spec["ipFamilies"] = policy.1;
        }
        let wants_ports = type_ == "NodePort"
            || type_ == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] != false;
        for port in spec["ports"].as_array_mut().into_iter().flatten() {
            if wants_ports && port["nodePort"].is_null() {
                self.allocated += 1;
                port["nodePort"] = (30_000 + self.allocated % 2768).into();
            }
        }
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|_, value| !value.is_null());
        }
    }
}
