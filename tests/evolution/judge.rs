//! How a new schema treats objects that are valid for the old one.

use std::collections::BTreeSet;

use cargo_operator::evolution::{Change, Difference, Verdict};
use operator_schema::{Objects, Schema, SchemaOrBool, Violation, apply_defaults, prune};
use serde_json::{Value, json};

use super::is_at;

/// The effects of a new schema on objects of the old one.
#[derive(Default)]
pub struct Witnesses {
    pub objects: usize,
    /// Paths that were pruned.
    lost: BTreeSet<String>,
    /// Paths for which a manifest was rejected, and why.
    refused: BTreeSet<(String, String)>,
    /// Why an update of an object that only adds a label was rejected.
    stuck: BTreeSet<String>,
    /// Paths at which a manifest that was accepted has another value than before.
    other: BTreeSet<String>,
}

impl Witnesses {
    pub fn of([before, after]: [&Schema; 2], most: usize, seed: u64) -> Self {
        let mut witnesses = Self::default();
        let mut series = Objects::new(before, seed);
        let mut objects = series.cover(most);
        objects.extend(series.take(5));
        objects.retain(Value::is_object);
        for object in &mut objects {
            object["apiVersion"] = "example.com/v1".into();
            object["kind"] = "Widget".into();
            if object["metadata"].is_null() {
                object["metadata"] = json!({});
            }
            if object["metadata"]["name"].is_null() {
                object["metadata"]["name"] = "a".into();
            }
            witnesses.judge(before, after, object);
        }
        witnesses
    }

    fn judge(&mut self, before: &Schema, after: &Schema, manifest: &Value) {
        let mut stored = manifest.clone();
        let lost = prune(before, &mut stored);
        apply_defaults(before, &mut stored);
        if !lost.is_empty() || !before.validate(&stored).violations.is_empty() {
            return;
        }
        self.objects += 1;
        let mut request = self.pruned(before, after, manifest);
        apply_defaults(after, &mut request);
        let found = after.validate(&request).violations;
        self.refused
            .extend(found.iter().map(|it| (place(after, it), it.to_string())));
        differing(
            Some(after),
            [&stored, &request],
            &mut vec![],
            &mut self.other,
        );

        let mut read = self.pruned(before, after, &stored);
        apply_defaults(after, &mut read);
        let mut update = read.clone();
        update["metadata"]["labels"]["a"] = "b".into();
        let found = after.validate_update(&read, &update).violations;
        self.stuck.extend(found.iter().map(Violation::to_string));
    }

    fn pruned(&mut self, before: &Schema, after: &Schema, object: &Value) -> Value {
        let mut pruned = object.clone();
        prune(after, &mut pruned);
        differing(Some(before), [object, &pruned], &mut vec![], &mut self.lost);
        pruned
    }

    /// Checks that the differences report all of these effects.
    pub fn check_reported(&self, found: &[Difference]) -> Result<(), String> {
        let breaks_stored = found.iter().any(|it| it.impact.stored == Verdict::Breaking);
        let breaks_clients = found
            .iter()
            .any(|it| it.impact.clients == Verdict::Breaking);
        let unless = |is_reported: bool, what: String| if is_reported { Ok(()) } else { Err(what) };
        if let Some(path) = self.lost.first() {
            unless(breaks_stored && breaks_clients, format!("{path} is pruned"))?;
            let at = |it: &Difference| {
                it.impact.stored == Verdict::Breaking && is_related(&it.field_path(), path)
            };
            unless(
                found.iter().any(at),
                format!("{path} is pruned, and no difference reports it"),
            )?;
        }
        if let Some((_, why)) = self.refused.first() {
            unless(breaks_clients, format!("a manifest is refused: {why}"))?;
        }
        if let Some(why) = self.stuck.first() {
            unless(breaks_stored, format!("no update is accepted: {why}"))?;
        }
        Ok(())
    }

    /// Whether a difference breaks one of the objects.
    pub fn has(&self, difference: &Difference) -> bool {
        let at = |path: &String| is_related(path, &difference.field_path());
        let is_default = matches!(
            difference.change,
            Change::DefaultAdded | Change::DefaultChanged | Change::DefaultRemoved
        );
        self.lost.iter().any(at)
            || self.refused.iter().any(|(path, _)| at(path))
            || is_default && self.other.iter().any(at)
    }
}

fn is_related(left: &str, right: &str) -> bool {
    is_at(left, right) || is_at(right, left)
}

/// A path without the indices of lists and the keys of maps, as far as these have no dots.
fn plain(schema: &Schema, path: &str) -> String {
    let (mut names, mut node) = (vec![], Some(schema));
    for step in path.split('.') {
        let (name, index) = step.split_once('[').unwrap_or((step, ""));
        let field = node.and_then(|node| node.properties.get(name));
        let value = node.and_then(values).filter(|_| field.is_none());
        if value.is_none() {
            names.push(name);
        }
        node = field.or(value);
        for _ in index.split_terminator(']') {
            node = node.and_then(|node| node.items.as_deref().or_else(|| values(node)));
        }
    }
    names.join(".")
}

/// The path of a violation. Those of unions have no field, but name it in their text.
fn place(schema: &Schema, violation: &Violation) -> String {
    let named = violation
        .detail
        .strip_prefix("Invalid value: \"\": \"")
        .and_then(|rest| rest.split_once('"'));
    plain(schema, named.map_or(&violation.path, |(path, _)| path))
}

/// The paths at which two values of the schema differ.
fn differing(
    schema: Option<&Schema>,
    [left, right]: [&Value; 2],
    path: &mut Vec<String>,
    found: &mut BTreeSet<String>,
) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let pair = [left, right].map(|map| map.get(key).unwrap_or(&Value::Null));
                let length = path.len();
                let field = schema.and_then(|schema| schema.properties.get(key));
                let value = schema.and_then(values).filter(|_| field.is_none());
                if value.is_none() {
                    path.push(key.clone());
                }
                differing(field.or(value), pair, path, found);
                path.truncate(length);
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            let items = schema.and_then(|schema| schema.items.as_deref());
            for (left, right) in left.iter().zip(right) {
                differing(items, [left, right], path, found);
            }
        }
        _ if left != right => drop(found.insert(path.join("."))),
        _ => {}
    }
}

/// The schema of the values of a map.
fn values(schema: &Schema) -> Option<&Schema> {
    match &schema.additional_properties {
        Some(SchemaOrBool::Schema(values)) => Some(values),
        _ => None,
    }
}
