//! Names are stable under growth: additions to a schema rename nothing.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::definition;
use crate::types::{
    graph::{Shape, TypeGraph},
    lower, unique_name,
};

/// The schema whose leaves are at these paths: strings of two values, so that each leaf has a type too.
fn tree(paths: &BTreeSet<Vec<&'static str>>) -> Value {
    let mut children: BTreeMap<&str, BTreeSet<Vec<&'static str>>> = BTreeMap::new();
    for path in paths {
        if let [first, rest @ ..] = path.as_slice() {
            let below = children.entry(first).or_default();
            below.extend((!rest.is_empty()).then(|| rest.to_vec()));
        }
    }
    if children.is_empty() {
        return json!({"type": "string", "enum": ["a", "b"]});
    }
    let properties: serde_json::Map<String, Value> = children
        .iter()
        .map(|(wire, below)| ((*wire).to_owned(), tree(below)))
        .collect();
    json!({"type": "object", "properties": properties})
}

fn graph(paths: &BTreeSet<Vec<&'static str>>) -> TypeGraph {
    let api = definition(&format!("          spec: {}", tree(paths)));
    lower::lower(&api, &api.versions[0])
}

/// The name of each path's type, and the identifier of each path's field.
fn names(graph: &TypeGraph) -> BTreeMap<Vec<String>, String> {
    let mut names = BTreeMap::new();
    for definition in &graph.definitions {
        names.insert(definition.path.clone(), definition.name.clone());
        if let Shape::Struct(shape) = &definition.shape {
            for field in &shape.fields {
                let path = [
                    definition.path.as_slice(),
                    &["field".into(), field.wire.clone()],
                ];
                names.insert(path.concat(), field.ident.clone());
            }
        }
    }
    names
}

fn paths() -> impl Strategy<Value = BTreeSet<Vec<&'static str>>> {
    const WIRES: [&str; 6] = [
        "replicas",
        "clusterIPs",
        "type",
        "pod-template",
        "x509",
        "URL",
    ];
    let path = prop::collection::vec(prop::sample::select(&WIRES[..]), 1..5);
    prop::collection::btree_set(path, 1..8)
}

fn values() -> impl Strategy<Value = Vec<&'static str>> {
    const VALUES: [&str; 12] = [
        "http",
        "HTTP",
        "Http",
        "h-ttp",
        "hTTP",
        "lower http",
        "upper http",
        "_http",
        "LowerHttp",
        "UpperHttp",
        "X68747470",
        "Unrecognized",
    ];
    prop::sample::subsequence(&VALUES[..], 1..=VALUES.len()).prop_shuffle()
}

proptest! {
    #[test]
    fn appended_values_rename_no_variant(values in values(), count in 0..12_usize) {
        let before = unique_name::variants(&values[..count.min(values.len())]);
        let after = unique_name::variants(&values);
        prop_assert_eq!(&after[..before.len()], before.as_slice());
        let distinct: BTreeSet<&String> = after.iter().collect();
        prop_assert_eq!(distinct.len(), values.len());
    }

    #[test]
    fn growth_renames_nothing(old in paths(), new in paths()) {
        // A leaf that gets children becomes a struct of the same name.
        let all = old.union(&new).cloned().collect();
        let (before, after) = (names(&graph(&old)), names(&graph(&all)));
        for (path, name) in before {
            prop_assert_eq!(after.get(&path), Some(&name), "{:?}", path);
        }
    }
}
