//! Prevents users from granting [permissions that they lack]: a role may not permit more than its author may do, unless the author may
//! `escalate`; a binding may not grant more, unless its author may `bind`.
//!
//! [permissions that they lack]: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping

use std::collections::BTreeSet;

use serde_json::Value;

use super::rbac::{self, Attempt, role_resource};
use crate::kinds::resource::{CLUSTER_ROLES, RBAC, ROLES};
use crate::model::{Failure, Key, Result};
use crate::request::{Request, ResourcePath, User};
use crate::store::Store;

/// A permission: a verb on a resource or URL.
struct Permission {
    group: String,
    resource: String,
    name: String,
    url: String,
    verb: String,
}

/// Rejects a new role or binding, or a change of `live`, that grants more than its author has.
pub(crate) fn check_escalation(
    store: &Store,
    request: &Request<'_>,
    live: Option<&Value>,
    object: &Value,
) -> Result<()> {
    let Some(user) = request
        .call
        .user
        .as_ref()
        .filter(|_| request.kind.group == RBAC)
    else {
        return Ok(());
    };
    let rules = match request.kind.resource() {
        ROLES | CLUSTER_ROLES => {
            let is_same = live.is_some_and(|live| live["rules"] == object["rules"]);
            if is_same || rbac::may(store, user, "escalate", request.path) {
                return Ok(());
            }
            object["rules"].as_array().cloned().unwrap_or_default()
        }
        _ => {
            let role = &object["roleRef"];
            let (resource, namespace) = role_resource(role, &request.path.namespace);
            let name = role["name"].as_str().unwrap_or_default();
            let path = ResourcePath {
                plural: resource.1.to_owned(),
                name: name.to_owned(),
                ..request.path.clone()
            };
            if rbac::may(store, user, "bind", &path) {
                return Ok(());
            }
            let key = Key::new(resource, namespace, name);
            if store.find(&key).is_none() {
                return Err(Failure::not_found(request.kind, name));
            }
            rbac::rules(store, object, &request.path.namespace)
        }
    };
    let missing: Vec<Permission> = rules
        .iter()
        .flat_map(permissions)
        .filter(|permission| !has_permission(store, user, permission, &request.path.namespace))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let groups: Vec<String> = user
        .groups
        .iter()
        .map(|group| format!("{group:?}"))
        .collect();
    let name = crate::model::metadata::name(object);
    let message = format!(
        "{} {name:?} is forbidden: user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        request.kind.qualified(),
        user.name,
        groups.join(" "),
        listed(&missing)
    );
    Err(Failure::forbidden(request.kind, name, message))
}

/// Whether the user has a permission, in this namespace.
fn has_permission(store: &Store, user: &User, permission: &Permission, namespace: &str) -> bool {
    let verb = permission.verb.as_str();
    if !permission.url.is_empty() {
        return rbac::allows(
            store,
            user,
            &Attempt::Path {
                verb,
                path: &permission.url,
            },
        );
    }
    let (plural, subresource) = match permission.resource.split_once('/') {
        Some((plural, subresource)) => (plural, Some(subresource.to_owned())),
        None => (permission.resource.as_str(), None),
    };
    let path = ResourcePath {
        group: permission.group.clone(),
        plural: plural.to_owned(),
        namespace: namespace.to_owned(),
        name: permission.name.clone(),
        subresource,
        ..ResourcePath::default()
    };
    rbac::may(store, user, verb, &path)
}

/// Splits a rule into its permissions.
fn permissions(rule: &Value) -> Vec<Permission> {
    let list = |field: &str| -> Vec<String> {
        rule[field]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect()
    };
    let or_any = |names: Vec<String>| {
        if names.is_empty() {
            vec![String::new()]
        } else {
            names
        }
    };
    let verbs = list("verbs");
    let mut permissions = Vec::new();
    for group in list("apiGroups") {
        for resource in list("resources") {
            for verb in &verbs {
                permissions.extend(or_any(list("resourceNames")).into_iter().map(|name| {
                    Permission {
                        group: group.clone(),
                        resource: resource.clone(),
                        name,
                        url: String::new(),
                        verb: verb.clone(),
                    }
                }));
            }
        }
    }
    for url in list("nonResourceURLs") {
        permissions.extend(verbs.iter().map(|verb| Permission {
            group: String::new(),
            resource: String::new(),
            name: String::new(),
            url: url.clone(),
            verb: verb.clone(),
        }));
    }
    permissions
}

/// Formats the permissions as the real server does: a line for each resource, with all its verbs.
fn listed(permissions: &[Permission]) -> String {
    let target = |permission: &Permission| match (permission.url.as_str(), permission.name.as_str())
    {
        ("", "") => format!(
            "APIGroups:[{:?}], Resources:[{:?}]",
            permission.group, permission.resource
        ),
        ("", name) => format!(
            "APIGroups:[{:?}], Resources:[{:?}], ResourceNames:[{name:?}]",
            permission.group, permission.resource
        ),
        (url, _) => format!("NonResourceURLs:[{url:?}]"),
    };
    let lines: BTreeSet<String> = permissions
        .iter()
        .map(|permission| {
            let verbs: Vec<String> = permissions
                .iter()
                .filter(|other| target(other) == target(permission))
                .map(|other| format!("{:?}", other.verb))
                .collect();
            format!("{{{}, Verbs:[{}]}}", target(permission), verbs.join(" "))
        })
        .collect();
    lines.into_iter().collect::<Vec<_>>().join("\n")
}
