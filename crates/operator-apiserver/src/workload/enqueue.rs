//! Which objects a controller must reconcile after a change of an object.

use std::collections::BTreeSet;

use serde_json::Value;

use super::field::controller;
use super::pod::waits_for;
use crate::kinds::pod::claims;
use crate::model::key::Key;
use crate::model::label::selects;
use crate::store::state::State;

/// The kinds that control pods, or control their controllers.
const WORKLOADS: [(&str, &str); 6] = [
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "cronjobs"),
    ("batch", "jobs"),
];

/// The keys to reconcile after an object was stored or removed.
pub(super) fn keys_to_reconcile(state: &State, changed: &Key, object: &Value) -> BTreeSet<Key> {
    let place = (changed.group.as_str(), changed.plural.as_str());
    let mut keys = BTreeSet::new();
    let is_pod = place == ("", "pods");
    if is_pod || WORKLOADS.contains(&place) {
        keys.insert(changed.clone());
        match controller(object) {
            Some(owner) => keys.extend(workload_of(state, owner, &changed.namespace)),
            None if is_pod || place == ("apps", "replicasets") => {
                keys.extend(adopters(state, changed, object));
            }
            None => {}
        }
    }
    if matches!(
        place,
        (
            "",
            "persistentvolumeclaims" | "persistentvolumes" | "services"
        ) | ("policy", "poddisruptionbudgets")
    ) {
        keys.insert(changed.clone());
    }
    if is_pod || WORKLOADS.contains(&place) {
        keys.extend(budgets_in(state, &changed.namespace));
    }
    if matches!(
        place,
        ("", "configmaps" | "persistentvolumeclaims" | "secrets")
    ) {
        let pods = state.store.of_kind("", "pods", &changed.namespace);
        let waiting = pods.filter(|(_, pod)| waits_for(pod, changed));
        keys.extend(waiting.map(|(key, _)| key.clone()));
    }
    if is_pod {
        let services = state.store.of_kind("", "services", &changed.namespace);
        keys.extend(services.map(|(key, _)| key.clone()));
        keys.extend(claims(object).map(|name| Key {
            plural: "persistentvolumeclaims".into(),
            name: name.into(),
            ..changed.clone()
        }));
    }
    if matches!(place, ("", "namespaces" | "nodes")) {
        let namespace = match place.1 {
            "namespaces" => changed.name.as_str(),
            _ => "",
        };
        let pods = state.store.of_kind("", "pods", namespace);
        keys.extend(pods.map(|(key, _)| key.clone()));
        if place.1 == "nodes" {
            let sets = state.store.of_kind("apps", "daemonsets", "");
            keys.extend(sets.map(|(key, _)| key.clone()));
        }
    }
    keys
}

pub(super) fn workload_of(state: &State, owner: &Value, namespace: &str) -> Option<Key> {
    let field = |name: &str| owner[name].as_str().unwrap_or_default();
    let kind = state.registry.by_kind(field("apiVersion"), field("kind"))?;
    let place = (kind.group.as_str(), kind.plural.as_str());
    WORKLOADS.contains(&place).then(|| Key {
        group: kind.group.clone(),
        plural: kind.plural.clone(),
        namespace: namespace.to_owned(),
        name: field("name").to_owned(),
    })
}

/// The controllers that may adopt an object without a controller.
fn adopters(state: &State, changed: &Key, object: &Value) -> Vec<Key> {
    let labels = &object["metadata"]["labels"];
    let kinds: &[&str] = match changed.plural.as_str() {
        "pods" => &["daemonsets", "replicasets", "statefulsets"],
        _ => &["deployments"],
    };
    let jobs = state.store.of_kind("batch", "jobs", &changed.namespace);
    let jobs = jobs.filter(|_| changed.plural == "pods");
    let of_kind = |plural: &&'static str| state.store.of_kind("apps", plural, &changed.namespace);
    let workloads = kinds.iter().flat_map(of_kind).chain(jobs);
    let adopters = workloads.filter(|(_, workload)| selects(&workload["spec"]["selector"], labels));
    adopters.map(|(key, _)| key.clone()).collect()
}

/// The budgets that a change of a pod, or of a controller of pods, may affect.
pub(super) fn budgets_in(state: &State, namespace: &str) -> Vec<Key> {
    let budgets = state
        .store
        .of_kind("policy", "poddisruptionbudgets", namespace);
    budgets.map(|(key, _)| key.clone()).collect()
}
