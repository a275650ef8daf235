//! The addresses and node ports that are allocated to a new Service.

use serde_json::{Value, json};

use crate::kinds::allocations::Allocations;
use crate::model::json::items;
use crate::model::metadata::name;
use crate::model::{Cause, Failure, Kind, Result};

/// Rejects a Service without a name that needs an address, because addresses are recorded by name.
fn check_owner(kind: &Kind, service: &Value) -> Result<()> {
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

/// The fields of a Service that need an IP family which a cluster with only IPv4 does not have.
fn unknown_families(spec: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if spec["ipFamilyPolicy"] == "RequireDualStack" {
        let text = "Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services";
        causes.push(Cause::invalid("spec.ipFamilyPolicy", text));
    }
    let families = items(&spec["ipFamilies"]);
    for (at, family) in families.enumerate().filter(|(_, it)| *it == "IPv6") {
        let text = format!("Invalid value: {family}: not configured on this cluster");
        causes.push(Cause::invalid(format!("spec.ipFamilies[{at}]"), text));
    }
    causes
}

fn drop_nulls(spec: &mut Value) {
    if let Some(spec) = spec.as_object_mut() {
        spec.retain(|_, value| !value.is_null());
    }
}

/// Whether load balancers check the health of nodes on a separate port.
pub(crate) fn needs_health_port(spec: &Value) -> bool {
    spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local"
}

fn wants_node_ports(spec: &Value) -> bool {
    spec["type"] == "NodePort"
        || spec["type"] == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] != false
}

fn has_node_ports(spec: &Value) -> bool {
    spec["type"] == "NodePort" || spec["type"] == "LoadBalancer"
}

fn is_accessible(spec: &Value) -> bool {
    let addresses = spec["externalIPs"].as_array();
    has_node_ports(spec)
        || spec["type"] == "ClusterIP" && addresses.is_some_and(|it| !it.is_empty())
}

fn node_ports(spec: &Value) -> Vec<&Value> {
    let ports = items(&spec["ports"]);
    ports
        .map(|port| &port["nodePort"])
        .filter(|port| !port.is_null())
        .collect()
}

