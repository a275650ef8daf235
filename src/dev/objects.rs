//! Follows the objects of a kind, and tells what changes.

use std::collections::BTreeMap;

use futures::{StreamExt, pin_mut};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject},
    runtime::{WatchStreamExt, watcher},
};
use serde_json::Value;

use super::happening::{Change, Happening, Tell};
use crate::project::ResourceType;

/// How many changed fields of an object are named.
const SHOWN: usize = 4;

/// Whose objects are told.
#[derive(Clone, Debug)]
pub enum Scope {
    /// All of them, also those that are there already.
    All,
    /// Changes of those that belong to kinds of these groups, by `GROUP/KIND`: the cluster is not the session's alone.
    Of(Vec<String>),
}

/// Follows a kind until the session ends.
pub async fn follow(client: Client, resource: ResourceType, scope: Scope, tell: Tell) {
    let is_core = resource.group.is_empty();
    let api_resource = ApiResource {
        api_version: match is_core {
            true => resource.version.clone(),
            false => format!("{}/{}", resource.group, resource.version),
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
    // as long as a trouble lasts, it is told once
    let mut is_well = true;
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                is_well = true;
                known.step(event).into_iter().for_each(|it| tell.tell(it));
            }
            Err(error) => {
                if std::mem::replace(&mut is_well, false) {
                    let kind = known.resource.kind.clone();
                    tell.tell(Happening::Unseen(kind, error.to_string()));
                }
            }
        }
        if tell.is_closed() {
            return;
        }
    }
}

/// The objects of a kind as they were told.
struct Known {
    scope: Scope,
    resource: ApiResource,
    objects: BTreeMap<String, Value>,
    /// Those that were there when the watch began anew, and were not listed since.
    unseen: BTreeMap<String, Value>,
    is_first: bool,
}

impl Known {
    /// What is to be told of an event.
    fn step(&mut self, event: watcher::Event<DynamicObject>) -> Vec<Happening> {
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
                let told = match is_old {
                    true => vec![],
                    false => told(before.as_ref(), &after, is_event),
                };
                self.objects.insert(path, after);
                return told;
            }
        }
        let deleted = |object: Value| Happening::Object {
            object: named(&object),
            change: Change::Deleted,
        };
        let gone = gone.into_iter().filter(|_| !is_event);
        gone.map(deleted).collect()
    }

    /// The object with its kind, which those of a list do not say, and without what nobody else is to read.
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

/// What tells a value from another for as long as the session lasts, and tells nothing else.
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

fn group_of(reference: &Value) -> &str {
    let version = reference["apiVersion"].as_str().unwrap_or_default();
    version.split_once('/').map_or("", |(group, _)| group)
}

/// `Deployment default/web`.
fn named(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    place(
        &text(&object["kind"]),
        &text(&metadata["namespace"]),
        &text(&metadata["name"]),
    )
}

