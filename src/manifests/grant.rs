//! The permissions that the operator needs, and their scope: the whole cluster, or single namespaces.
//!
//! They are derived only from the controllers, and their `owns`, `watches`, `reads` and `rules`.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::rule::{normalize, policy_rule, rule, split};
use super::{Namespaces, Operator, ResourceType};
use crate::operator::{Controller, Related, WATCHED, is_cluster_scoped};

/// Where a permission is granted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Cluster,
    Namespace(String),
}

/// The namespace to which events about cluster-scoped objects are written.
const NAMESPACE_OF_CLUSTER_EVENTS: &str = "default";

/// The permissions of all controllers, normalized. Scopes without permissions are omitted.
pub(super) fn grants(operator: &Operator<'_>) -> BTreeMap<Place, Vec<PolicyRule>> {
    let mut grants: BTreeMap<Place, Vec<PolicyRule>> = BTreeMap::new();
    for controller in &operator.controllers {
        for (places, rule) in needs(operator, controller) {
            for place in places {
                grants.entry(place).or_default().push(rule.clone());
            }
        }
    }
    grants
        .into_iter()
        .map(|(place, rules)| (place, normalize(rules)))
        .collect()
}

/// To record events, and to count their repetitions.
pub fn event_rule() -> PolicyRule {
    rule("events.k8s.io", &["events"], &["create", "patch"])
}

/// The permissions that a controller needs, each with the places where it is granted.
fn needs(operator: &Operator<'_>, controller: &Controller) -> Vec<(Vec<Place>, PolicyRule)> {
    let ResourceType { group, plural, .. } = &controller.resource;
    let watched = watched(operator);
    let cluster = vec![Place::Cluster];
    // Children of a cluster-scoped object are in the namespace of the operator unless the reconciler says where.
    let own = Place::Namespace(operator.namespace.clone());
    let events = Place::Namespace(NAMESPACE_OF_CLUSTER_EVENTS.to_owned());
    let (objects, children, events) =
        match (controller.resource.namespaced, &operator.config.namespaces) {
            (true, _) => (watched.clone(), watched.clone(), watched.clone()),
            (false, Namespaces::All) => (cluster.clone(), cluster.clone(), cluster.clone()),
            (false, _) => {
                let children: BTreeSet<_> = watched.iter().cloned().chain([own]).collect();
                (cluster, children.into_iter().collect(), vec![events])
            }
        };
    let mut needs = vec![
        (objects.clone(), rule(group, &[plural], WATCHED)),
        (events, event_rule()),
    ];
    let has_status = controller.has_status || controller.has_status_in_object;
    if has_status || !controller.owns.is_empty() || controller.scaffold.has_provider {
        // to check whether the object still exists if its status is not found or a child was deleted, and whether it is unchanged
        // before a provider deletes its external resource
        needs.push((objects.clone(), rule(group, &[plural], &["get"])));
    }
    // to add and remove the finalizer, and to record what was handled; objects of the operator's own kinds may still have the finalizer of an
    // earlier release
    if controller.is_own() || controller.cleanup || controller.scaffold.records_history {
        needs.push((objects.clone(), rule(group, &[plural], &["patch"])));
    }
    if controller.has_status {
        let status = format!("{plural}/status");
        needs.push((objects.clone(), rule(group, &[&status], &["patch"])));
    }
    for (key, related) in controller.requested() {
        let places = if key == "owns" { &children } else { &watched };
        let Related {
            resource, verbs, ..
        } = related;
        let rule = rule(&resource.group, &[&resource.plural], verbs);
        needs.push((places_of(resource, places), rule));
    }
    for extra in controller.rules.iter().map(policy_rule).flat_map(split) {
        let cluster = extra.non_resource_urls.is_some() || is_cluster_scoped_builtin(&extra);
        needs.push((
            if cluster {
                vec![Place::Cluster]
            } else {
                watched.clone()
            },
            extra,
        ));
    }
    needs
}

/// The places where the operator reads namespaced objects.
fn watched(operator: &Operator<'_>) -> Vec<Place> {
    match &operator.config.namespaces {
        Namespaces::All => vec![Place::Cluster],
        Namespaces::Own => vec![Place::Namespace(operator.namespace.clone())],
        Namespaces::Listed(names) => names.iter().cloned().map(Place::Namespace).collect(),
    }
}

/// The places for a resource: `namespaced`, or the cluster if it is cluster-scoped.
fn places_of(resource: &ResourceType, namespaced: &[Place]) -> Vec<Place> {
    if resource.namespaced {
        namespaced.to_vec()
    } else {
        vec![Place::Cluster]
    }
}

/// Whether a rule for one resource is about a cluster-scoped built-in kind, which a Role could not permit.
fn is_cluster_scoped_builtin(rule: &PolicyRule) -> bool {
    let group = rule.api_groups.iter().flatten().next();
    let resource = rule.resources.iter().flatten().next();
    let (Some(group), Some(resource)) = (group, resource) else {
        return false;
    };
    let base = resource.split('/').next().unwrap_or(resource);
    is_cluster_scoped(group, base)
}
