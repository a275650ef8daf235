//! The scalars of an object, each with its path in the schema, and the differences between objects.

use std::collections::BTreeMap;

use operator_testing::operator_schema::{Schema, SchemaOrBool};
use serde_json::Value;

/// A scalar, or another value below which nothing is.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// As rules write it, for example `spec.pools[name].size`.
    path: String,
    place: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Field(String),
    Key(String),
    Item(usize),
}

fn member<'v>(value: &'v Value, step: &Step) -> Option<&'v Value> {
    match step {
        Step::Field(name) | Step::Key(name) => value.get(name),
        Step::Item(index) => value.get(index),
    }
}

fn member_mut<'v>(value: &'v mut Value, step: &Step) -> Option<&'v mut Value> {
    match step {
        Step::Field(name) | Step::Key(name) => value.get_mut(name),
        Step::Item(index) => value.get_mut(index),
    }
}

/// The leaves of `spec`.
pub fn leaves(schema: &Schema, object: &Value) -> Vec<Leaf> {
    let mut leaves = vec![];
    collect(
        schema,
        object,
        Leaf {
            path: String::new(),
            place: vec![],
        },
        &mut leaves,
    );
    leaves
}

fn collect(schema: &Schema, value: &Value, at: Leaf, leaves: &mut Vec<Leaf>) {
    let below = |path: String, step: Step| {
        let mut place = at.place.clone();
        place.push(step);
        Leaf { path, place }
    };
    for (name, schema) in &schema.properties {
        if let Some(value) = value.get(name) {
            let dot = if at.path.is_empty() { "" } else { "." };
            collect(
                schema,
                value,
                below(format!("{}{dot}{name}", at.path), Step::Field(name.clone())),
                leaves,
            );
        }
    }
    if let (Some(SchemaOrBool::Schema(schema)), Some(map)) =
        (&schema.additional_properties, value.as_object())
    {
        for (key, value) in map {
            collect(
                schema,
                value,
                below(format!("{}{{}}", at.path), Step::Key(key.clone())),
                leaves,
            );
        }
    }
    if let (Some(items), Some(list)) = (&schema.items, value.as_array())
        && items.type_.as_deref() == Some("object")
    {
        let keys = schema.list_map_keys.join(",");
        for (index, item) in list.iter().enumerate() {
            collect(
                items,
                item,
                below(format!("{}[{keys}]", at.path), Step::Item(index)),
                leaves,
            );
        }
    } else if !value.is_object() {
        leaves.push(at);
    }
}

impl Leaf {
    pub fn value<'v>(&self, object: &'v Value) -> Option<&'v Value> {
        self.place.iter().try_fold(object, member)
    }

    /// Sets the leaf, or removes it.
    pub fn set(&self, object: &mut Value, value: Option<Value>) {
        let (last, parents) = self.place.split_last().unwrap();
        let parent = parents.iter().try_fold(object, member_mut).unwrap();
        match (last, value) {
            (Step::Item(index), Some(value)) => parent[index] = value,
            (Step::Item(index), None) => drop(parent.as_array_mut().unwrap().remove(*index)),
            (Step::Field(name) | Step::Key(name), Some(value)) => parent[name] = value,
            (Step::Field(name) | Step::Key(name), None) => {
                drop(parent.as_object_mut().unwrap().remove(name));
            }
        }
    }

    /// Whether it is in a list whose items have no keys.
    pub fn is_in_items(&self) -> bool {
        self.path.contains("[]")
    }

    /// The places of the value in the other version. For an item without keys, this is the whole list.
    pub fn counterparts(&self, places: &BTreeMap<String, Vec<String>>) -> Vec<Leaf> {
        let path = self.path.split("[]").next().unwrap();
        let is_at = |place: &str| {
            path.strip_prefix(place)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '{']))
        };
        let targets = places
            .iter()
            .filter(|(place, _)| is_at(place))
            .max_by_key(|(place, _)| place.len())
            .map_or_else(
                || panic!("no place for {path} in {places:?}"),
                |(_, targets)| targets.clone(),
            );
        targets.iter().map(|target| self.bound(target)).collect()
    }

    /// A leaf at this path, with the keys and indices of this one.
    fn bound(&self, path: &str) -> Leaf {
        let mut bindings = self
            .place
            .iter()
            .filter(|step| !matches!(step, Step::Field(_)));
        let mut place = vec![];
        for name in path.split('.') {
            let end = name.find(['[', '{']).unwrap_or(name.len());
            place.push(Step::Field(name[..end].to_owned()));
            let wildcards = name[end..].matches(['[', '{']).count();
            place.extend(bindings.by_ref().take(wildcards).cloned());
        }
        Leaf {
            path: path.to_owned(),
            place,
        }
    }

    /// Whether a difference is at this place, above it or below it.
    pub fn is_about(&self, difference: &[Step]) -> bool {
        let is_same = |pair: (&Step, &Step)| match pair {
            (Step::Field(a) | Step::Key(a), Step::Field(b) | Step::Key(b)) => a == b,
            (a, b) => a == b,
        };
        self.place.iter().zip(difference).all(is_same)
    }
}

/// The places in which two objects differ, apart from `metadata`.
pub fn differences(before: &Value, after: &Value) -> Vec<Vec<Step>> {
    let mut all = vec![];
    compare(Some(before), Some(after), &mut vec![], &mut all);
    all.retain(|place| place[0] != Step::Field("metadata".into()));
    all
}

fn compare(
    before: Option<&Value>,
    after: Option<&Value>,
    place: &mut Vec<Step>,
    all: &mut Vec<Vec<Step>>,
) {
    if before == after {
        return;
    }
    let steps: Vec<Step> = match (before, after) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let names: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
            names
                .into_iter()
                .map(|name| Step::Field(name.clone()))
                .collect()
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if a.len() == b.len() => {
            (0..a.len()).map(Step::Item).collect()
        }
        _ => return all.push(place.clone()),
    };
    for step in steps {
        let of = |value: Option<&Value>| value.and_then(|it| member(it, &step)).cloned();
        let (before, after) = (of(before), of(after));
        place.push(step);
        compare(before.as_ref(), after.as_ref(), place, all);
        place.pop();
    }
}
