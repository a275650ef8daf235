//! Finds the fields of the samples whose values have no effect.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use operator_schema::pointer;
use serde_json::{Value, json};

use super::super::stage::Stage;
use super::super::state::{Objects, differ, events, mask_uids};
use super::super::success::Phase;
use super::super::{Operator, Sample, Start, Trial, threads};
use super::scene::Scene;
use crate::Request;
use crate::fixture::one_object;

/// How many changes are tried for each sample.
const MOST: usize = 200;

/// How long the reconciliations of a sample are counted.
const WINDOW: Duration = Duration::from_secs(320);

/// The members of an object that its author does not write, or that identify it.
const ENVELOPE: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

/// A sample with one other value.
struct Change {
    /// The field, such as `spec.ports[].name`.
    field: String,
    sample: Sample,
    /// Both values.
    what: String,
}

/// What the changes of a sample have shown.
#[derive(Default)]
struct Findings {
    /// The fields that were tried, with a change of each.
    tried: BTreeMap<String, String>,
    /// The used fields, each with a difference that a change of it makes.
    used: BTreeMap<String, String>,
    /// The fields without another value that the schema allows.
    fixed: BTreeSet<String>,
    /// How many changes were too many.
    skipped: usize,
}

impl Trial {
    /// Declares fields that the operator does not use, such as `spec.contact` or `spec.ports[].description`; see
    /// [`assert_fields_are_used`](Self::assert_fields_are_used).
    #[must_use]
    pub fn unused(mut self, fields: &[&str]) -> Self {
        self.unused.extend(fields.iter().map(|&it| it.to_owned()));
        self
    }

    /// Runs an operator without faults, in memory, with each sample that is expected to succeed, and again with each of its values changed
    /// to another valid one. A field is used if a change makes a difference in one of the samples, or in one of them with all booleans
    /// inverted: to the objects, the events, the requests, or the number and the times of the reconciliations in five minutes.
    ///
    /// A field of which only another program makes use, such as a webhook, a pod or a reader, has no such effect. It is declared with
    /// [`unused`](Self::unused).
    ///
    /// # Panics
    ///
    /// Panics with all fields that have no effect and are not declared as unused, and with those that are declared, but are used.
    pub fn assert_fields_are_used<A>(&self, operator: impl Start<A>) {
        Operator::with(operator, |operator| self.check_fields(operator));
    }

    fn check_fields(&self, operator: &Operator<'_>) {
        let stage = Stage::in_memory(self);
        let mut found = Findings::default();
        for sample in self.samples.iter().filter(|it| it.fails.is_none()) {
            if let Err(why) = self.try_fields(&stage, operator, sample, &mut found) {
                panic!("without a change: {why}");
            }
            let original = object(sample);
            let inverted = inverted(&original);
            let is_other = inverted != original;
            let inverted = Sample {
                text: inverted.to_string(),
                fails: None,
            };
            if is_other && self.is_accepted(&stage, &inverted) {
                // an operator may fail with it
                let _failure = self.try_fields(&stage, operator, &inverted, &mut found);
            }
        }
        println!("{}", found.summary());
        let problems = found.problems(&self.unused);
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    /// Tries each field of the sample that is not yet known to be used.
    fn try_fields(
        &self,
        stage: &Stage,
        operator: &Operator<'_>,
        sample: &Sample,
        found: &mut Findings,
    ) -> Result<(), String> {
        let effect = |sample: &Sample| self.effect(stage, operator, sample);
        let [first, second] = [effect(sample)?, effect(sample)?];
        let nondeterministic = difference(&first, &second);
        let mut changes = self.changes(stage, sample, found);
        found.skipped += changes.len().saturating_sub(MOST);
        changes.truncate(MOST);
        let try_change = |change: &Change| {
            let found = match effect(&change.sample) {
                Ok(changed) => difference(&first, &changed)
                    .into_iter()
                    .find(|(path, _)| !nondeterministic.contains_key(path))
                    .map(|(_, what)| what),
                Err(why) => Some(why),
            };
            let used = found.map(|what| (change.field.clone(), what));
            used.into_iter().collect()
        };
        let used = threads::failures(threads::available(), &changes, &try_change);
        found.used.extend(used);
        let tried = changes.into_iter().map(|it| (it.field, it.what));
        found.tried.extend(tried);
        Ok(())
    }

    /// The samples with one other value each.
    fn changes(&self, stage: &Stage, sample: &Sample, found: &mut Findings) -> Vec<Change> {
        let object = object(sample);
        let schema = stage.runtime().block_on(async {
            let objects = stage.server(self).objects().await;
            schema_of(&objects, &object)
        });
        let mut changes = vec![];
        for (pointer, field) in pointer::leaves(&object) {
            let is_envelope = ENVELOPE
                .iter()
                .any(|it| field.split(['.', '[']).next() == Some(it));
            if is_envelope || found.used.contains_key(&field) {
                continue;
            }
            let others = others(
                object.pointer(&pointer).unwrap_or(&Value::Null),
                &schema_at(&schema, &pointer)["enum"],
            );
            let valid = others.into_iter().find_map(|other| {
                let mut changed = object.clone();
                let value = changed.pointer_mut(&pointer)?;
                let what = format!("{other} instead of {value}");
                *value = other;
                let sample = Sample {
                    text: changed.to_string(),
                    fails: None,
                };
                self.is_accepted(stage, &sample).then_some((sample, what))
            });
            match valid {
                Some((sample, what)) => changes.push(Change {
                    field,
                    sample,
                    what,
                }),
                None => {
                    found.fixed.insert(field);
                }
            }
        }
        changes
    }

    fn is_accepted(&self, stage: &Stage, sample: &Sample) -> bool {
        stage.runtime().block_on(async {
            let server = stage.server(self);
            server.install(&sample.text).await.is_ok()
        })
    }

    /// Everything that a user may notice of a run.
    fn effect(
        &self,
        stage: &Stage,
        operator: &Operator<'_>,
        sample: &Sample,
    ) -> Result<Value, String> {
        stage.runtime().block_on(async {
            let options = Scene::options(self, stage, sample);
            let scene = Scene::start(self, stage, operator, options).await;
            scene.install(&sample.text).await;
            scene.pass(WINDOW, "the sample was created").await?;
            scene.rest("the sample was created").await?;
            if scene.reports {
                let succeeded = self.check_success(&scene.server, sample, Phase::WithSample);
                succeeded.await?;
            }
            let with_sample = scene.state().await;
            let reconciliations = scene.server.outcomes().schedule();
            scene.uninstall(&sample.text).await;
            scene.rest("the sample was deleted").await?;
            let mut objects = [with_sample, scene.state().await];
            for state in &mut objects {
                hide_own_fields(state, &object(sample));
            }
            Ok(json!({
                "objects": objects,
                "requests": distinct(scene.faults.requests().iter().map(Request::to_string)),
                "events": distinct(events(&scene.server).await.into_values().map(|(_, event)| event)),
                "reconciliations": reconciliations,
            }))
        })
    }
}

impl Findings {
    fn summary(&self) -> String {
        let fixed: Vec<&str> = self.fixed.iter().map(String::as_str).collect();
        let mut summary = format!("fields that were tried: {}", self.tried.len());
        if !fixed.is_empty() {
            summary += &format!("; without another valid value: {}", fixed.join(", "));
        }
        if self.skipped > 0 {
            summary += &format!("; {} values more were not tried", self.skipped);
        }
        summary
    }

