//! Which objects a controller must reconcile after a change of an object.

use std::collections::BTreeSet;

use serde_json::Value;

use super::field::controller;
use super::pod::waits_for;
use crate::kinds::pod::claims;
use crate::kinds::resource::{PODS, Resource, VOLUME_CLAIMS};
use crate::kinds::strategy;
use crate::kinds::strategy::{Controller, Enqueue};
use crate::kinds::table::strategy_of;
use crate::model::Key;
use crate::model::label::selects;
use crate::store::State;

/// The keys to reconcile after an object was stored or removed.
pub(super) fn keys_to_reconcile(state: &State, changed: &Key, object: &Value) -> BTreeSet<Key> {
    let own = strategy_of(changed.resource());
    let mut keys: BTreeSet<Key> = own
        .controller
        .map(|_| changed.clone())
        .into_iter()
        .collect();
    let namespace = changed.namespace.as_str();
    for enqueued in own.enqueues {
        match enqueued {
            Enqueue::Owner(adopters) => match controller(object) {
                Some(owner) => keys.extend(workload_of(state, owner, namespace)),
                None => keys.extend(may_adopt(state, adopters, namespace, object)),
            },
            Enqueue::InNamespace(resource) => keys.extend(all(state, *resource, namespace)),
            Enqueue::All(resource) => keys.extend(all(state, *resource, "")),
            Enqueue::PodsWithin => keys.extend(all(state, PODS, &changed.name)),
            Enqueue::Claims => {
                keys.extend(claims(object).map(|name| Key::new(VOLUME_CLAIMS, namespace, name)));
            }
            Enqueue::WaitingPods => {
                let pods = state.store.of_kind(PODS, namespace);
                let waiting = pods.filter(|(_, pod)| waits_for(pod, changed));
                keys.extend(waiting.map(|(key, _)| key.clone()));
            }
        }
    }
    keys
}

/// The key of an owner, if it is a workload.
pub(super) fn workload_of(state: &State, owner: &Value, namespace: &str) -> Option<Key> {
    let field = |name: &str| owner[name].as_str().unwrap_or_default();
    let kind = state.registry.by_kind(field("apiVersion"), field("kind"))?;
    strategy(&kind)
        .controller
        .is_some_and(Controller::is_of_workload)
        .then(|| Key::new(kind.resource(), namespace, field("name")))
}

/// The workloads of some kinds that select an object without a controller.
fn may_adopt<'a>(
    state: &'a State,
    kinds: &'a [Resource],
    namespace: &'a str,
    object: &'a Value,
) -> impl Iterator<Item = Key> + 'a {
    let of_kind = |kind: &Resource| state.store.of_kind(*kind, namespace);
    let workloads = kinds.iter().flat_map(of_kind);
    let labels = &object["metadata"]["labels"];
    workloads
        .filter(|(_, workload)| selects(&workload["spec"]["selector"], labels))
        .map(|(key, _)| key.clone())
}

/// All objects of a kind in a namespace, or in all namespaces if it is empty.
fn all<'a>(
    state: &'a State,
    resource: Resource,
    namespace: &'a str,
) -> impl Iterator<Item = Key> + 'a {
    let objects = state.store.of_kind(resource, namespace);
    objects.map(|(key, _)| key.clone())
}
