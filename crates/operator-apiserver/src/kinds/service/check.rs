//! Validates Services, and warns about ignored fields.

use serde_json::{Value, json};

use super::address::needs_health_port;
use crate::kinds::rule::field::{
    between, duplicate, invalid, is_empty, label, labels, list, number, one_of, only, port, refuse,
    text,
};
use crate::model::{Cause, name};

pub(crate) fn check(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let first = &spec["clusterIPs"][0];
    if first.is_string() && *first != spec["clusterIP"] {
        let why = "first value must match `clusterIP`";
        causes.push(invalid("spec.clusterIPs", &spec["clusterIPs"], why));
    } else if let Some(live) = live {
        address(&live["spec"], spec, causes);
    }
    let kind = text(spec, "type");
    let is_headless = spec["clusterIPs"] == json!(["None"]);
    if list(spec, "ports").is_empty() && !is_headless && kind != "ExternalName" {
        causes.push(Cause::required("spec.ports", ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if is_headless => {
            let why = format!("may not be set to 'None' for {kind} services");
            causes.push(invalid("spec.clusterIPs[0]", "\"None\"", why));
        }
        "ExternalName" => external_name(spec, causes),
        _ => {}
    }
    ports(spec, causes);
    labels("spec.selector", &spec["selector"], causes);
    affinity(spec, causes);
    let known = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    one_of("spec.type", &spec["type"], &known, causes);
    unique_ports(spec, causes);
    if !is_empty(&spec["loadBalancerSourceRanges"]) && kind != "LoadBalancer" {
        let why = "may only be used when `type` is 'LoadBalancer'";
        causes.push(Cause::forbidden("spec.LoadBalancerSourceRanges", why));
    }
    if !spec["allocateLoadBalancerNodePorts"].is_null() && kind != "LoadBalancer" {
        let why = "may only be used when `type` is 'LoadBalancer'";
        causes.push(Cause::forbidden("spec.allocateLoadBalancerNodePorts", why));
    }
    traffic(spec, causes);
    class(live, spec, causes);
    if live.is_some_and(|live| live["spec"]["type"] == kind) {
        balancer(object, causes);
    }
}

/// The warnings about fields of a Service that are ignored or deprecated.
pub(crate) fn ignored(spec: &Value) -> Vec<&'static str> {
    let is_external_name = spec["type"] == "ExternalName";
    let has_externals = !list(spec, "externalIPs").is_empty();
    if is_external_name && has_externals {
        return vec!["spec.externalIPs is ignored when spec.type is \"ExternalName\""];
    }
    if spec["clusterIP"] != "None" {
        let why =
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
        return [why]
            .into_iter()
            .filter(|_| has_externals && !is_external_name)
            .collect();
    }
    let found = [
        (
            !is_empty(&spec["loadBalancerIP"]),
            "spec.loadBalancerIP is ignored for headless services",
        ),
        (
            has_externals,
            "spec.externalIPs is ignored for headless services",
        ),
        (
            spec["sessionAffinity"] != "None",
            "spec.SessionAffinity is ignored for headless services",
        ),
    ];
    let warnings = found.into_iter().filter(|(is_found, _)| *is_found);
    warnings.map(|(_, why)| why).collect()
}

/// Checks that the address of a Service does not change.
fn address(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let is_external_name = |spec: &Value| spec["type"] == "ExternalName";
    if is_external_name(old) || is_external_name(new) {
        return;
    }
    let (before, now) = (list(old, "clusterIPs"), list(new, "clusterIPs"));
    let why = "may not change once set";
    if before.len() == now.len() {
        let changed = (0..now.len()).filter(|at| before[*at] != now[*at]);
        let field = |at| format!("spec.clusterIPs[{at}]");
        causes.extend(changed.map(|at| invalid(field(at), &new["clusterIPs"], why)));
    } else if let (Some(before), Some(now)) = (before.first(), now.first())
        && before != now
    {
        causes.push(invalid("spec.clusterIPs[0]", &new["clusterIPs"], why));
    }
}

/// Checks a Service of type ExternalName.
fn external_name(spec: &Value, causes: &mut Vec<Cause>) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !is_empty(&spec[field]) {
            let why = "may not be set for ExternalName services";
            causes.push(Cause::forbidden(format!("spec.{field}"), why));
        }
    }
    let (found, field) = (text(spec, "externalName"), "spec.externalName");
    let name = found.strip_suffix('.').unwrap_or(found);
    if name.is_empty() {
        causes.push(Cause::required(field, ""));
    } else {
        refuse(field, name, name::bad_subdomain(name), causes);
    }
}

fn ports(spec: &Value, causes: &mut Vec<Cause>) {
    let ports = list(spec, "ports");
    let mut names: Vec<&str> = Vec::new();
    for (at, found) in ports.iter().enumerate() {
        let path = format!("spec.ports[{at}]");
        let (name, field) = (text(found, "name"), format!("{path}.name"));
        if name.is_empty() && ports.len() > 1 {
            causes.push(Cause::required(&field, ""));
        } else if !name.is_empty() {
            label(&field, name, causes);
            if names.contains(&name) {
                causes.push(Cause::duplicate(&field, name));
            }
        }
        names.push(name);
        let number = number(found, "port");
        between(&format!("{path}.port"), number, 1, 65535, causes);
        one_of(
            &format!("{path}.protocol"),
            &found["protocol"],
            &["SCTP", "TCP", "UDP"],
            causes,
        );
        port(&format!("{path}.targetPort"), &found["targetPort"], causes);
        let protocol = text(found, "appProtocol");
        if !found["appProtocol"].is_null() {
            let field = format!("{path}.appProtocol");
            refuse(&field, protocol, name::bad_label_key(protocol), causes);
        }
    }
}

