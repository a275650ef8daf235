//! Watches the objects of a kind, and sends their changes as events.

use std::collections::BTreeMap;

use futures::{StreamExt, pin_mut};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject},
    runtime::{WatchStreamExt, watcher},
};
use serde_json::Value;

use operator_schema::dev::{Change, Event, Resource};

use super::changes::{events_of, named};
use super::output::Output;

/// Which objects are reported.
#[derive(Clone, Debug)]
pub enum Scope {
    /// All objects, including existing ones.
    All,
    /// Changes of objects of these kinds (`GROUP/KIND`), of their children and of their events, because others also use the cluster.
    Of(Vec<String>),
}

/// Watches a kind until the session ends.
pub async fn follow(client: Client, resource: Resource, scope: Scope, output: Output) {
    let is_core = resource.group.is_empty();
    let api_resource = ApiResource {
        api_version: if is_core {
            resource.version.clone()
        } else {
            format!("{}/{}", resource.group, resource.version)
        },
        group: resource.group,
        version: resource.version,
        kind: resource.kind,
        plural: resource.plural,
    };
    let objects: Api<DynamicObject> = Api::all_with(client, &api_resource);
    let events = watcher(objects, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let mut known = Known {
        scope,
        resource: api_resource,
        objects: BTreeMap::new(),
        unseen: BTreeMap::new(),
        is_first: true,
    };
    // a persistent error is reported once
    let mut is_well = true;
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                is_well = true;
                known
                    .step(event)
                    .into_iter()
                    .for_each(|it| output.event(it));
            }
            // 410 Gone: the watcher lists again, for example after a change of a CRD
            Err(watcher::Error::WatchError(status)) if status.code == 410 => {}
            Err(error) => {
                if std::mem::replace(&mut is_well, false) {
                    let kind = known.resource.kind.clone();
                    output.event(Event::WatchFailed(kind, error.to_string()));
                }
            }
        }
    }
}

/// The objects of a kind, as they were last reported.
struct Known {
    scope: Scope,
    resource: ApiResource,
    objects: BTreeMap<String, Value>,
    /// The objects that existed when the watch restarted, and have not been listed since.
    unseen: BTreeMap<String, Value>,
    /// Whether the first list is not complete.
    is_first: bool,
}

impl Known {
    /// The events to report for a watch event.
    fn step(&mut self, event: watcher::Event<DynamicObject>) -> Vec<Event> {
        let is_event = self.resource.group.is_empty() && self.resource.kind == "Event";
        let is_listed = matches!(event, watcher::Event::InitApply(_));
        let mut gone = vec![];
        match event {
            watcher::Event::Init => {
                self.unseen.append(&mut self.objects);
                return vec![];
            }
            watcher::Event::InitDone => {
                self.is_first = false;
                gone.extend(std::mem::take(&mut self.unseen).into_values());
            }
            watcher::Event::Delete(object) => {
                let path = path(&object);
                gone.extend(self.objects.remove(&path));
            }
            watcher::Event::Apply(object) | watcher::Event::InitApply(object) => {
                let path = path(&object);
                let after = self.value(object);
                if !self.scope.has(&after) {
                    self.objects.remove(&path);
                    return vec![];
                }
                let before = self.unseen.remove(&path);
                let before = before.or_else(|| self.objects.remove(&path));
                let is_old = self.is_first && is_listed && matches!(self.scope, Scope::Of(_));
                let is_new_default = before.is_none() && is_of_each_namespace(&after);
                let events = if is_old || is_new_default {
                    vec![]
                } else {
                    events_of(before.as_ref(), &after, is_event)
                };
                self.objects.insert(path, after);
                return events;
            }
        }
        let deleted = |object: Value| Event::Object {
            object: named(&object),
            change: Change::Deleted,
        };
        gone.into_iter()
            .filter(|object| !is_event && !is_of_each_namespace(object))
            .map(deleted)
            .collect()
    }

    /// The object with its kind, which items of a list lack, and without secret values.
    fn value(&self, object: DynamicObject) -> Value {
        let mut object = serde_json::to_value(&object).unwrap_or_default();
        let Some(fields) = object.as_object_mut() else {
            return object;
        };
        fields.insert("kind".into(), self.resource.kind.clone().into());
        fields.insert(
            "apiVersion".into(),
            self.resource.api_version.clone().into(),
        );
        if self.resource.group.is_empty() && self.resource.kind == "Secret" {
            let secrets = fields.get_mut("data").and_then(Value::as_object_mut);
            for value in secrets.into_iter().flat_map(|it| it.values_mut()) {
                *value = format!("#{:x}", hash(value)).into();
            }
        }
        object
    }
}

/// A hash that distinguishes values within a session, and reveals nothing else.
fn hash(value: &Value) -> u32 {
    use std::hash::{BuildHasher, RandomState};
    static KEYS: std::sync::LazyLock<RandomState> = std::sync::LazyLock::new(RandomState::new);
    (KEYS.hash_one(value.to_string()) >> 32) as u32
}

fn path(object: &DynamicObject) -> String {
    format!(
        "{}/{}",
        object.namespace().unwrap_or_default(),
        object.name_any()
    )
}

