//! The permissions that roles grant to a user, and which of them requests need.
//!
//! In: manifests and the requests of tests. Out: the unused permissions. Roles with the same name in several namespaces count as one.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use crate::Request;

/// A document of the manifests, with its file.
pub(crate) type Document = (PathBuf, Value);

/// A permission: a verb on a resource, from a rule of a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Permission {
    file: PathBuf,
    /// Kind and name of the role, for example `ClusterRole memcached-operator`.
    role: String,
    group: String,
    /// The plural, with the subresource if there is one: `deployments/scale`.
    resource: String,
    /// The names of the permitted objects; empty for all objects.
    names: Vec<String>,
    verb: String,
}

impl Permission {
    /// Whether a request has used this permission. A forbidden request has not.
    fn is_used_by(&self, request: &Request) -> bool {
        let resource = match request.subresource.as_str() {
            "" => request.resource.clone(),
            subresource => format!("{}/{subresource}", request.resource),
        };
        // server-side apply also needs `create` if it creates the object
        let creates = self.verb == "create" && request.verb == "patch" && request.code == 201;
        (self.verb == request.verb || creates)
            && self.group == request.group
            && self.resource == resource
            && (self.names.is_empty() || self.names.contains(&request.name))
            && request.code != 403
    }

    /// Whether a rule grants the permission, possibly by a wildcard.
    fn is_granted_by(&self, rule: &Value) -> bool {
        let has = |field: &str, wanted: &str| {
            texts(&rule[field]).any(|value| value == wanted || value == "*")
        };
        let only: Vec<&str> = texts(&rule["resourceNames"]).collect();
        has("apiGroups", &self.group)
            && has("resources", &self.resource)
            && has("verbs", &self.verb)
            && (only.is_empty()
                || !self.names.is_empty() && self.names.iter().all(|name| only.contains(&&**name)))
    }

    pub fn is_on(&self, group: &str, resource: &str) -> bool {
        self.group == group && self.resource == resource
    }

    pub fn verb(&self) -> &str {
        &self.verb
    }

    /// A rule for the table `table` of `operator.toml`, which allows all verbs that `permissions` have on the resource of this one.
    pub fn as_toml<'a>(&self, table: &str, permissions: impl Iterator<Item = &'a Self>) -> String {
        let Self {
            group, resource, ..
        } = self;
        let verbs: BTreeSet<&str> = permissions
            .filter(|permission| (&permission.group, &permission.resource) == (group, resource))
            .map(|permission| permission.verb.as_str())
            .collect();
        format!(
            "[[{table}.rules]]\napiGroups = [{group:?}]\nresources = [{resource:?}]\nverbs = {:?}",
            Vec::from_iter(verbs)
        )
    }
}

impl fmt::Display for Permission {
    /// Formats the permission, for example `manifests/rbac/cluster-role.yaml: ClusterRole memcached-operator: patch deployments.apps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plural, subresource) = self
            .resource
            .split_once('/')
            .unwrap_or((&self.resource, ""));
        write!(f, "{}: {}: {} ", self.file.display(), self.role, self.verb)?;
        f.write_str(plural)?;
        for part in [(".", &*self.group), ("/", subresource)] {
            if !part.1.is_empty() {
                write!(f, "{}{}", part.0, part.1)?;
            }
        }
        if self.names.is_empty() {
            Ok(())
        } else {
            write!(f, " {}", self.names.join(", "))
        }
    }
}

/// The permissions that no request has used yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnusedPermissions(pub BTreeSet<Permission>);

impl UnusedPermissions {
    /// All permissions that the manifests grant to the user by name.
    pub fn of(manifests: &[Document], user: &str) -> Self {
        let bindings = manifests.iter().filter(|(_, binding)| {
            binding["subjects"]
                .as_array()
                .into_iter()
                .flatten()
                .into_iter()
                .any(|subject| is_subject(subject, user))
        });
        let bound: BTreeSet<String> = bindings
            .map(|(_, binding)| {
                format!(
                    "{} {}",
                    text(&binding["roleRef"]["kind"]),
                    text(&binding["roleRef"]["name"])
                )
            })
            .collect();
        let roles = manifests
            .iter()
            .filter(|(_, role)| bound.contains(&role_name(role)));
        Self(roles.flat_map(permissions_of).collect())
    }

    /// Removes the permissions that requests have used.
    pub fn record(&mut self, requests: &[Request]) {
        self.0.retain(|permission| {
            !requests
                .iter()
                .any(|request| permission.is_used_by(request))
        });
    }

    /// Removes and returns the permissions that the user's own rules grant.
    pub fn take_allowed(&mut self, rules: &[Value]) -> BTreeSet<Permission> {
        let (allowed, unused) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|permission| rules.iter().any(|rule| permission.is_granted_by(rule)));
        self.0 = unused;
        allowed
    }
}

/// The permissions of a role: one for each verb on each resource.
fn permissions_of((file, role): &Document) -> impl Iterator<Item = Permission> {
    let mut permissions = Vec::new();
    for rule in role["rules"].as_array().into_iter().flatten() {
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                permissions.extend(texts(&rule["verbs"]).map(|verb| Permission {
                    file: file.clone(),
                    role: role_name(role),
                    group: group.to_owned(),
                    resource: resource.to_owned(),
                    names: texts(&rule["resourceNames"]).map(str::to_owned).collect(),
                    verb: verb.to_owned(),
                }));
            }
        }
    }
    permissions.into_iter()
}

fn role_name(role: &Value) -> String {
    format!(
        "{} {}",
        text(&role["kind"]),
        text(&role["metadata"]["name"])
    )
}

fn is_subject(subject: &Value, user: &str) -> bool {
    match text(&subject["kind"]) {
        "User" => user == text(&subject["name"]),
        "ServiceAccount" => {
            let (namespace, name) = (text(&subject["namespace"]), text(&subject["name"]));
            user == format!("system:serviceaccount:{namespace}:{name}")
        }
        _ => false,
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}