fn affinity(spec: &Value, causes: &mut Vec<Cause>) {
    let (found, field) = (&spec["sessionAffinity"], "spec.sessionAffinity");
    one_of(field, found, &["ClientIP", "None"], causes);
    let config = &spec["sessionAffinityConfig"];
    if found == "None" && !config.is_null() {
        let why = "must not be set when session affinity is None";
        causes.push(Cause::forbidden("spec.sessionAffinityConfig", why));
    }
    let seconds = config["clientIP"]["timeoutSeconds"].as_i64();
    if let Some(seconds) = seconds.filter(|it| found == "ClientIP" && !(1..=86400).contains(it)) {
        let field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
        let why = "must be greater than 0 and less than 86400";
        causes.push(invalid(field, seconds, why));
    }
}

/// Checks that ports and node ports are unique, and that a Service of type ClusterIP has no node ports.
fn unique_ports(spec: &Value, causes: &mut Vec<Cause>) {
    let ports = list(spec, "ports");
    let of_nodes = |port: &Value| number(port, "nodePort");
    for (at, port) in ports.iter().enumerate() {
        if spec["type"] == "ClusterIP" && of_nodes(port) != 0 {
            let why = "may not be used when `type` is 'ClusterIP'";
            causes.push(Cause::forbidden(format!("spec.ports[{at}].nodePort"), why));
        }
    }
    let repeats = |at: usize, field: &str| {
        let same = |other: &Value| {
            other[field] == ports[at][field] && other["protocol"] == ports[at]["protocol"]
        };
        ports[..at].iter().any(same)
    };
    for (at, port) in ports.iter().enumerate() {
        if of_nodes(port) != 0 && repeats(at, "nodePort") {
            let field = format!("spec.ports[{at}].nodePort");
            causes.push(duplicate(field, &port["nodePort"]));
        }
    }
    for (at, port) in ports.iter().enumerate() {
        if repeats(at, "port") {
            let found = json!({
                "Name": "",
                "Protocol": port["protocol"],
                "AppProtocol": null,
                "Port": port["port"],
                "TargetPort": 0,
                "NodePort": 0,
            });
            causes.push(duplicate(format!("spec.ports[{at}]"), found));
        }
    }
}

fn traffic(spec: &Value, causes: &mut Vec<Cause>) {
    let kind = text(spec, "type");
    let is_outside = matches!(kind, "LoadBalancer" | "NodePort")
        || kind == "ClusterIP" && !is_empty(&spec["externalIPs"]);
    let (outer, field) = (&spec["externalTrafficPolicy"], "spec.externalTrafficPolicy");
    if is_outside {
        one_of(field, outer, &["Cluster", "Local"], causes);
    } else if !is_empty(outer) {
        let why = "may only be set for externally-accessible services";
        causes.push(invalid(field, outer, why));
    }
    let (health, field) = (
        number(spec, "healthCheckNodePort"),
        "spec.healthCheckNodePort",
    );
    if needs_health_port(spec) {
        between(field, health, 1, 65535, causes);
    } else if health != 0 {
        let why =
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        causes.push(invalid(field, health, why));
    }
    let (inner, field) = (&spec["internalTrafficPolicy"], "spec.internalTrafficPolicy");
    let needs_inner = matches!(kind, "LoadBalancer" | "NodePort" | "ClusterIP");
    if inner.is_null() && needs_inner {
        causes.push(Cause::required(field, ""));
    } else if !inner.is_null() {
        only(field, inner, &["Cluster", "Local"], causes);
    }
}

/// Checks the class of the load balancer.
fn class(live: Option<&Value>, spec: &Value, causes: &mut Vec<Cause>) {
    let (found, field) = (&spec["loadBalancerClass"], "spec.loadBalancerClass");
    let was_balanced = live.filter(|live| live["spec"]["type"] == "LoadBalancer");
    if was_balanced.is_some_and(|live| live["spec"]["loadBalancerClass"] != *found)
        && spec["type"] == "LoadBalancer"
    {
        causes.push(invalid(field, found, "may not change once set"));
    }
    let Some(found) = found.as_str() else {
        return;
    };
    if spec["type"] == "LoadBalancer" {
        refuse(field, found, name::bad_label_key(found), causes);
    } else {
        let why = "may only be used when `type` is 'LoadBalancer'";
        causes.push(Cause::forbidden(field, why));
    }
}

/// Checks the load balancer in the status.
fn balancer(object: &Value, causes: &mut Vec<Cause>) {
    const PATH: &str = "status.loadBalancer.ingress";
    let ingress = list(&object["status"]["loadBalancer"], "ingress");
    if !ingress.is_empty() && object["spec"]["type"] != "LoadBalancer" {
        let why = "may only be used when `spec.type` is 'LoadBalancer'";
        causes.push(Cause::forbidden(PATH, why));
        return;
    }
    for (at, place) in ingress.iter().enumerate() {
        let (has_address, mode) = (!is_empty(&place["ip"]), &place["ipMode"]);
        let field = format!("{PATH}[{at}].ipMode");
        match (mode.is_null(), has_address) {
            (true, true) => {
                causes.push(Cause::required(field, "must be specified when `ip` is set"));
            }
            (false, false) => {
                let why = "may not be specified when `ip` is not set";
                causes.push(Cause::forbidden(field, why));
            }
            (false, true) => only(&field, mode, &["Proxy", "VIP"], causes),
            (true, false) => {}
        }
        let host = text(place, "hostname");
        if !host.is_empty() {
            let field = format!("{PATH}[{at}].hostname");
            refuse(&field, host, name::bad_subdomain(host), causes);
        }
    }
}
