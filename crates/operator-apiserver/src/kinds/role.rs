//! Roles and their bindings.

use serde_json::{Value, json};

use super::resource::{CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, RBAC, ROLE_BINDINGS, ROLES, Resource};
use super::rule::field::{invalid, is_empty, list, only, refuse, text};
use super::rule::selector;
use super::strategy::Strategy;
use super::value::{items, set_if_empty};
use crate::model::{Cause, name};

pub(crate) const ROLE: Strategy = Strategy {
    validate: |_, object, causes| check_role(true, object, causes),
    cells: cells!(core::dated),
    ..of_rbac(ROLES)
};

pub(crate) const CLUSTER_ROLE: Strategy = Strategy {
    validate: |_, object, causes| check_role(false, object, causes),
    ..ROLE.named(CLUSTER_ROLES)
};

pub(crate) const ROLE_BINDING: Strategy = Strategy {
    set_defaults: set_binding_defaults,
    validate: |live, object, causes| check_binding(true, live, object, causes),
    cells: cells!(core::binding),
    ..of_rbac(ROLE_BINDINGS)
};

pub(crate) const CLUSTER_ROLE_BINDING: Strategy = Strategy {
    validate: |live, object, causes| check_binding(false, live, object, causes),
    ..ROLE_BINDING.named(CLUSTER_ROLE_BINDINGS)
};

const fn of_rbac(resource: Resource) -> Strategy {
    Strategy {
        bad_name: name::bad_path_segment,
        creates_on_update: true,
        ..Strategy::of(resource)
    }
}

fn check_role(is_namespaced: bool, object: &Value, causes: &mut Vec<Cause>) {
    for (at, rule) in list(object, "rules").iter().enumerate() {
        rule_of(is_namespaced, rule, &format!("rules[{at}]"), causes);
    }
    let aggregation = &object["aggregationRule"];
    if is_namespaced || aggregation.is_null() {
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

fn rule_of(is_namespaced: bool, rule: &Value, path: &str, causes: &mut Vec<Cause>) {
    if is_empty(&rule["verbs"]) {
        let why = "verbs must contain at least one value";
        causes.push(Cause::required(format!("{path}.verbs"), why));
    }
    let (urls, field) = (&rule["nonResourceURLs"], format!("{path}.nonResourceURLs"));
    if !is_empty(urls) {
        if is_namespaced {
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

fn check_binding(
    is_namespaced: bool,
    live: Option<&Value>,
    object: &Value,
    causes: &mut Vec<Cause>,
) {
    let role = &object["roleRef"];
    only("roleRef.apiGroup", &role["apiGroup"], &[RBAC], causes);
    let known: &[&str] = if is_namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    only("roleRef.kind", &role["kind"], known, causes);
    let name = text(role, "name");
    if name.is_empty() {
        causes.push(Cause::required("roleRef.name", ""));
    } else {
        let wrong = name::bad_path_segment(name);
        refuse("roleRef.name", name, wrong, causes);
    }
    for (at, found) in list(object, "subjects").iter().enumerate() {
        subject(is_namespaced, found, &format!("subjects[{at}]"), causes);
    }
    if live.is_some_and(|live| live["roleRef"] != *role) {
        let part = |field: &str| text(role, field);
        let shown = json!({"APIGroup": part("apiGroup"), "Kind": part("kind"), "Name": name});
        causes.push(invalid("roleRef", shown, "cannot change roleRef"));
    }
}

fn subject(is_namespaced: bool, subject: &Value, path: &str, causes: &mut Vec<Cause>) {
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
            if !is_namespaced && is_empty(&subject["namespace"]) {
                causes.push(Cause::required(format!("{path}.namespace"), ""));
            }
        }
        "User" | "Group" => only(&at_group, &subject["apiGroup"], &[RBAC], causes),
        _ => {
            let known = ["ServiceAccount", "User", "Group"];
            only(&format!("{path}.kind"), &subject["kind"], &known, causes);
        }
    }
}

/// Sets the API groups of a role reference and of subjects.
fn set_binding_defaults(object: &mut Value) {
    set_if_empty(&mut object["roleRef"], &[("apiGroup", json!(RBAC))]);
    for subject in items(object, "subjects") {
        if subject["kind"] != "ServiceAccount" {
            set_if_empty(subject, &[("apiGroup", json!(RBAC))]);
        }
    }
}
