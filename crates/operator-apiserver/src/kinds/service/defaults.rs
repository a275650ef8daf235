//! The defaults of Services. Addresses are allocated elsewhere, when a Service is created.

use serde_json::{Value, json};

use crate::kinds::value::{items, set_if_empty, set_if_null};

pub(crate) fn set_defaults(object: &mut Value) {
    let spec = &mut object["spec"];
    set_if_empty(
        spec,
        &[
            ("sessionAffinity", json!("None")),
            ("type", json!("ClusterIP")),
        ],
    );
    let type_ = spec["type"].as_str().unwrap_or_default().to_owned();
    if spec["sessionAffinity"] == "ClientIP" {
        set_if_null(
            &mut spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"],
            10800,
        );
    } else if let Some(fields) = spec.as_object_mut() {
        fields.shift_remove("sessionAffinityConfig");
    }
    for port in items(spec, "ports") {
        set_if_empty(port, &[("protocol", json!("TCP"))]);
        if port["targetPort"].is_null() || port["targetPort"] == 0 || port["targetPort"] == "" {
            port["targetPort"] = port["port"].clone();
        }
    }
    if type_ != "ExternalName" {
        set_if_null(&mut spec["internalTrafficPolicy"], "Cluster");
    }
    let is_outside = match type_.as_str() {
        "NodePort" | "LoadBalancer" => true,
        "ClusterIP" => items(spec, "externalIPs").next().is_some(),
        _ => false,
    };
    if is_outside {
        set_if_null(&mut spec["externalTrafficPolicy"], "Cluster");
    }
    if type_ == "LoadBalancer" {
        set_if_null(&mut spec["allocateLoadBalancerNodePorts"], true);
        for place in items(&mut object["status"]["loadBalancer"], "ingress") {
            if place["ip"].as_str().is_some_and(|ip| !ip.is_empty()) {
                set_if_null(&mut place["ipMode"], "VIP");
            }
        }
    }
}
