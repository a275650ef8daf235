//! The defaults of Services. Addresses are allocated elsewhere, when a Service is created.

use serde_json::{Value, json};

use crate::kinds::value::{absent, fields, items};

pub(crate) fn set_defaults(object: &mut Value) {
    let spec = &mut object["spec"];
    fields(
        spec,
        &[
            ("sessionAffinity", json!("None")),
            ("type", json!("ClusterIP")),
        ],
    );
    let type_ = spec["type"].as_str().unwrap_or_default().to_owned();
    if spec["sessionAffinity"] == "ClientIP" {
        absent(
            &mut spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"],
            10800,
        );
    } else if let Some(fields) = spec.as_object_mut() {
        fields.shift_remove("sessionAffinityConfig");
    }
    for port in items(spec, "ports") {
        fields(port, &[("protocol", json!("TCP"))]);
        if port["targetPort"].is_null() || port["targetPort"] == 0 || port["targetPort"] == "" {
            port["targetPort"] = port["port"].clone();
        }
    }
    if type_ != "ExternalName" {
        absent(&mut spec["internalTrafficPolicy"], "Cluster");
    }
    let is_outside = match type_.as_str() {
        "NodePort" | "LoadBalancer" => true,
        "ClusterIP" => items(spec, "externalIPs").next().is_some(),
        _ => false,
    };
    if is_outside {
        absent(&mut spec["externalTrafficPolicy"], "Cluster");
    }
    if type_ == "LoadBalancer" {
        absent(&mut spec["allocateLoadBalancerNodePorts"], true);
        for place in items(&mut object["status"]["loadBalancer"], "ingress") {
            if place["ip"].as_str().is_some_and(|ip| !ip.is_empty()) {
                absent(&mut place["ipMode"], "VIP");
            }
        }
    }
}