fn place(kind: &str, namespace: &str, name: &str) -> String {
    match namespace {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}

fn told(before: Option<&Value>, after: &Value, is_event: bool) -> Vec<Happening> {
    if is_event {
        return event(before, after).into_iter().collect();
    }
    let object = |change| Happening::Object {
        object: named(after),
        change,
    };
    changes(before, after).into_iter().map(object).collect()
}

/// An event, or one more of what it tells.
fn event(before: Option<&Value>, after: &Value) -> Option<Happening> {
    let count = |event: &Value| {
        event["series"]["count"]
            .as_i64()
            .or(event["count"].as_i64())
    };
    if before.is_some_and(|before| count(before) == count(after)) {
        return None;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let about = &after["involvedObject"];
    let times = count(after).filter(|count| *count > 1);
    let times = times.map_or_else(String::new, |count| format!(" (x{count})"));
    Some(Happening::Event {
        object: place(
            &text(&about["kind"]),
            &text(&about["namespace"]),
            &text(&about["name"]),
        ),
        kind: text(&after["type"]),
        text: format!(
            "{}: {}{times}",
            text(&after["reason"]),
            text(&after["message"])
        ),
    })
}

/// What a person wants to know of an object's new state.
fn changes(before: Option<&Value>, after: &Value) -> Vec<Change> {
    let mut changes = vec![];
    let finalizers = |object: &Value| -> Vec<String> {
        let names = object["metadata"]["finalizers"].as_array();
        names
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let is_deleting = |object: &Value| !object["metadata"]["deletionTimestamp"].is_null();
    match before {
        None => changes.push(Change::Created),
        Some(before) => {
            let mut fields = vec![];
            for part in fields_of(before, after) {
                differ(part, &before[part], &after[part], &mut fields);
            }
            for part in ["labels", "annotations", "ownerReferences", "finalizers"] {
                let path = format!("metadata.{part}");
                differ(
                    &path,
                    &before["metadata"][part],
                    &after["metadata"][part],
                    &mut fields,
                );
            }
            let kinds = |object: &Value| -> Vec<String> {
                let all = object["status"]["conditions"].as_array();
                let kinds = all
                    .into_iter()
                    .flatten()
                    .filter_map(|it| it["type"].as_str());
                kinds.map(str::to_owned).collect()
            };
            let left = kinds(after);
            let gone = kinds(before)
                .into_iter()
                .filter(|kind| !left.contains(kind));
            fields.extend(gone.map(|kind| format!("the condition {kind} is gone")));
            if !fields.is_empty() {
                changes.push(Change::Fields(shortened(fields)));
            }
        }
    }
    if is_deleting(after) && !before.is_some_and(is_deleting) {
        changes.push(Change::Deleting(finalizers(after)));
    }
    let old = |kind: &Value| {
        let all = before.and_then(|before| before["status"]["conditions"].as_array());
        all.into_iter().flatten().find(|old| old["type"] == *kind)
    };
    for new in after["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let is_same = |old: &Value| {
            ["status", "reason", "message"]
                .iter()
                .all(|it| old[*it] == new[*it])
        };
        if !new["type"].is_string() || old(&new["type"]).is_some_and(is_same) {
            continue;
        }
        let text = |name: &str| new[name].as_str().unwrap_or_default().to_owned();
        changes.push(Change::Condition {
            kind: text("type"),
            status: text("status"),
            reason: text("reason"),
            message: text("message"),
        });
    }
    changes
}

/// All but what every object has.
fn fields_of<'a>(before: &'a Value, after: &'a Value) -> Vec<&'a str> {
    let names = |object: &'a Value| {
        object
            .as_object()
            .into_iter()
            .flat_map(serde_json::Map::keys)
    };
    let mut fields: Vec<&str> = vec![];
    for name in names(after).chain(names(before)) {
        let is_common = matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
        if !is_common && !fields.contains(&name.as_str()) {
            fields.push(name);
        }
    }
    fields
}

/// The places where two values differ; conditions are told by themselves.
fn differ(path: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    match (before, after) {
        _ if before == after || path == "status.conditions" => {}
        (Value::Object(_) | Value::Null, Value::Object(_)) | (Value::Object(_), Value::Null) => {
            for name in fields_of_part(before, after) {
                differ(
                    &format!("{path}.{name}"),
                    &before[name],
                    &after[name],
                    found,
                );
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differ(&format!("{path}[{index}]"), a, b, found);
            }
        }
        (Value::Null, after) => found.push(format!("{path} = {}", short(after))),
        (before, Value::Null) => found.push(format!("{path} was {}", short(before))),
        (before, after) => found.push(format!("{path} {} → {}", short(before), short(after))),
    }
}

fn fields_of_part<'a>(before: &'a Value, after: &'a Value) -> Vec<&'a str> {
    let mut names: Vec<&str> = vec![];
    for object in [after, before].into_iter().filter_map(Value::as_object) {
        let new: Vec<&str> = object
            .keys()
            .map(String::as_str)
            .filter(|it| !names.contains(it))
            .collect();
        names.extend(new);
    }
    names
}

fn short(value: &Value) -> String {
    const LONGEST: usize = 40;
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    match text.chars().count() {
        ..=LONGEST => text,
        _ => text.chars().take(LONGEST - 1).chain(['…']).collect(),
    }
}

fn shortened(mut fields: Vec<String>) -> Vec<String> {
    let more = fields.len().saturating_sub(SHOWN);
    if more > 0 {
        fields.truncate(SHOWN);
        fields.push(format!("{more} more"));
    }
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(names: &[&str]) -> Vec<Change> {
        vec![Change::Fields(
            names.iter().map(|it| (*it).to_owned()).collect(),
        )]
    }

    #[test]
    fn fields_that_change_are_named_and_what_the_server_writes_is_not() {
        let before = json!({"metadata": {"resourceVersion": "1", "generation": 1}, "spec": {"a": 1, "b": [1, 2], "c": "x"}});
        let after = json!({"metadata": {"resourceVersion": "2", "generation": 2, "labels": {"x": "y"}}, "spec": {"a": 2, "b": [1, 3], "d": true}});
        assert_eq!(changes(Some(&before), &before), []);
        let expected = [
            "spec.a 1 → 2",
            "spec.b[1] 2 → 3",
            "spec.d = true",
            "spec.c was x",
            "1 more",
        ];
        assert_eq!(changes(Some(&before), &after), fields(&expected));
    }

    #[test]
    fn a_condition_is_told_when_it_says_something_else() {
        let object = |status: &str, time: &str| {
            let condition = json!({"type": "Ready", "status": status, "reason": "R", "message": "m", "lastTransitionTime": time});
            json!({"metadata": {}, "status": {"conditions": [condition]}})
        };
        let (before, later, after) = (
            object("False", "1"),
            object("False", "2"),
            object("True", "3"),
        );
        let condition = |status: &str| Change::Condition {
            kind: "Ready".into(),
            status: status.into(),
            reason: "R".into(),
            message: "m".into(),
        };
        assert_eq!(
            changes(None, &before),
            [Change::Created, condition("False")]
        );
        assert_eq!(changes(Some(&before), &later), []);
        assert_eq!(changes(Some(&later), &after), [condition("True")]);
    }

    #[test]
    fn an_object_that_waits_for_finalizers_says_which_once() {
        let before = json!({"metadata": {"finalizers": ["a/b"]}});
        let after = json!({"metadata": {"finalizers": ["a/b"], "deletionTimestamp": "now"}});
        assert_eq!(
            changes(Some(&before), &after),
            [Change::Deleting(vec!["a/b".into()])]
        );
        assert_eq!(changes(Some(&after), &after), []);
    }

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

    fn lines(happenings: Vec<Happening>) -> Vec<String> {
        let line = |happening| match happening {
            Happening::Object { object, change } => format!("{object} {change:?}"),
            other => format!("{other:?}"),
        };
        happenings.into_iter().map(line).collect()
    }

    /// An object of a list, which does not say its kind.
    fn listed(name: &str, data: &Value) -> DynamicObject {
        serde_json::from_value(json!({"metadata": {"name": name}, "data": data})).unwrap()
    }

    #[test]
    fn a_watch_that_begins_anew_more_than_once_tells_only_what_became_different() {
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
    fn a_shared_cluster_is_not_told_as_it_was_found() {
        use watcher::Event::{Apply, Init, InitApply, InitDone};
        let mut known = known("Widget", Scope::Of(vec!["/Widget".into()]));
        let found = listed("a", &json!({"x": "1"}));
        assert!(known.step(Init).is_empty());
        assert!(known.step(InitApply(found)).is_empty());
        assert!(known.step(InitDone).is_empty());
        let changed = known.step(Apply(listed("a", &json!({"x": "2"}))));
        assert_eq!(lines(changed), ["Widget a Fields([\"data.x 1 → 2\"])"]);
    }

    #[test]
    fn what_is_in_a_secret_is_not_shown() {
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
    fn on_a_shared_cluster_only_what_belongs_to_the_project_is_told() {
        let scope = Scope::Of(vec!["example.com/Widget".into()]);
        let owned = json!({"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Widget"}]}});
        let other = json!({"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {}});
        let event = json!({"kind": "Event", "apiVersion": "v1", "involvedObject": {"apiVersion": "example.com/v1", "kind": "Widget"}});
        assert_eq!(
            [&owned, &other, &event].map(|it| scope.has(it)),
            [true, false, true]
        );
    }
}
