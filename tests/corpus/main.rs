//! Real CRDs, if `$CORPUS` names a folder of them, and odd ones: each version has types, which express its schema, read and write its
//! objects, and return its CRD.

#[path = "../cargo/mod.rs"]
mod cargo;
mod conversions;
mod definitions;
mod kube_transforms;
mod round_trip;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};

use cargo_operator::types::{self, SchemaMode};
use serde_json::Value;

use definitions::corpus;

#[test]
fn every_version_generates_with_no_allow_and_the_same_names_in_both_modes() {
    for api in corpus() {
        for version in &api.versions {
            let modes = [SchemaMode::Derive, SchemaMode::Embed];
            let [derived, embedded] = modes.map(|mode| {
                let module = types::module(&api, version, mode);
                assert!(!module.text.contains("allow("), "{}", api.name());
                let mut names = names(&module.text);
                // no line of the text has the name of a derived root
                names.insert(module.facts.root);
                names
            });
            assert_eq!(derived, embedded, "{}", api.name());
        }
    }
}

/// The names of the public types, including aliases.
fn names(module: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let item = ["pub struct ", "pub enum ", "pub type "]
            .into_iter()
            .find_map(|item| line.strip_prefix(item))?;
        item.split_whitespace().next().map(str::to_owned)
    };
    module.lines().filter_map(name).collect()
}

#[test]
fn attributes_express_almost_all_of_the_schemas() {
    let mut shares: BTreeMap<String, Share> = BTreeMap::new();
    for api in corpus() {
        for version in &api.versions {
            let parts = types::module(&api, version, SchemaMode::Derive).parts;
            let schema = serde_json::to_value(&version.schema).unwrap();
            count(&schema, "", &parts, &mut shares);
        }
    }
    for (keyword, share) in &shares {
        let Share { carried, all } = share;
        let percent = 100.0 * *carried as f64 / *all as f64;
        eprintln!("{keyword:40} {carried:>7} of {all:>7}  {percent:>5.1} %");
        assert!(percent >= 90.0, "{keyword}");
    }
}

/// How often attributes carry a keyword, and how often it occurs at all.
#[derive(Default)]
struct Share {
    carried: usize,
    all: usize,
}

/// Counts the nodes of a schema and the keywords of each.
fn count(node: &Value, pointer: &str, parts: &[String], shares: &mut BTreeMap<String, Share>) {
    let is_part = |pointer: &str| {
        let below = |part: &String| pointer.strip_prefix(part.as_str());
        parts
            .iter()
            .filter_map(below)
            .any(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut add = |keyword: &str, is_carried: bool| {
        let share = shares.entry(keyword.to_owned()).or_default();
        share.carried += usize::from(is_carried);
        share.all += 1;
    };
    let mut is_whole = true;
    for keyword in node.as_object().into_iter().flatten().map(|(key, _)| key) {
        let is_carried = !is_part(&format!("{pointer}/{keyword}"));
        is_whole &= is_carried;
        add(keyword, is_carried);
    }
    add("(nodes)", is_whole);
    for (wire, property) in node["properties"].as_object().into_iter().flatten() {
        let wire = wire.replace('~', "~0").replace('/', "~1");
        count(
            property,
            &format!("{pointer}/properties/{wire}"),
            parts,
            shares,
        );
    }
    for keyword in ["items", "additionalProperties"] {
        if node[keyword].is_object() {
            count(
                &node[keyword],
                &format!("{pointer}/{keyword}"),
                parts,
                shares,
            );
        }
    }
}
