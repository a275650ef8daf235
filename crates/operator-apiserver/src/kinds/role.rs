//! Roles and their bindings.

use serde_json::{Value, json};

use super::rule::field::{invalid, is_empty, list, only, refuse, text};
use super::rule::selector;
use super::value::{fields, items};
use crate::model::failure::Cause;
use crate::model::kind::Kind;
use crate::model::name;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(crate) fn check_role(kind: &Kind, object: &Value, causes: &mut Vec<Cause>) {
    for (at, rule) in list(object, "rules").iter().enumerate() {
        rule_of(kind, rule, &format!("rules[{at}]"), causes);
    }
    let aggregation = &object["aggregationRule"];
    if kind.namespaced || aggregation.is_null() {
        return;
    }
    let (selectors, path) = (
        list(aggregation, "clusterRoleSelectors"),
        "aggregationRule.clusterRoleSelectors",
    );
    if selectors.is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        causes.push(Cause::required(path, why));
    }
    for (at, found) in selectors.iter().enumerate() {
        let (before, path) = (causes.len(), format!("{path}[{at}]"));
        selector::terms(&path, found, causes);
        if causes.len() > before {
            causes.push(invalid(path, "null", "invalid label selector."));
        }
    }
}

fn rule_of(kind: &Kind, rule: &Value, path: &str, causes: &mut Vec<Cause>) {
    if is_empty(&rule["verbs"]) {
        let why = "verbs must contain at least one value";
        causes.push(Cause::required(format!("{path}.verbs"), why));
    }
    let (urls, field) = (&rule["nonResourceURLs"], format!("{path}.nonResourceURLs"));
    if !is_empty(urls) {
        if kind.namespaced {
            let why = "namespaced rules cannot apply to non-resource URLs";
            causes.push(invalid(&field, urls, why));
        }
        let others = ["apiGroups", "resources", "resourceNames"];
        if !others.iter().all(|field| is_empty(&rule[*field])) {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            causes.push(invalid(field, urls, why));
        }
        return;
    }
    for (field, one) in [("apiGroups", "api group"), ("resources", "resource")] {
        if is_empty(&rule[field]) {
            let why = format!("resource rules must supply at least one {one}");
            causes.push(Cause::required(format!("{path}.{field}"), &why));
        }
    }
}

pub(crate) fn check_binding(
    kind: &Kind,
    live: Option<&Value>,
    object: &Value,
    causes: &mut Vec<Cause>,
) {
    let role = &object["roleRef"];
    only("roleRef.apiGroup", &role["apiGroup"], &[GROUP], causes);
    let known: &[&str] = match kind.namespaced {
        true => &["Role", "ClusterRole"],
        false => &["ClusterRole"],
    };
    only("roleRef.kind", &role["kind"], known, causes);
    let name = text(role, "name");
    match name.is_empty() {
        true => causes.push(Cause::required("roleRef.name", "")),
        false => {
            let wrong = name::bad_object_name(kind, name, false);
            refuse("roleRef.name", name, wrong, causes);
        }
    }
    for (at, found) in list(object, "subjects").iter().enumerate() {
        subject(kind, found, &format!("subjects[{at}]"), causes);
    }
    if live.is_some_and(|live| live["roleRef"] != *role) {
        let part = |field: &str| text(role, field);
        let shown = json!({"APIGroup": part("apiGroup"), "Kind": part("kind"), "Name": name});
        causes.push(invalid("roleRef", shown, "cannot change roleRef"));
    }
}

fn subject(kind: &Kind, subject: &Value, path: &str, causes: &mut Vec<Cause>) {
    let (name, at_name) = (text(subject, "name"), format!("{path}.name"));
    if name.is_empty() {
        causes.push(Cause::required(&at_name, ""));
    }
    let at_group = format!("{path}.apiGroup");
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                refuse(&at_name, name, name::bad_subdomain(name), causes);
            }
            only(&at_group, &subject["apiGroup"], &[""], causes);
            if !kind.namespaced && is_empty(&subject["namespace"]) {
                causes.push(Cause::required(format!("{path}.namespace"), ""));
            }
        }
        "User" | "Group" => only(&at_group, &subject["apiGroup"], &[GROUP], causes),
        _ => {
            let known = ["ServiceAccount", "User", "Group"];
            only(&format!("{path}.kind"), &subject["kind"], &known, causes);
        }
    }
}

/// Sets the API groups of a role reference and of subjects.
pub(crate) fn fill_binding(object: &mut Value) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    fields(&mut object["roleRef"], &[("apiGroup", json!(GROUP))]);
    for subject in items(object, "subjects") {
        if subject["kind"] != "ServiceAccount" {
            fields(subject, &[("apiGroup", json!(GROUP))]);
        }
    }
}