    fn problems(&self, declared: &[String]) -> Vec<String> {
        let mut problems = vec![];
        let is_declared = |field: &str| declared.iter().any(|it| it == field);
        let idle: Vec<(&String, &String)> = self
            .tried
            .iter()
            .filter(|(field, _)| !self.used.contains_key(*field) && !is_declared(field))
            .collect();
        if !idle.is_empty() {
            let lines = idle
                .iter()
                .map(|(field, what)| format!("\n  {field}: {what}"));
            let names: Vec<String> = idle.iter().map(|(field, _)| format!("{field:?}")).collect();
            problems.push(format!(
                "these fields have no effect:{}\nhelp: use them; if only something else does, such as a webhook or a pod, write `unused = [{}]` for the kind in operator.toml (`Trial::unused` in your own trial)",
                lines.collect::<String>(),
                names.join(", ")
            ));
        }
        for field in declared {
            if let Some(what) = self.used.get(field) {
                problems.push(format!(
                    "{field} has an effect, but `unused` in operator.toml has it: remove it there. With another value, {what}"
                ));
            }
        }
        problems
    }
}

fn object(sample: &Sample) -> Value {
    one_object(&sample.text).unwrap_or_else(|error| panic!("a sample: {error}"))
}

/// The sample with the opposite of each boolean.
fn inverted(sample: &Value) -> Value {
    fn invert(value: &mut Value) {
        match value {
            Value::Bool(value) => *value = !*value,
            Value::Object(fields) => fields.values_mut().for_each(invert),
            Value::Array(items) => items.iter_mut().for_each(invert),
            _ => {}
        }
    }
    let mut object = sample.clone();
    for (name, value) in object.as_object_mut().into_iter().flatten() {
        if !ENVELOPE.contains(&name.as_str()) {
            invert(value);
        }
    }
    object
}

/// Removes what the author of the sample wrote from the settled sample.
fn hide_own_fields(state: &mut Value, sample: &Value) {
    let objects = state.as_object_mut().into_iter().flatten();
    for object in objects.map(|(_, object)| object) {
        let is_sample = object["kind"] == sample["kind"]
            && object["metadata"]["name"] == sample["metadata"]["name"];
        if let Some(fields) = object.as_object_mut().filter(|_| is_sample) {
            fields.retain(|name, _| ENVELOPE.contains(&name.as_str()));
        }
    }
}

/// The lines as the keys of an object. How often each occurs may depend on the speed of another system.
fn distinct(lines: impl Iterator<Item = String>) -> Value {
    let lines = lines.map(|line| (mask_uids(&line).into_owned(), Value::from(true)));
    Value::Object(lines.collect())
}

fn difference(one: &Value, other: &Value) -> BTreeMap<String, String> {
    let mut differences = BTreeMap::new();
    differ("", one, other, &mut differences);
    differences
}

/// The schema of an object's version in its CRD; null if it has none.
fn schema_of(objects: &Objects, object: &Value) -> Value {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or_default();
    let is_its = |crd: &&Arc<Value>| {
        crd["kind"] == "CustomResourceDefinition"
            && crd["spec"]["group"] == group
            && crd["spec"]["names"]["kind"] == object["kind"]
    };
    let crd = objects.values().find(is_its);
    let versions = crd.and_then(|crd| crd["spec"]["versions"].as_array());
    let version = versions
        .into_iter()
        .flatten()
        .find(|it| it["name"] == version);
    version.map_or(Value::Null, |it| it["schema"]["openAPIV3Schema"].clone())
}

/// The part of a schema for a value of an object; null if it has none.
fn schema_at<'a>(schema: &'a Value, pointer: &str) -> &'a Value {
    pointer.split('/').skip(1).fold(schema, |schema, token| {
        let property = &schema["properties"][&*pointer::unescape(token)];
        let members = [property, &schema["additionalProperties"], &schema["items"]];
        members
            .into_iter()
            .find(|it| !it.is_null())
            .unwrap_or(&Value::Null)
    })
}

