//! The containers of a pod.

use serde_json::Value;

use super::{probe, variable};
use crate::go::quantity;
use crate::kinds::rule::field::{
    bad_port_name, between, invalid, is_empty, list, named, number, one_of, refuse, text,
};
use crate::model::json::entries;
use crate::model::{Cause, name};

/// Checks containers and init containers; `volumes` are the volumes that they may mount.
pub(crate) fn check(spec: &Value, path: &str, volumes: &[&str], causes: &mut Vec<Cause>) {
    let grace = spec["terminationGracePeriodSeconds"].as_i64();
    if is_empty(&spec["containers"]) {
        causes.push(Cause::required(format!("{path}.containers"), ""));
    }
    let mut names: Vec<&str> = Vec::new();
    for (at, container) in list(spec, "containers").iter().enumerate() {
        let path = format!("{path}.containers[{at}]");
        let name = text(container, "name");
        common(container, &path, volumes, causes);
        if names.contains(&name) {
            causes.push(Cause::duplicate(format!("{path}.name"), name));
        }
        names.push(name);
        probe::check(container, grace, &path, causes);
    }
    host_ports(
        list(spec, "containers"),
        &format!("{path}.containers"),
        causes,
    );
    for (at, container) in list(spec, "initContainers").iter().enumerate() {
        let path = format!("{path}.initContainers[{at}]");
        let name = text(container, "name");
        common(container, &path, volumes, causes);
        if names.contains(&name) {
            causes.push(Cause::duplicate(format!("{path}.name"), name));
        } else if !name.is_empty() {
            names.push(name);
        }
        if container["restartPolicy"] == "Always" {
            probe::check(container, grace, &path, causes);
        } else {
            let fields = [
                "lifecycle",
                "livenessProbe",
                "readinessProbe",
                "startupProbe",
            ];
            let given = fields.iter().filter(|field| !container[**field].is_null());
            let why = "may not be set for init containers without restartPolicy=Always";
            causes.extend(given.map(|field| Cause::forbidden(format!("{path}.{field}"), why)));
        }
    }
}

/// Checks what containers and init containers have in common.
fn common(container: &Value, path: &str, volumes: &[&str], causes: &mut Vec<Cause>) {
    named(&format!("{path}.name"), text(container, "name"), causes);
    if is_empty(&container["image"]) {
        causes.push(Cause::required(format!("{path}.image"), ""));
    }
    one_of(
        &format!("{path}.terminationMessagePolicy"),
        &container["terminationMessagePolicy"],
        &["File", "FallbackToLogsOnError"],
        causes,
    );
    ports(container, path, causes);
    for (at, variable) in list(container, "env").iter().enumerate() {
        variable::check(variable, &format!("{path}.env[{at}]"), causes);
    }
    for (at, source) in list(container, "envFrom").iter().enumerate() {
        variable::from_object(source, &format!("{path}.envFrom"), at, causes);
    }
    mounts(container, path, volumes, causes);
    let known = ["Always", "IfNotPresent", "Never"];
    let field = format!("{path}.imagePullPolicy");
    one_of(&field, &container["imagePullPolicy"], &known, causes);
    resources(
        &container["resources"],
        &format!("{path}.resources"),
        causes,
    );
    users(
        &container["securityContext"],
        &format!("{path}.securityContext"),
        &["runAsUser", "runAsGroup"],
        causes,
    );
}

/// Checks the ids of users and groups.
pub(crate) fn users(context: &Value, path: &str, fields: &[&str], causes: &mut Vec<Cause>) {
    for field in fields {
        if let Some(id) = context[*field].as_i64() {
            let most = i64::from(i32::MAX);
            between(&format!("{path}.{field}"), id, 0, most, causes);
        }
    }
}

