//! Which objects a workload controls, and whom a change of an object concerns.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::actor::{CONTROLLERS, disown, own};
use super::field::{controller, is_controlled_by, reference};
use super::pod::waits_for;
use crate::api::State;
use crate::api::metadata::{is_deleting, text};
use crate::api::protection::claims;
use crate::api::selector::selects;
use crate::api::store::Key;

/// The kinds that control pods, or what does.
const WORKLOADS: [(&str, &str); 6] = [
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "cronjobs"),
    ("batch", "jobs"),
];

impl State {
    /// What has to be looked at when an object is stored or removed.
    pub(super) fn concerned(&self, changed: &Key, object: &Value) -> BTreeSet<Key> {
        let place = (changed.group.as_str(), changed.plural.as_str());
        let mut concerned = BTreeSet::new();
        let is_pod = place == ("", "pods");
        if is_pod || WORKLOADS.contains(&place) {
            concerned.insert(changed.clone());
            match controller(object) {
                Some(owner) => concerned.extend(self.workload(owner, &changed.namespace)),
                None if is_pod || place == ("apps", "replicasets") => {
                    concerned.extend(self.adopters(changed, object));
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
            concerned.insert(changed.clone());
        }
        if is_pod || WORKLOADS.contains(&place) {
            concerned.extend(self.budgets_in(&changed.namespace));
        }
        if matches!(
            place,
            ("", "configmaps" | "persistentvolumeclaims" | "secrets")
        ) {
            let pods = self.store.of_kind("", "pods", &changed.namespace);
            let waiting = pods.filter(|(_, pod)| waits_for(pod, changed));
            concerned.extend(waiting.map(|(key, _)| key.clone()));
        }
        if is_pod {
            let services = self.store.of_kind("", "services", &changed.namespace);
            concerned.extend(services.map(|(key, _)| key.clone()));
            concerned.extend(claims(object).map(|name| Key {
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
            let pods = self.store.of_kind("", "pods", namespace);
            concerned.extend(pods.map(|(key, _)| key.clone()));
            if place.1 == "nodes" {
                let sets = self.store.of_kind("apps", "daemonsets", "");
                concerned.extend(sets.map(|(key, _)| key.clone()));
            }
        }
        concerned
    }

    pub(super) fn workload(&self, owner: &Value, namespace: &str) -> Option<Key> {
        let field = |name: &str| owner[name].as_str().unwrap_or_default();
        let kind = self.registry.by_kind(field("apiVersion"), field("kind"))?;
        let place = (kind.group.as_str(), kind.plural.as_str());
        WORKLOADS.contains(&place).then(|| Key {
            group: kind.group.clone(),
            plural: kind.plural.clone(),
            namespace: namespace.to_owned(),
            name: field("name").to_owned(),
        })
    }

    /// Those who may want to control what nobody does.
    fn adopters(&self, changed: &Key, object: &Value) -> Vec<Key> {
        let labels = &object["metadata"]["labels"];
        let kinds: &[&str] = match changed.plural.as_str() {
            "pods" => &["daemonsets", "replicasets", "statefulsets"],
            _ => &["deployments"],
        };
        let jobs = self.store.of_kind("batch", "jobs", &changed.namespace);
        let jobs = jobs.filter(|_| changed.plural == "pods");
        let of_kind =
            |plural: &&'static str| self.store.of_kind("apps", plural, &changed.namespace);
        let workloads = kinds.iter().flat_map(of_kind).chain(jobs);
        let adopters =
            workloads.filter(|(_, workload)| selects(&workload["spec"]["selector"], labels));
        adopters.map(|(key, _)| key.clone()).collect()
    }

    /// The objects of a kind that a workload controls: it lets go of those that it does not select, and takes those that it selects
    /// and nobody controls, if `is_wanted`.
    pub(super) fn claim(
        &mut self,
        owner: &Value,
        (group, plural): (&str, &str),
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Vec<Arc<Value>> {
        let namespace = text(owner, "namespace");
        let all = self.store.of_kind(group, plural, namespace);
        let all: Vec<Arc<Value>> = all
            .filter(|(_, object)| is_controlled_by(object, owner) || controller(object).is_none())
            .map(|(_, object)| object.clone())
            .collect();
        let mut claimed = Vec::new();
        for object in all {
            let is_own = is_controlled_by(&object, owner);
            let labels = &object["metadata"]["labels"];
            let is_selected = selects(&owner["spec"]["selector"], labels);
            if is_own == is_selected || is_deleting(owner) || !is_wanted(&object) {
                if is_own && is_wanted(&object) {
                    claimed.push(object);
                }
                continue;
            }
            let mut object = Value::clone(&object);
            if is_own {
                disown(&mut object, owner);
                // What has gone meanwhile is not held.
                let _released = self.write(CONTROLLERS, &object);
            } else if !is_deleting(&object) {
                own(&mut object, reference(owner));
                claimed.extend(self.write(CONTROLLERS, &object).map(Arc::new));
            }
        }
        claimed
    }

    /// The objects of a kind that an object controls.
    pub(super) fn controlled(&self, owner: &Value, group: &str, plural: &str) -> Vec<Arc<Value>> {
        let all = self.store.of_kind(group, plural, text(owner, "namespace"));
        let own = all.filter(|(_, object)| is_controlled_by(object, owner));
        own.map(|(_, object)| object.clone()).collect()
    }
}

/// Objects to be changed.
pub(super) fn copies(objects: Vec<Arc<Value>>) -> Vec<Value> {
    objects.into_iter().map(Arc::unwrap_or_clone).collect()
}