/// Other values of the same type. Texts may have a form, so one of them has another digit only, as `2Gi` for `1Gi`.
fn others(value: &Value, allowed: &Value) -> Vec<Value> {
    if let Some(allowed) = allowed.as_array() {
        return allowed.iter().filter(|it| *it != value).cloned().collect();
    }
    match value {
        Value::Bool(value) => vec![json!(!value)],
        Value::Number(number) => match number.as_i64() {
            Some(number) => [number.checked_add(1), number.checked_sub(1)]
                .into_iter()
                .flatten()
                .map(Value::from)
                .collect(),
            None => number
                .as_f64()
                .into_iter()
                .flat_map(|it| [json!(it + 0.5), json!(it - 0.5)])
                .collect(),
        },
        Value::String(text) => {
            let other_digit: String = text
                .chars()
                .map(|it| match it {
                    '9' => '8',
                    '0'..='8' => char::from(it as u8 + 1),
                    other => other,
                })
                .collect();
            let mut others = vec![other_digit, format!("{text}x"), format!("x{text}")];
            others.retain(|it| it != text);
            others.into_iter().map(Value::from).collect()
        }
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(tried: &[&str], used: &[&str]) -> Findings {
        Findings {
            tried: tried
                .iter()
                .map(|&it| (it.to_owned(), "2 instead of 1".to_owned()))
                .collect(),
            used: used
                .iter()
                .map(|&it| (it.to_owned(), "/x is 2, not 1".to_owned()))
                .collect(),
            ..Findings::default()
        }
    }

    #[test]
    fn a_field_is_used_or_declared() {
        let declared = |fields: &[&str]| fields.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
        let found = findings(&["spec.a", "spec.b"], &["spec.a"]);
        assert_eq!(found.problems(&declared(&["spec.b"])), [""; 0]);
        let [idle] = &found.problems(&[])[..] else {
            panic!("one problem")
        };
        assert!(
            idle.starts_with("these fields have no effect:\n  spec.b: 2 instead of 1\n"),
            "{idle}"
        );
        assert!(idle.contains(r#"`unused = ["spec.b"]`"#), "{idle}");
        let declared = declared(&["spec.a", "spec.b", "spec.of-another-sample"]);
        let [used] = &found.problems(&declared)[..] else {
            panic!("one problem")
        };
        assert!(
            used.starts_with("spec.a has an effect")
                && used.ends_with("With another value, /x is 2, not 1"),
            "{used}"
        );
    }

    #[test]
    fn values_change_within_their_enum_and_their_form() {
        for (value, allowed, expected) in [
            (json!("a"), json!(["a", "b"]), json!(["b"])),
            (json!("only"), json!(["only"]), json!([])),
            (json!(true), Value::Null, json!([false])),
            (json!(1), Value::Null, json!([2, 0])),
            (json!("1Gi"), Value::Null, json!(["2Gi", "1Gix", "x1Gi"])),
            (json!("a"), Value::Null, json!(["ax", "xa"])),
        ] {
            assert_eq!(Value::from(others(&value, &allowed)), expected, "{value}");
        }
    }

    #[test]
    fn the_schema_of_a_value_is_found_in_lists_and_maps() {
        let end = json!({"enum": ["a"]});
        let schema = json!({"properties": {
            "a/b": {"items": {"properties": {"c": end}}},
            "map": {"additionalProperties": end},
        }});
        assert_eq!(*schema_at(&schema, "/a~1b/7/c"), end);
        assert_eq!(*schema_at(&schema, "/map/any"), end);
        assert!(schema_at(&schema, "/none/any").is_null());
    }
}