impl Scope {
    fn has(&self, object: &Value) -> bool {
        let Self::Of(kinds) = self else { return true };
        let is_kind = |reference: &Value| {
            let (group, kind) = (
                group_of(reference),
                reference["kind"].as_str().unwrap_or_default(),
            );
            kinds
                .iter()
                .any(|known| *known == format!("{group}/{kind}"))
        };
        let owners = object["metadata"]["ownerReferences"].as_array();
        is_kind(object)
            || is_kind(&object["involvedObject"])
            || owners.into_iter().flatten().any(is_kind)
    }
}

/// Whether the control plane creates such an object in each namespace.
fn is_of_each_namespace(object: &Value) -> bool {
    let name = match object["kind"].as_str() {
        Some("ConfigMap") => "kube-root-ca.crt",
        Some("ServiceAccount") => "default",
        _ => return false,
    };
    object["metadata"]["name"] == name
}

fn group_of(reference: &Value) -> &str {
    let version = reference["apiVersion"].as_str().unwrap_or_default();
    version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known(kind: &str, scope: Scope) -> Known {
        Known {
            scope,
            resource: ApiResource {
                group: String::new(),
                version: "v1".into(),
                api_version: "v1".into(),
                kind: kind.into(),
                plural: String::new(),
            },
            objects: BTreeMap::new(),
            unseen: BTreeMap::new(),
            is_first: true,
        }
    }

    fn lines(events: Vec<Event>) -> Vec<String> {
        let line = |event| match event {
            Event::Object { object, change } => format!("{object} {change:?}"),
            other => format!("{other:?}"),
        };
        events.into_iter().map(line).collect()
    }

    /// An item of a list, which has no kind.
    fn listed(name: &str, data: &Value) -> DynamicObject {
        serde_json::from_value(json!({"metadata": {"name": name}, "data": data})).unwrap()
    }

    #[test]
    fn a_restarted_watch_reports_only_changes() {
        use watcher::Event::{Init, InitApply, InitDone};
        let mut known = known("ConfigMap", Scope::All);
        let (a, b) = (listed("a", &json!({"x": "1"})), listed("b", &json!({})));
        assert!(known.step(Init).is_empty());
        assert_eq!(
            lines(known.step(InitApply(a.clone()))),
            ["ConfigMap a Created"]
        );
        assert_eq!(lines(known.step(InitApply(b))), ["ConfigMap b Created"]);
        assert!(known.step(InitDone).is_empty());
        // the first list failed after its first object
        assert!(known.step(Init).is_empty());
        assert!(known.step(InitApply(a)).is_empty());
        assert!(known.step(Init).is_empty());
        let changed = known.step(InitApply(listed("a", &json!({"x": "2"}))));
        assert_eq!(lines(changed), ["ConfigMap a Fields([\"data.x 1 → 2\"])"]);
        assert_eq!(lines(known.step(InitDone)), ["ConfigMap b Deleted"]);
    }

    #[test]
    fn existing_objects_of_a_shared_cluster_are_not_reported() {
        use watcher::Event::{Apply, Init, InitApply, InitDone};
        let mut known = known("Widget", Scope::Of(vec!["/Widget".into()]));
        let existing = listed("a", &json!({"x": "1"}));
        assert!(known.step(Init).is_empty());
        assert!(known.step(InitApply(existing)).is_empty());
        assert!(known.step(InitDone).is_empty());
        let changed = known.step(Apply(listed("a", &json!({"x": "2"}))));
        assert_eq!(lines(changed), ["Widget a Fields([\"data.x 1 → 2\"])"]);
    }

    #[test]
    fn the_content_of_secrets_is_not_shown() {
        use watcher::Event::Apply;
        let mut known = known("Secret", Scope::All);
        known.step(Apply(listed(
            "a",
            &json!({"password": "b2xk", "user": "bWU="}),
        )));
        let changed = lines(known.step(Apply(listed(
            "a",
            &json!({"password": "bmV3", "user": "bWU="}),
        ))));
        assert!(
            changed[0].contains("data.password") && !changed[0].contains("user"),
            "{changed:?}"
        );
        assert!(
            !changed[0].contains("b2xk") && !changed[0].contains("bmV3"),
            "{changed:?}"
        );
    }

    #[test]
    fn on_a_shared_cluster_only_objects_of_the_project_are_reported() {
        let scope = Scope::Of(vec!["example.com/Widget".into()]);
        let owned = json!({"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Widget"}]}});
        let other = json!({"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {}});
        let event = json!({"kind": "Event", "apiVersion": "v1", "involvedObject": {"apiVersion": "example.com/v1", "kind": "Widget"}});
        assert_eq!(
            [&owned, &other, &event].map(|it| scope.has(it)),
            [true, false, true]
        );
    }

    #[test]
    fn default_objects_of_namespaces_are_reported_when_they_change() {
        use watcher::Event::{Apply, Delete};
        let mut known = known("ConfigMap", Scope::All);
        let root = |data: &str| listed("kube-root-ca.crt", &json!({"ca.crt": data}));
        assert!(known.step(Apply(root("a"))).is_empty());
        let changed = lines(known.step(Apply(root("b"))));
        assert_eq!(
            changed,
            ["ConfigMap kube-root-ca.crt Fields([\"data.ca.crt a → b\"])"]
        );
        assert!(known.step(Delete(root("b"))).is_empty());
    }
}
