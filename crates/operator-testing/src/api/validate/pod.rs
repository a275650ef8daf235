//! Pods and their templates.

use serde_json::Value;

use super::super::name;
use super::super::quantity;
use super::super::status::Cause;
use super::{is_empty, list, not_one_of, text};

/// Checks the spec of a pod that stands at `path`.
pub(super) fn check(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let volumes: Vec<&str> = list(spec, "volumes")
        .iter()
        .map(|v| text(v, "name"))
        .collect();
    for (at, volume) in volumes.iter().enumerate() {
        let field = format!("{path}.volumes[{at}].name");
        check_name(volume, &field, volumes[..at].contains(volume), causes);
    }
    if is_empty(&spec["containers"]) {
        causes.push(Cause::required(format!("{path}.containers"), ""));
    }
    let mut names: Vec<&str> = Vec::new();
    for containers in ["containers", "initContainers"] {
        for (at, container) in list(spec, containers).iter().enumerate() {
            let path = format!("{path}.{containers}[{at}]");
            let name = text(container, "name");
            check_name(name, &format!("{path}.name"), names.contains(&name), causes);
            names.push(name);
            check_container(container, &path, &volumes, causes);
        }
    }
    let field = format!("{path}.restartPolicy");
    not_one_of(
        &field,
        &spec["restartPolicy"],
        &["Always", "OnFailure", "Never"],
        causes,
    );
    let field = format!("{path}.dnsPolicy");
    let known = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    not_one_of(&field, &spec["dnsPolicy"], &known, causes);
    for (label, value) in spec["nodeSelector"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        let wrong = name::bad_label_key(label)
            .into_iter()
            .map(|wrong| (label.as_str(), wrong));
        let values = name::bad_label_value(value)
            .into_iter()
            .map(|wrong| (value, wrong));
        causes.extend(wrong.chain(values).map(|(what, wrong)| {
            Cause::invalid(
                format!("{path}.nodeSelector"),
                format!("Invalid value: {what:?}: {wrong}"),
            )
        }));
    }
    for (at, gate) in list(spec, "readinessGates").iter().enumerate() {
        let (field, found) = (
            format!("{path}.readinessGates[{at}].conditionType"),
            text(gate, "conditionType"),
        );
        for wrong in name::bad_label_key(found) {
            causes.push(Cause::invalid(
                &field,
                format!("Invalid value: {found:?}: {wrong}"),
            ));
        }
    }
    let deadline = spec["activeDeadlineSeconds"].as_i64();
    if let Some(seconds) = deadline.filter(|seconds| !(1..=i64::from(i32::MAX)).contains(seconds)) {
        let text = format!("Invalid value: {seconds}: must be between 1 and 2147483647, inclusive");
        causes.push(Cause::invalid(
            format!("{path}.activeDeadlineSeconds"),
            text,
        ));
    }
    for field in ["hostname", "subdomain"] {
        let found = text(spec, field);
        let wrong = name::bad_label(found)
            .into_iter()
            .filter(|_| !found.is_empty());
        causes.extend(wrong.map(|wrong| {
            Cause::invalid(
                format!("{path}.{field}"),
                format!("Invalid value: {found:?}: {wrong}"),
            )
        }));
    }
}

fn check_name(found: &str, field: &str, is_repeated: bool, causes: &mut Vec<Cause>) {
    if found.is_empty() {
        causes.push(Cause::required(field, ""));
        return;
    }
    for wrong in name::bad_label(found) {
        causes.push(Cause::invalid(
            field,
            format!("Invalid value: {found:?}: {wrong}"),
        ));
    }
    if is_repeated {
        causes.push(Cause::duplicate(field, found));
    }
}

fn check_container(container: &Value, path: &str, volumes: &[&str], causes: &mut Vec<Cause>) {
    if is_empty(&container["image"]) {
        causes.push(Cause::required(format!("{path}.image"), ""));
    }
    for (at, port) in list(container, "ports").iter().enumerate() {
        let path = format!("{path}.ports[{at}]");
        match port["containerPort"].as_i64() {
            None | Some(0) => causes.push(Cause::required(format!("{path}.containerPort"), "")),
            Some(1..=65535) => {}
            Some(number) => {
                let text =
                    format!("Invalid value: {number}: must be between 1 and 65535, inclusive");
                causes.push(Cause::invalid(format!("{path}.containerPort"), text));
            }
        }
        not_one_of(
            &format!("{path}.protocol"),
            &port["protocol"],
            &["SCTP", "TCP", "UDP"],
            causes,
        );
    }
    for (at, variable) in list(container, "env").iter().enumerate() {
        if is_empty(&variable["name"]) {
            causes.push(Cause::required(format!("{path}.env[{at}].name"), ""));
        }
    }
    for (at, mount) in list(container, "volumeMounts").iter().enumerate() {
        let path = format!("{path}.volumeMounts[{at}]");
        let name = text(mount, "name");
        if name.is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        } else if !volumes.contains(&name) {
            causes.push(Cause {
                reason: "FieldValueNotFound",
                message: format!("Not found: {name:?}"),
                field: format!("{path}.name"),
            });
        }
        if is_empty(&mount["mountPath"]) {
            causes.push(Cause::required(format!("{path}.mountPath"), ""));
        }
    }
    for (resource, wanted) in container["resources"]["requests"]
        .as_object()
        .into_iter()
        .flatten()
    {
        let limit = text(&container["resources"]["limits"], resource);
        let wanted = wanted.as_str().unwrap_or_default();
        if !limit.is_empty() && quantity::is_more(wanted, limit) {
            let text = format!(
                "Invalid value: {wanted:?}: must be less than or equal to {resource} limit of {limit}"
            );
            causes.push(Cause::invalid(format!("{path}.resources.requests"), text));
        }
    }
    let field = format!("{path}.imagePullPolicy");
    let known = ["Always", "IfNotPresent", "Never"];
    not_one_of(&field, &container["imagePullPolicy"], &known, causes);
}
