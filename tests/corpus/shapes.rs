//! The real CRDs that `$CORPUS` names: how many types there are for their shapes, and for which part of them k8s-openapi has types.

use std::collections::{BTreeMap, BTreeSet};

use cargo_operator::types::{self, SchemaMode};
use serde_json::Value;

use crate::definitions::corpus;

/// Compares the number of types with the number of different sub-schemas. Two sub-schemas are equal if only their descriptions, defaults
/// and nullability differ.
#[test]
fn equal_shapes_are_one_type() {
    let mut most = (0.0, String::new());
    let (mut types, mut shapes) = (0, 0);
    for api in corpus() {
        for version in &api.versions {
            let record = types::module(&api, version, SchemaMode::Derive)
                .facts
                .record();
            let schema = serde_json::to_value(&version.schema).unwrap();
            let heads = record.lines().filter(|line| !line.starts_with([' ', '#']));
            let heads: Vec<(&str, &str)> = heads.filter_map(|line| line.split_once(" /")).collect();
            let distinct: BTreeSet<String> =
                heads.iter().map(|(_, path)| shape(&schema, path)).collect();
            let is_own = |(head, _): &&(&str, &str)| !head.starts_with("type ");
            let own = heads.iter().filter(is_own).count();
            types += own;
            shapes += distinct.len();
            let ratio = own as f64 / distinct.len().max(1) as f64;
            if ratio > most.0 {
                most = (ratio, format!("{} {}", api.name(), version.name));
            }
        }
    }
    if types > 0 {
        let ratio = types as f64 / shapes as f64;
        eprintln!("{types} types for {shapes} shapes: {ratio:.4}; at most {most:?}");
        assert!(ratio <= 1.05, "{ratio}");
    }
}

/// The node at a path of wire names, as text, without the keywords that do not affect its type.
fn shape(schema: &Value, path: &str) -> String {
    let mut node = schema;
    for wire in path.split('/') {
        let wire = wire.replace("~1", "/").replace("~0", "~");
        while node["properties"][&wire].is_null() {
            node = inner(node).expect("the path is one of the schema");
        }
        node = &node["properties"][&wire];
    }
    while node["properties"].is_null() {
        match inner(node) {
            Some(inner) => node = inner,
            None => break,
        }
    }
    let mut node = node.clone();
    let keywords = node.as_object_mut().expect("a schema is an object");
    keywords
        .retain(|keyword, _| !["description", "default", "nullable"].contains(&keyword.as_str()));
    keywords.sort_keys();
    node.to_string()
}

/// The schema of the items of a list, or of the values of a map.
fn inner(node: &Value) -> Option<&Value> {
    ["items", "additionalProperties"]
        .into_iter()
        .map(|keyword| &node[keyword])
        .find(|inner| inner.is_object())
}

/// The schemas of these types are inserted as JSON, because attributes cannot be added to types of another crate.
#[test]
fn k8s_openapi_has_types_for_a_part_of_the_schemas() {
    let (mut all, mut foreign) = (0, 0);
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for api in corpus() {
        for version in &api.versions {
            let record = types::module(&api, version, SchemaMode::Derive)
                .facts
                .record();
            let schema = serde_json::to_value(&version.schema).unwrap();
            all += nodes(&schema);
            let fields = fields(&record);
            let root = record
                .lines()
                .nth(1)
                .and_then(|line| line.split(' ').nth(1));
            let mut open = vec![(root.unwrap(), &schema)];
            while let Some((owner, node)) = open.pop() {
                for (wire, type_) in fields.get(owner).into_iter().flatten() {
                    let mut node = &node["properties"][*wire];
                    let whole = node;
                    while let (true, Some(below)) = (node["properties"].is_null(), inner(node)) {
                        node = below;
                    }
                    if fields.contains_key(type_) {
                        open.push((type_, node));
                    } else if node["properties"].is_object() {
                        *places.entry((*type_).to_owned()).or_default() += 1;
                        foreign += nodes(whole);
                    }
                }
            }
        }
    }
    if all == 0 {
        return;
    }
    for (name, count) in &places {
        eprintln!("{count:>5} {name}");
    }
    let count: usize = places.values().sum();
    let share = 100.0 * foreign as f64 / all as f64;
    eprintln!(
        "{count} places of {} types, {foreign} of {all} nodes: {share:.1} %",
        places.len()
    );
    for name in [
        "Affinity",
        "LabelSelector",
        "ResourceRequirements",
        "Toleration",
    ] {
        assert!(places.contains_key(name), "{name}");
    }
}

/// The wire names of the fields of each type, with the types inside of their lists, maps and options.
fn fields(record: &str) -> BTreeMap<&str, Vec<(&str, &str)>> {
    let mut fields: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    let (mut open, mut aliases) = (None, vec![]);
    for line in record.lines() {
        if let Some(field) = line.strip_prefix("  ") {
            let (wire, type_) = field.rsplit_once(": ").unwrap();
            let names = type_.trim_end_matches('>');
            let name = names.rsplit(['<', ' ']).next().unwrap();
            if let Some(open) = open {
                fields.entry(open).or_default().push((wire, name));
            }
            continue;
        }
        let head: Vec<&str> = line.split(' ').collect();
        open = None;
        match head.as_slice() {
            ["struct", name, ..] => {
                open = Some(*name);
                fields.entry(name).or_default();
            }
            ["enum", name, ..] => drop(fields.entry(name).or_default()),
            ["type", name, "=", first, ..] => aliases.push((*name, *first)),
            _ => {}
        }
    }
    for (name, first) in aliases {
        let of_first = fields.get(first).cloned().unwrap_or_default();
        fields.insert(name, of_first);
    }
    fields
}

fn nodes(node: &Value) -> usize {
    let below = node["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(_, property)| property)
        .chain(["items", "additionalProperties"].map(|key| &node[key]));
    1 + below
        .filter(|node| node.is_object())
        .map(nodes)
        .sum::<usize>()
}
