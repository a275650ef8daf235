//! Roles and their bindings.

use serde_json::{Value, json};

use super::super::kind::Kind;
use super::super::status::Cause;
use super::{is_empty, list, not_one_of};

pub(super) fn check_role(kind: &Kind, object: &Value, causes: &mut Vec<Cause>) {
    for (at, rule) in list(object, "rules").iter().enumerate() {
        let path = format!("rules[{at}]");
        if is_empty(&rule["verbs"]) {
            causes.push(Cause::required(
                format!("{path}.verbs"),
                "verbs must contain at least one value",
            ));
        }
        if !is_empty(&rule["nonResourceURLs"]) {
            if kind.namespaced {
                let text = "namespaced rules cannot apply to non-resource URLs";
                let text = format!("Invalid value: {}: {text}", rule["nonResourceURLs"]);
                causes.push(Cause::invalid(format!("{path}.nonResourceURLs"), text));
            }
            continue;
        }
        for (field, one) in [("apiGroups", "api group"), ("resources", "resource")] {
            if is_empty(&rule[field]) {
                let text = format!("resource rules must supply at least one {one}");
                causes.push(Cause::required(format!("{path}.{field}"), &text));
            }
        }
    }
}

pub(super) fn check_binding(
    kind: &Kind,
    live: Option<&Value>,
    object: &Value,
    causes: &mut Vec<Cause>,
) {
    let role = &object["roleRef"];
    let known: &[&str] = match kind.namespaced {
        true => &["Role", "ClusterRole"],
        false => &["ClusterRole"],
    };
    not_one_of("roleRef.kind", &role["kind"], known, causes);
    if is_empty(&role["name"]) {
        causes.push(Cause::required("roleRef.name", ""));
    }
    if live.is_some_and(|live| live["roleRef"] != *role) {
        let shown =
            json!({"APIGroup": role["apiGroup"], "Kind": role["kind"], "Name": role["name"]});
        let text = format!("Invalid value: {shown}: cannot change roleRef");
        causes.push(Cause::invalid("roleRef", text));
    }
    for (at, subject) in list(object, "subjects").iter().enumerate() {
        let path = format!("subjects[{at}]");
        if is_empty(&subject["name"]) {
            causes.push(Cause::required(format!("{path}.name"), ""));
        }
        let known = ["ServiceAccount", "User", "Group"];
        not_one_of(&format!("{path}.kind"), &subject["kind"], &known, causes);
    }
}