fn ports(container: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut names: Vec<&str> = Vec::new();
    for (at, port) in list(container, "ports").iter().enumerate() {
        let path = format!("{path}.ports[{at}]");
        let (name, field) = (text(port, "name"), format!("{path}.name"));
        if !name.is_empty() {
            let wrong = bad_port_name(name);
            if wrong.is_empty() && names.contains(&name) {
                causes.push(Cause::duplicate(&field, name));
            } else if wrong.is_empty() {
                names.push(name);
            }
            refuse(&field, name, wrong, causes);
        }
        match number(port, "containerPort") {
            0 => causes.push(Cause::required(format!("{path}.containerPort"), "")),
            number => between(&format!("{path}.containerPort"), number, 1, 65535, causes),
        }
        if number(port, "hostPort") != 0 {
            let number = number(port, "hostPort");
            between(&format!("{path}.hostPort"), number, 1, 65535, causes);
        }
        one_of(
            &format!("{path}.protocol"),
            &port["protocol"],
            &["SCTP", "TCP", "UDP"],
            causes,
        );
    }
}

/// Checks that no two containers use the same host port.
fn host_ports(containers: &[Value], path: &str, causes: &mut Vec<Cause>) {
    let mut taken: Vec<String> = Vec::new();
    for (at, container) in containers.iter().enumerate() {
        for (port_at, port) in list(container, "ports").iter().enumerate() {
            let (host_port, protocol) = (number(port, "hostPort"), text(port, "protocol"));
            let place = format!("{protocol}/{}/{host_port}", text(port, "hostIP"));
            if host_port != 0 && taken.contains(&place) {
                let field = format!("{path}[{at}].ports[{port_at}].hostPort");
                causes.push(Cause::duplicate(field, &place));
            }
            taken.push(place);
        }
    }
}

fn mounts(container: &Value, path: &str, volumes: &[&str], causes: &mut Vec<Cause>) {
    let mut places: Vec<&str> = Vec::new();
    for (at, mount) in list(container, "volumeMounts").iter().enumerate() {
        let path = format!("{path}.volumeMounts[{at}]");
        let (name, place) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        }
        if !volumes.contains(&name) {
            causes.push(Cause {
                reason: "FieldValueNotFound",
                message: format!("Not found: {name:?}"),
                field: format!("{path}.name"),
            });
        }
        let field = format!("{path}.mountPath");
        if place.is_empty() {
            causes.push(Cause::required(&field, ""));
        }
        if places.contains(&place) {
            causes.push(invalid(field, format!("{place:?}"), "must be unique"));
        }
        places.push(place);
    }
}

fn resources(resources: &Value, path: &str, causes: &mut Vec<Cause>) {
    for part in ["limits", "requests"] {
        for (resource, amount) in entries(&resources[part]) {
            let amount = amount.as_str().unwrap_or_default();
            let field = format!("{path}.{part}[{resource}]");
            resource_name(resource, &field, causes);
            if amount.starts_with('-') {
                let why = "must be greater than or equal to 0";
                causes.push(invalid(field, format!("{amount:?}"), why));
            }
            let limit = text(&resources["limits"], resource);
            if part == "requests" && !limit.is_empty() && quantity::is_more(amount, limit) {
                let why = format!("must be less than or equal to {resource} limit of {limit}");
                let field = format!("{path}.requests");
                causes.push(invalid(field, format!("{amount:?}"), why));
            }
        }
    }
}

/// Checks the name of a resource. A standard name that is not for containers has one violation, another name without a domain has two.
fn resource_name(resource: &str, field: &str, causes: &mut Vec<Cause>) {
    let before = causes.len();
    refuse(field, resource, name::bad_label_key(resource), causes);
    let found = format!("{resource:?}");
    let of_containers = ["cpu", "memory", "ephemeral-storage"];
    let is_page = resource.starts_with("hugepages-");
    if resource.contains('/') || is_page || of_containers.contains(&resource) {
        return;
    }
    if causes.len() == before && !is_standard(resource) {
        let why = "must be a standard resource type or fully qualified";
        causes.push(invalid(field, &found, why));
    }
    let why = "must be a standard resource for containers";
    causes.push(invalid(field, found, why));
}

/// Resource names without a domain that are valid, but not for containers.
fn is_standard(resource: &str) -> bool {
    let (stem, kind) = match resource.split_once('.') {
        Some(("requests" | "limits", kind)) => ("", kind),
        _ => (resource, ""),
    };
    matches!(kind, "cpu" | "memory" | "ephemeral-storage" | "storage")
        || matches!(
            stem,
            "storage"
                | "pods"
                | "services"
                | "secrets"
                | "configmaps"
                | "resourcequotas"
                | "replicationcontrollers"
                | "persistentvolumeclaims"
        )
}
