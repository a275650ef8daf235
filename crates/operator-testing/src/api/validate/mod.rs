//! The rules of built-in kinds that clients meet most, in the words of the API server's [validation]; its many others are missing.
//!
//! [validation]: https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/validation/validation.go

mod change;
pub(crate) mod metadata;
mod pod;
mod rights;
mod service;
mod status;
mod workload;

use serde_json::Value;

use super::kind::Kind;
use super::name;
use super::status::Cause;

/// What is wrong with a new object of a built-in kind, or with one that replaces `live`.
pub(crate) fn violations(kind: &Kind, live: Option<&Value>, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "configmaps") => config_map(live, object, &mut causes),
        ("", "secrets") => secret(live, object, &mut causes),
        ("", "services") => service::check(object, &mut causes),
        ("", "pods") => {
            pod::check(&object["spec"], "spec", &mut causes);
            if let Some(live) = live {
                change::pod(live, object, &mut causes);
            }
        }
        ("", "podtemplates") => {
            pod::check(&object["template"]["spec"], "template.spec", &mut causes);
        }
        ("", "events") => {
            let (found, own) = (
                &object["involvedObject"]["namespace"],
                &object["metadata"]["namespace"],
            );
            if !is_empty(found) && found != own {
                let text = format!("Invalid value: {found}: does not match event.namespace");
                causes.push(Cause::invalid("involvedObject.namespace", text));
            }
        }
        ("apps", "controllerrevisions") => {}
        ("apps" | "batch", _) => workload::check(kind, live, object, &mut causes),
        ("coordination.k8s.io", "leases") => lease(object, &mut causes),
        ("rbac.authorization.k8s.io", "roles" | "clusterroles") => {
            rights::check_role(kind, object, &mut causes);
        }
        ("rbac.authorization.k8s.io", _) => rights::check_binding(kind, live, object, &mut causes),
        _ => {}
    }
    causes
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object[field].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn not_one_of(field: &str, found: &Value, allowed: &[&str], causes: &mut Vec<Cause>) {
    let found_text = found.as_str().unwrap_or_default();
    if !allowed.contains(&found_text) {
        let allowed = allowed.iter().map(|name| format!("{name:?}"));
        let allowed = allowed.collect::<Vec<_>>().join(", ");
        let text = format!("Unsupported value: {found_text:?}: supported values: {allowed}");
        causes.push(Cause::unsupported(field, text));
    }
}

fn negative(field: &str, found: &Value, causes: &mut Vec<Cause>) {
    if found.as_i64().is_some_and(|number| number < 0) {
        let text = format!("Invalid value: {found}: must be greater than or equal to 0");
        causes.push(Cause::invalid(field, text));
    }
}

fn config_map(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    frozen(live, object, &["data", "binaryData"], causes);
    keys(object, "data", causes);
    for (key, _) in object["data"].as_object().into_iter().flatten() {
        if object["binaryData"].get(key).is_some() {
            let text = format!("Invalid value: {key:?}: duplicate of key present in binaryData");
            causes.push(Cause::invalid(format!("data[{key}]"), text));
        }
    }
    keys(object, "binaryData", causes);
}

fn secret(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    if let Some(live) = live
        && live["type"] != object["type"]
    {
        let text = format!("Invalid value: {}: field is immutable", object["type"]);
        causes.push(Cause::invalid("type", text));
    }
    frozen(live, object, &["data"], causes);
    keys(object, "data", causes);
    let has = |key: &str| !object["data"][key].is_null();
    let needed: &[&str] = match text(object, "type") {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            &["username", "password"]
        }
        _ => &[],
    };
    let missing = needed.iter().filter(|key| !has(key));
    causes.extend(missing.map(|key| Cause::required(format!("data[{key}]"), "")));
}

/// What may not change once `immutable` is set.
fn frozen(live: Option<&Value>, object: &Value, fields: &[&str], causes: &mut Vec<Cause>) {
    let Some(live) = live.filter(|live| live["immutable"] == true) else {
        return;
    };
    const WHY: &str = "field is immutable when `immutable` is set";
    if object["immutable"] != true {
        causes.push(Cause::forbidden("immutable", WHY));
    }
    let changed = fields
        .iter()
        .filter(|field| live[**field] != object[**field]);
    causes.extend(changed.map(|field| Cause::forbidden(*field, WHY)));
}

fn keys(object: &Value, field: &str, causes: &mut Vec<Cause>) {
    for (key, _) in object[field].as_object().into_iter().flatten() {
        for wrong in name::bad_config_key(key) {
            let text = format!("Invalid value: {key:?}: {wrong}");
            causes.push(Cause::invalid(format!("{field}[{key}]"), text));
        }
    }
}

fn lease(object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    if spec["leaseDurationSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds <= 0)
    {
        let text = format!(
            "Invalid value: {}: must be greater than 0",
            spec["leaseDurationSeconds"]
        );
        causes.push(Cause::invalid("spec.leaseDurationSeconds", text));
    }
    negative("spec.leaseTransitions", &spec["leaseTransitions"], causes);
}
