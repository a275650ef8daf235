//! Describes the changes of an object: changed fields, conditions and finalizers, or a repeated event.

use serde_json::Value;

use operator_schema::dev::{Change, Event};

/// The maximum number of changed fields to list for an object.
const SHOWN: usize = 4;

/// The events of an object that changed; `is_event` if it is a Kubernetes event.
pub fn events_of(before: Option<&Value>, after: &Value, is_event: bool) -> Vec<Event> {
    if is_event {
        return event(before, after).into_iter().collect();
    }
    let object = |change| Event::Object {
        object: named(after),
        change,
    };
    changes(before, after).into_iter().map(object).collect()
}

/// The kind, namespace and name of an object: `Deployment default/web`.
pub fn named(object: &Value) -> String {
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

/// The report of a Kubernetes event or of its repetition; `None` if its count is the same.
fn event(before: Option<&Value>, after: &Value) -> Option<Event> {
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
    let times = count(after)
        .filter(|count| *count > 1)
        .map_or_else(String::new, |count| format!(" (x{count})"));
    Some(Event::Event {
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

/// The changes of an object that are useful to the developer: its creation, fields, deletion and conditions.
fn changes(before: Option<&Value>, after: &Value) -> Vec<Change> {
    let mut changes = vec![];
    let finalizers = |object: &Value| -> Vec<String> {
        object["metadata"]["finalizers"]
            .as_array()
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
                differ(
                    &format!("metadata.{part}"),
                    &before["metadata"][part],
                    &after["metadata"][part],
                    &mut fields,
                );
            }
            let types = |object: &Value| -> Vec<String> {
                object["status"]["conditions"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|it| it["type"].as_str())
                    .map(str::to_owned)
                    .collect()
            };
            let remaining = types(after);
            let removed = types(before)
                .into_iter()
                .filter(|kind| !remaining.contains(kind));
            fields.extend(removed.map(|kind| format!("the condition {kind} was removed")));
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

/// The fields of an object, except for those that every object has.
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

/// The paths at which two values differ; conditions are reported separately.
fn differ(path: &str, before: &Value, after: &Value, changes: &mut Vec<String>) {
    match (before, after) {
        _ if before == after || path == "status.conditions" => {}
        (Value::Object(_) | Value::Null, Value::Object(_)) | (Value::Object(_), Value::Null) => {
            for name in fields_of_part(before, after) {
                differ(
                    &format!("{path}.{name}"),
                    &before[name],
                    &after[name],
                    changes,
                );
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differ(&format!("{path}[{index}]"), a, b, changes);
            }
        }
        (Value::Null, after) => changes.push(format!("{path} = {}", short(after))),
        (before, Value::Null) => changes.push(format!("{path} was {}", short(before))),
        (before, after) => changes.push(format!("{path} {} → {}", short(before), short(after))),
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
    fn changed_fields_are_reported_except_those_of_the_server() {
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
    fn a_condition_is_reported_when_it_changes() {
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
    fn the_finalizers_of_a_deleted_object_are_reported_once() {
        let before = json!({"metadata": {"finalizers": ["a/b"]}});
        let after = json!({"metadata": {"finalizers": ["a/b"], "deletionTimestamp": "now"}});
        assert_eq!(
            changes(Some(&before), &after),
            [Change::Deleting(vec!["a/b".into()])]
        );
        assert_eq!(changes(Some(&after), &after), []);
    }
}
