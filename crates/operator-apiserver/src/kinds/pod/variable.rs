//! The environment of a container.

use serde_json::Value;

use crate::kinds::rule::field::{invalid, is_empty, refuse, text};
use crate::model::{Cause, name};

pub(crate) fn check(variable: &Value, path: &str, causes: &mut Vec<Cause>) {
    let name = text(variable, "name");
    let fits = |c: char| (' '..='~').contains(&c) && c != '=';
    if name.is_empty() {
        causes.push(Cause::required(format!("{path}.name"), ""));
    } else if !name.chars().all(fits) {
        let why = "a valid environment variable name must consist only of printable ASCII characters other than '='";
        causes.push(invalid(format!("{path}.name"), format!("{name:?}"), why));
    }
    let source = &variable["valueFrom"];
    if source.is_null() {
        return;
    }
    let path = format!("{path}.valueFrom");
    let given: Vec<&str> = [
        "fieldRef",
        "resourceFieldRef",
        "configMapKeyRef",
        "secretKeyRef",
        "fileKeyRef",
    ]
    .into_iter()
    .filter(|name| !source[*name].is_null())
    .collect();
    for kind in &given {
        reference(kind, &source[*kind], &format!("{path}.{kind}"), causes);
    }
    let why = match given.len() {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if !text(variable, "value").is_empty() => {
            "may not be specified when `value` is not empty"
        }
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    causes.push(invalid(path, "\"\"", why));
}

/// Checks a reference to an object whose keys become variables.
pub(crate) fn from_object(source: &Value, path: &str, at: usize, causes: &mut Vec<Cause>) {
    let known = ["configMapRef", "secretRef"];
    let given = known.iter().filter(|kind| !source[**kind].is_null());
    for kind in given.clone() {
        let (name, field) = (
            text(&source[*kind], "name"),
            format!("{path}[{at}].{kind}.name"),
        );
        if name.is_empty() {
            causes.push(Cause::required(field, ""));
        } else {
            refuse(&field, name, name::bad_subdomain(name), causes);
        }
    }
    let why = match given.count() {
        0 => "must specify one of: `configMapRef` or `secretRef`",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    causes.push(invalid(path, "\"\"", why));
}

/// Checks the source of a variable's value.
fn reference(kind: &str, found: &Value, path: &str, causes: &mut Vec<Cause>) {
    match kind {
        "fieldRef" if is_empty(&found["fieldPath"]) => {
            causes.push(Cause::required(format!("{path}.fieldPath"), ""));
        }
        "configMapKeyRef" | "secretKeyRef" => {
            let name = text(found, "name");
            let wrong = name::bad_subdomain(name);
            refuse(&format!("{path}.name"), name, wrong, causes);
            let (key, field) = (text(found, "key"), format!("{path}.key"));
            if key.is_empty() {
                causes.push(Cause::required(field, ""));
            } else {
                refuse(&field, key, name::bad_config_key(key), causes);
            }
        }
        _ => {}
    }
}
