//! The results of rules and updates are those of a real API server, which `tests/rules/record` recorded.
#![cfg(feature = "cel")]

use operator_schema::{
    Objects, Schema, apply_defaults, rule_faults, rule_violations, unchecked_rules,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

const CASES: &str = include_str!("../rules/cases.yaml");
const RECORDED: &str = include_str!("../rules/recorded.json");

fn schema(schema: Value) -> Schema {
    serde_json::from_value(schema).unwrap()
}

#[test]
fn results_are_those_of_the_api_server() {
    let cases: Vec<Value> = serde_yaml::from_str(CASES).unwrap();
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    assert!(cases.len() >= 30);
    let mut wrong = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let name = case["name"].as_str().unwrap();
        let schema = schema(match case.get("root") {
            Some(root) => root.clone(),
            None => json!({"type": "object", "properties": {"spec": case["schema"]}}),
        });
        let whole = |spec: &Value| {
            json!({
                "apiVersion": format!("case{index}.example.com/v1"), "kind": "Case",
                "metadata": {"name": "x"}, "spec": spec,
            })
        };
        let found = match case.get("old") {
            Some(old) => schema.validate_update(&whole(old), &whole(&case["new"])),
            None => schema.validate(&whole(&case["new"])),
        };
        let reported: Vec<Value> = found
            .violations
            .iter()
            .map(|it| json!({"field": it.path, "reason": it.reason.as_str(), "message": it.detail}))
            .collect();
        let expected = recorded["causes"][name].as_array().expect(name);
        let without = |list: &[Value], other: &[Value]| {
            let count = |list: &[Value], it: &Value| list.iter().filter(|one| *one == it).count();
            let more = |it: &&Value| count(list, it) > count(other, it);
            list.iter().filter(more).cloned().collect::<Vec<_>>()
        };
        let (lacking, more) = (without(expected, &reported), without(&reported, expected));
        if !(lacking.is_empty() && more.is_empty() && found.unsupported.is_empty()) {
            wrong.push(format!(
                "{name}\n  expected {lacking:?}\n  found    {more:?}\n  {:?}",
                found.unsupported
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn unsupported_expressions_are_reported() {
    let schema = schema(
        json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.nosuch()"}, {"rule": "self.("}]}),
    );
    let judgement = rule_violations(&schema, &json!({}), None);
    assert_eq!(judgement.violations, []);
    let [function, syntax] = judgement.unsupported.as_slice() else {
        panic!("{judgement:?}");
    };
    assert_eq!(function.pointer, "/x-kubernetes-validations/0");
    assert!(function.what.contains("nosuch"), "{function}");
    assert!(syntax.what.starts_with("syntax"), "{syntax}");
    // both are also found without an object
    let faults = rule_faults(&schema);
    assert_eq!(faults.len(), 2);
    assert_eq!(faults[1].message, syntax.what);
}

/// Reads the CRDs of this repository, or those below the folder that the environment variable `CORPUS` names.
#[test]
fn the_rules_of_real_schemas_are_evaluated() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/crds");
    let folder = std::env::var_os("CORPUS").map_or(own, PathBuf::from);
    let (mut rules, mut objects) = (HashSet::new(), 0);
    let mut lacking: BTreeMap<String, HashSet<String>> = BTreeMap::new();
    for schema in schemas(&folder) {
        assert_eq!(rule_faults(&schema), []);
        rules.extend(
            unchecked_rules(&schema)
                .into_iter()
                .map(|it| it.rule.rule.clone()),
        );
        if unchecked_rules(&schema).is_empty() {
            continue;
        }
        for mut object in Objects::new(&schema, 1).cover(200) {
            apply_defaults(&schema, &mut object);
            let judgement = rule_violations(&schema, &object, Some(&object));
            objects += 1;
            for lack in judgement.unsupported {
                lacking.entry(lack.what).or_default().insert(lack.rule);
            }
        }
    }
    let unevaluated: HashSet<_> = lacking.values().flatten().collect();
    println!(
        "{} of {} distinct rules were evaluated with {objects} objects",
        rules.len() - unevaluated.len(),
        rules.len()
    );
    for (what, rules) in &lacking {
        println!("  {what}: {}", rules.iter().next().unwrap());
    }
    assert!(unevaluated.len() * 50 <= rules.len(), "{lacking:#?}");
}

fn schemas(folder: &Path) -> Vec<Schema> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|it| it == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            for document in serde_yaml::Deserializer::from_str(&text) {
                let crd = Value::deserialize(document).unwrap();
                let versions = crd["spec"]["versions"].as_array().cloned();
                let of = |version: Value| schema(version["schema"]["openAPIV3Schema"].clone());
                found.extend(versions.into_iter().flatten().map(of));
            }
        }
    }
    found
}