/// Drops fields that are invalid for the new type of the Service, if they have not changed.
fn drop_of_other_type(live: &Value, spec: &mut Value) {
    let mut gone: Vec<&str> = Vec::new();
    if live["type"] != "ExternalName" && spec["type"] == "ExternalName" {
        gone.extend([
            "clusterIP",
            "clusterIPs",
            "ipFamilies",
            "ipFamilyPolicy",
            "internalTrafficPolicy",
        ]);
    }
    if live["type"] == "LoadBalancer" && spec["type"] != "LoadBalancer" {
        gone.extend(["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
    if is_accessible(live) && !is_accessible(spec) {
        gone.push("externalTrafficPolicy");
    }
    match (needs_health_port(live), needs_health_port(spec)) {
        (true, false) => gone.push("healthCheckNodePort"),
        (true, true) => {
            let port = live["healthCheckNodePort"].clone();
            spec["healthCheckNodePort"] = match spec["healthCheckNodePort"].take() {
                Value::Null => port,
                given => given,
            };
        }
        _ => {}
    }
    let has_new_port = {
        let before = node_ports(live);
        node_ports(spec).iter().any(|port| !before.contains(port))
    };
    let Some(fields) = spec.as_object_mut() else {
        return;
    };
    for field in gone {
        if fields.get(field) == live.get(field) {
            fields.shift_remove(field);
        }
    }
    if has_node_ports(live) && !has_node_ports(spec) && !has_new_port {
        for port in spec["ports"].as_array_mut().into_iter().flatten() {
            port.as_object_mut()
                .map(|port| port.shift_remove("nodePort"));
        }
    }
}

/// Keeps the node port of each port that has no new one, by the name of the port, unless another port of the update uses the number.
fn keep_node_ports(live: &Value, spec: &mut Value) -> Result<()> {
    if !wants_node_ports(live) || !wants_node_ports(spec) {
        return Ok(());
    }
    let used: Vec<Value> = node_ports(spec).into_iter().cloned().collect();
    let mut given: Vec<(Value, Value)> = Vec::new();
    for port in spec["ports"].as_array_mut().into_iter().flatten() {
        let before = items(&live["ports"])
            .rfind(|other| other["name"] == port["name"])
            .map(|other| other["nodePort"].clone());
        if port["nodePort"].is_null()
            && let Some(before) = before.filter(|it| !used.contains(it))
        {
            port["nodePort"] = before;
        }
        let pair = (port["protocol"].clone(), port["nodePort"].clone());
        if !pair.1.is_null() && given.contains(&pair) {
            let protocol = pair.0.as_str().unwrap_or_default();
            let why = format!("duplicate nodePort: {{{protocol} {}}}", pair.1);
            return Err(Failure::without_reason(why));
        }
        given.push(pair);
    }
    Ok(())
}

/// Allocates the missing addresses and ports of a new or changed Service, and releases those that its type does not need.
pub(crate) fn allocate(
    allocations: &mut Allocations,
    (kind, is_dry_run): (&Kind, bool),
    live: Option<&Value>,
    object: &mut Value,
) -> Result<()> {
    if live.is_none() && !is_dry_run {
        check_owner(kind, object)?;
    }
    let spec = &mut object["spec"];
    if let Some(live) = live {
        drop_of_other_type(&live["spec"], spec);
        keep_node_ports(&live["spec"], spec)?;
        if live["spec"]["type"] == "LoadBalancer" && spec["type"] != "LoadBalancer" {
            object["status"]["loadBalancer"] = json!({});
        }
    }
    let spec = &mut object["spec"];
    if spec["type"] == "ExternalName" {
        if spec["clusterIPs"].is_null() && !spec["clusterIP"].is_null() {
            spec["clusterIPs"] = json!([spec["clusterIP"]]);
        }
        drop_nulls(spec);
        return Ok(());
    }
    for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        let before = live
            .map(|live| live["spec"][field].clone())
            .unwrap_or_default();
        if spec[field].is_null() && !before.is_null() {
            spec[field] = before;
        }
    }
    if let Some(live) = live.map(|live| &live["spec"])
        && live["clusterIP"] != spec["clusterIP"]
        && live["clusterIPs"] == spec["clusterIPs"]
        && live["clusterIP"].is_string()
    {
        spec["clusterIPs"] = json!([spec["clusterIP"]]);
    }
    if spec["clusterIP"].is_null() {
        // the first address is that of the Service `kubernetes`
        let [_, _, c, d] = (allocations.next() + 1).to_be_bytes();
        spec["clusterIP"] = format!("10.0.{c}.{d}").into();
    }
    if spec["clusterIPs"].is_null() {
        spec["clusterIPs"] = json!([spec["clusterIP"]]);
    }
    let is_headless = spec["clusterIP"] == "None";
    let has_selector = spec["selector"].as_object().is_some_and(|s| !s.is_empty());
    // a headless Service without a selector may have endpoints of any family
    let policy = if is_headless && !has_selector {
        ("RequireDualStack", json!(["IPv4", "IPv6"]))
    } else {
        ("SingleStack", json!(["IPv4"]))
    };
    if spec["ipFamilyPolicy"].is_null() {
        spec["ipFamilyPolicy"] = policy.0.into();
    }
    if spec["ipFamilies"].is_null() {
        spec["ipFamilies"] = policy.1;
    }
    if !is_headless || has_selector {
        let causes = unknown_families(spec);
        if !causes.is_empty() {
            return Err(Failure::invalid(kind, name(object), causes));
        }
    }
    let spec = &mut object["spec"];
    let wants_ports = wants_node_ports(spec);
    for port in spec["ports"].as_array_mut().into_iter().flatten() {
        if wants_ports && port["nodePort"].is_null() {
            port["nodePort"] = allocations.next_port().into();
        }
    }
    if needs_health_port(spec) && spec["healthCheckNodePort"].is_null() {
        spec["healthCheckNodePort"] = allocations.next_port().into();
    }
    drop_nulls(spec);
    Ok(())
}
