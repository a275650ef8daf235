//! The children that an operator creates for a sample, as text for a snapshot.

use std::time::Duration;

use operator_schema::reviewable;
use serde_json::{Map, Value};

use super::run::{Scenario, settle};
use super::stage::Stage;
use super::state::{created_children, masked};
use super::success::Phase;
use super::{Operator, Start, Trial};
use crate::fault::Faults;
use crate::schedule::Schedule;

/// The annotation of a child that is not applied. It would be a second difference for each change.
const DESIRED_HASH: &str = "/desired-hash";

impl Trial {
    /// Runs the operator in memory with each sample until it settles, and returns the children that it created, as YAML, for a snapshot.
    ///
    /// A child has the fields that the operator has set, without the defaults of the API server if it was applied; times, uids and generated
    /// names are masked, and the hash of the runtime is left out. Keys are sorted, and JSON in a text is indented.
    ///
    /// # Panics
    ///
    /// If the operator does not settle, or if the last reconciliation of an object failed.
    pub fn children<A>(&self, operator: impl Start<A>) -> String {
        Operator::with(operator, |operator| self.created(operator))
    }

    fn created(&self, operator: &Operator<'_>) -> String {
        let stage = Stage::in_memory(self);
        let mut texts = vec![];
        for sample in &self.samples {
            let children = stage.runtime().block_on(async {
                let options = self.options(&stage, sample, Scenario::Plain, Schedule::default());
                let server = stage.server(self);
                let faults = Faults::new(Schedule::default(), &self.user, &server);
                server.run(operator.start(server.faulty_client(&self.user, &faults), &server));
                let before = server.objects().await;
                server.await_webhooks().await;
                let created = server.install_patiently(&sample.text).await;
                created.unwrap_or_else(|error| panic!("the sample: {error}"));
                settle(&server, &faults, &options, Duration::ZERO).await?;
                if operator.reports {
                    let phase = Phase::WithSample;
                    self.check_success(&server, sample, phase).await?;
                }
                Ok(created_children(&server, &faults, &before).await)
            });
            let children = children.unwrap_or_else(|why: String| panic!("{why}"));
            texts.extend(children.iter().map(|child| {
                let child = reviewable(&masked(&as_set(child)));
                serde_yaml::to_string(&child).expect("JSON values are YAML")
            }));
        }
        texts.join("---\n")
    }
}

/// The fields of an object that its writers have set, by its managed fields, and what identifies it.
fn as_set(object: &Value) -> Value {
    let managers = object["metadata"]["managedFields"].as_array();
    let managers = managers.into_iter().flatten();
    let mut fields = Map::new();
    for manager in managers.filter(|it| it["subresource"].is_null()) {
        if let Some(of_manager) = manager["fieldsV1"].as_object() {
            merge(&mut fields, of_manager);
        }
    }
    let mut set = part(object, &fields);
    if let Some(metadata) = set["metadata"].as_object_mut()
        && let Some(annotations) = metadata.get_mut("annotations")
        && let Some(annotations) = annotations.as_object_mut()
    {
        annotations.retain(|name, _| !name.ends_with(DESIRED_HASH));
        if annotations.is_empty() {
            metadata.shift_remove("annotations");
        }
    }
    for field in ["apiVersion", "kind"] {
        set[field] = object[field].clone();
    }
    for field in ["name", "namespace", "generateName"] {
        if let Some(value) = object["metadata"].get(field) {
            set["metadata"][field] = value.clone();
        }
    }
    set
}

/// Adds the [fields](https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management) of another manager.
fn merge(fields: &mut Map<String, Value>, others: &Map<String, Value>) {
    for (name, other) in others {
        match (fields.get_mut(name), other) {
            (Some(Value::Object(below)), Value::Object(other)) => merge(below, other),
            _ => drop(fields.insert(name.clone(), other.clone())),
        }
    }
}

/// The part of a value that managed fields select. A field with none below it is selected as a whole.
fn part(value: &Value, fields: &Map<String, Value>) -> Value {
    let below = |selector: &Value, value: &Value| match selector.as_object() {
        Some(fields) if !fields.is_empty() => part(value, fields),
        _ => value.clone(),
    };
    match value {
        Value::Object(members) => members
            .iter()
            .filter_map(|(name, value)| {
                let selector = fields.get(&format!("f:{name}"))?;
                Some((name.clone(), below(selector, value)))
            })
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items
            .iter()
            .filter_map(|item| {
                let (_, selector) = fields.iter().find(|(name, _)| selects(name, item))?;
                Some(below(selector, item))
            })
            .collect(),
        value => value.clone(),
    }
}

/// Whether `k:{"name":"a"}` or `v:1` selects an item of a list.
fn selects(selector: &str, item: &Value) -> bool {
    match selector.split_once(':') {
        Some(("k", keys)) => match serde_json::from_str::<Map<String, Value>>(keys) {
            Ok(keys) => keys.iter().all(|(key, value)| item[key] == *value),
            Err(_) => false,
        },
        Some(("v", value)) => serde_json::from_str::<Value>(value).is_ok_and(|it| it == *item),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_child_has_what_its_writers_have_set() {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "a", "namespace": "b", "uid": "c", "labels": {"x": "1", "y": "2"},
                "finalizers": ["f", "g"], "annotations": {"o/desired-hash": "1"},
                "managedFields": [
                    {"manager": "o", "fieldsV1": {
                        "f:metadata": {
                            "f:labels": {"f:x": {}}, "f:annotations": {"f:o/desired-hash": {}}, "f:finalizers": {"v:\"g\"": {}},
                        },
                        "f:spec": {"f:ports": {"k:{\"port\":80}": {".": {}, "f:port": {}}}, "f:emptyDir": {}},
                    }},
                    {"manager": "p", "fieldsV1": {"f:spec": {"f:paused": {}}}},
                    {"manager": "q", "subresource": "status", "fieldsV1": {"f:status": {}}},
                ],
            },
            "spec": {"ports": [{"port": 81}, {"port": 80, "protocol": "TCP"}], "emptyDir": {}, "paused": true, "replicas": 1},
            "status": {"replicas": 1},
        });
        let expected = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "namespace": "b", "labels": {"x": "1"}, "finalizers": ["g"]},
            "spec": {"ports": [{"port": 80}], "emptyDir": {}, "paused": true},
        });
        assert_eq!(as_set(&object), expected);
        let mut object = object;
        object["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:annotations"] =
            json!({"f:other": {}});
        object["metadata"]["annotations"] = json!({"other": "2"});
        assert_eq!(
            as_set(&object)["metadata"]["annotations"],
            json!({"other": "2"})
        );
        object["metadata"] = json!({
            "name": "a",
            "managedFields": [{"manager": "o", "fieldsV1": {"f:spec": {"f:paused": {}}}}],
        });
        assert_eq!(as_set(&object)["metadata"], json!({"name": "a"}));
    }
}
