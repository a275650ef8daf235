mod cases;
mod fields;
mod fold;

use std::collections::HashSet;

use super::{Change, Difference, Party, Side, Verdict, differences};
use crate::{
    crd::{self, Api},
    types,
    types::SchemaMode,
};

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, shortNames: [wd]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: SCHEMA}
";

fn read(text: &str) -> Api {
    crd::read("widget.yaml", text).unwrap().remove(0)
}

fn with_root(schema: &str) -> Api {
    read(&DEFINITION.replace("SCHEMA", schema))
}

fn with_spec(schema: &str) -> Api {
    with_root(&format!("{{type: object, properties: {{spec: {schema}}}}}"))
}

fn with_field(schema: &str) -> Api {
    with_spec(&format!("{{type: object, properties: {{a: {schema}}}}}"))
}

/// The fields of `v1` whose Rust types differ.
fn retyped(before: &Api, after: &Api) -> Vec<String> {
    let record = |api: &Api| {
        let version = api.version("v1")?;
        Some(
            types::module(api, version, SchemaMode::Embed)
                .facts
                .record(),
        )
    };
    match (record(before), record(after)) {
        (Some(before), Some(after)) => types::retyped(&before, &after)
            .into_iter()
            .map(|it| it.path.join("."))
            .collect(),
        _ => vec![],
    }
}

/// Formats differences as in the cases: `change path: message`.
fn lines(differences: &[Difference]) -> Vec<String> {
    let line = |it: &Difference| {
        if it.field_path().is_empty() {
            format!("{}: {}", it.change.as_str(), it.message)
        } else {
            format!("{} {}: {}", it.change.as_str(), it.field_path(), it.message)
        }
    };
    differences.iter().map(line).collect()
}

/// Compares in both directions, and returns the changes.
fn check(before: &Api, after: &Api, there: &[&str], back: &[&str]) -> Vec<Change> {
    let (forth, reverse) = (differences(before, after), differences(after, before));
    assert_eq!(lines(&forth), there, "{} -> {}", before.text, after.text);
    assert_eq!(lines(&reverse), back, "{} -> {}", after.text, before.text);
    for (changes, [old, new]) in [(&forth, [before, after]), (&reverse, [after, before])] {
        assert_eq!(differences(new, new), []);
        for path in retyped(old, new) {
            let breaks_readers = |it: &&Difference| it.impact.readers == Verdict::Breaking;
            let mut paths = changes
                .iter()
                .filter(breaks_readers)
                .map(Difference::field_path);
            assert!(paths.any(|it| it == path), "{path}: {changes:?}");
        }
        for difference in changes {
            let api = match difference.side {
                Side::Before => old,
                Side::After => new,
            };
            let value = serde_yaml::from_str::<serde_json::Value>(&api.text).unwrap();
            let value = value.pointer(&difference.pointer);
            assert!(value.is_some(), "{difference:?}\n{}", api.text);
            fold::assert_path(difference, api);
        }
    }
    forth.iter().chain(&reverse).map(|it| it.change).collect()
}

#[test]
fn every_change_is_reported_in_both_directions() {
    let mut seen = HashSet::new();
    for (before, after, there, back) in fields::FIELDS {
        seen.extend(check(&with_field(before), &with_field(after), there, back));
    }
    for (before, after, there, back) in cases::SPECS {
        seen.extend(check(&with_spec(before), &with_spec(after), there, back));
    }
    for (before, after, there, back) in cases::ROOTS {
        seen.extend(check(&with_root(before), &with_root(after), there, back));
    }
    let schema = "{type: object, properties: {a: {type: string}}}";
    let plain = DEFINITION.replace("SCHEMA", schema) + cases::OLDER;
    for (from, to, there, back) in cases::DEFINITIONS {
        assert!(plain.contains(from), "{from}");
        let after = read(&plain.replace(from, to));
        seen.extend(check(&read(&plain), &after, there, back));
    }
    let missed = Change::ALL.iter().filter(|change| !seen.contains(change));
    assert_eq!(missed.collect::<Vec<_>>(), Vec::<&Change>::new());
}

#[test]
fn changed_descriptions_are_not_reported() {
    let before = "{type: string, description: A, title: A, example: a}";
    let after = "{type: string, description: B}";
    check(&with_field(before), &with_field(after), &[], &[]);
    let before = "{type: string, oneOf: [{pattern: a}, {pattern: b}]}";
    let after = "{type: string, oneOf: [{pattern: b}, {pattern: a}]}";
    check(&with_field(before), &with_field(after), &[], &[]);
    let before = "{type: string, x-kubernetes-validations: [{rule: self == 'a', message: A}]}";
    let after = "{type: string, x-kubernetes-validations: [{rule: self == 'a', message: B}]}";
    check(&with_field(before), &with_field(after), &[], &[]);
    let before =
        "{type: object, required: [a, b], properties: {a: {type: string}, b: {type: string}}}";
    let after =
        "{type: object, required: [b, a], properties: {b: {type: string}, a: {type: string}}}";
    check(&with_spec(before), &with_spec(after), &[], &[]);
}

#[test]
fn differences_are_in_the_order_of_the_schema() {
    let fields = |names: &[&str]| {
        let fields: Vec<String> = names
            .iter()
            .map(|it| format!("{it}: {{type: string}}"))
            .collect();
        with_spec(&format!(
            "{{type: object, properties: {{{}}}}}",
            fields.join(", ")
        ))
    };
    let differences = differences(
        &fields(&["gone", "a", "late", "b", "last"]),
        &fields(&["new", "b", "newer", "a"]),
    );
    let paths: Vec<String> = differences.iter().map(Difference::field_path).collect();
    assert_eq!(
        paths,
        [
            "spec.gone",
            "spec.new",
            "spec.last",
            "spec.newer",
            "spec.late"
        ]
    );
}

#[test]
fn a_field_path_has_no_segments_for_items_and_values() {
    let nested = |schema: &str| {
        with_field(&format!(
            "{{type: array, items: {{type: object, additionalProperties: {{type: object, properties: {{b/c: {schema}}}}}}}}}"
        ))
    };
    let differences = differences(
        &nested("{type: string}"),
        &nested("{type: string, maxLength: 5}"),
    );
    assert_eq!(
        lines(&differences),
        ["bound-tightened spec.a.b/c: maxLength 5 is new"]
    );
    assert_eq!(
        differences[0].pointer,
        "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/items/additionalProperties/properties/b~1c/maxLength"
    );
}

#[test]
fn changes_without_ratcheting_break_stored_objects() {
    let stored = |before: &Api, after: &Api| differences(before, after)[0].impact.stored;
    let rule = "x-kubernetes-validations: [{rule: 'self.metadata.name != \"a\"'}]";
    let (without, with) = ("{type: object}", format!("{{type: object, {rule}}}"));
    assert_eq!(
        stored(&with_root(without), &with_root(&with)),
        Verdict::Breaking
    );
    assert_eq!(
        stored(&with_spec(without), &with_spec(&with)),
        Verdict::Risky
    );
    assert_eq!(
        stored(&with_root(&with), &with_root(without)),
        Verdict::Safe
    );
    // a null violates the enum, and the API server refuses it even if it has not changed
    let (plain, nullable) = ("{type: string}", "{type: string, nullable: true}");
    for (before, verdict) in [(plain, Verdict::Risky), (nullable, Verdict::Breaking)] {
        let after = before.replace('}', ", enum: [a]}");
        assert_eq!(stored(&with_field(before), &with_field(&after)), verdict);
    }
    // an atomic map counts as changed if anything in it changes
    let atomic = |spec: &str| {
        let rest = "x-kubernetes-map-type: atomic";
        with_root(&format!(
            "{{type: object, {rest}, properties: {{spec: {spec}}}}}"
        ))
    };
    assert_eq!(
        stored(
            &atomic("{type: object}"),
            &atomic("{type: object, minProperties: 1}")
        ),
        Verdict::Breaking
    );
}

#[test]
fn only_a_version_that_stays_served_breaks_its_clients() {
    let api = |served: bool, storage: bool, schema: &str| {
        let text = DEFINITION
            .replace("SCHEMA", schema)
            .replace("served: true", &format!("served: {served}"))
            .replace("storage: true", &format!("storage: {storage}"));
        let other = format!(
            "  - {{name: v2, served: true, storage: {}, schema: {{openAPIV3Schema: {{type: object}}}}}}\n",
            !storage
        );
        read(&(text + &other))
    };
    let full = "{type: object, properties: {spec: {type: object}}}";
    let broken = |was: (bool, bool), is: (bool, bool)| -> Vec<Party> {
        let differences = differences(&api(was.0, was.1, full), &api(is.0, is.1, "{type: object}"));
        let removed = |it: &&Difference| it.change == Change::FieldRemoved;
        differences.iter().find(removed).unwrap().broken().collect()
    };
    assert_eq!(broken((true, true), (true, true)), Party::ALL);
    assert_eq!(broken((true, false), (false, false)), [Party::Stored]);
    assert_eq!(broken((false, true), (false, true)), [Party::Stored]);
    assert_eq!(broken((false, true), (true, true)), [Party::Stored]);
    assert_eq!(broken((false, false), (false, false)), []);
}

#[test]
fn what_another_storage_version_prunes_is_lost_unless_a_webhook_converts() {
    let api = |v1: &str, v2: &str, stored: &str, conversion: &str| {
        let storage = |version: &str| version == stored;
        let text = DEFINITION
            .replace("SCHEMA", v1)
            .replace("storage: true", &format!("storage: {}", storage("v1")))
            .replace("  scope:", &format!("  conversion: {conversion}\n  scope:"));
        let v2 = format!(
            "  - {{name: v2, served: true, storage: {}, schema: {{openAPIV3Schema: {v2}}}}}\n",
            storage("v2")
        );
        read(&(text + &v2))
    };
    let spec = |schema: &str| format!("{{type: object, properties: {{spec: {schema}}}}}");
    let full = spec(
        "{type: object, properties: {a: {type: string}, b: {type: array, items: {type: object, properties: {c: {type: string}}}}}}",
    );
    let open = spec("{type: object, x-kubernetes-preserve-unknown-fields: true}");
    let webhook = "{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://example.com'}}}";
    for (v1, v2, conversion, expected) in [
        (&full, &full, "{strategy: None}", &[][..]),
        (&full, &open, "{strategy: None}", &[]),
        (&full, &spec("{type: object}"), webhook, &[]),
        (
            &full,
            &spec("{type: object}"),
            "{strategy: None}",
            &["spec.a", "spec.b"],
        ),
        (
            &full,
            &spec(
                "{type: object, properties: {a: {type: string}, b: {type: array, items: {type: object}}}}",
            ),
            "{strategy: None}",
            &["spec.b.c"],
        ),
        (
            &open,
            &spec("{type: object}"),
            "{strategy: None}",
            &["spec"],
        ),
    ] {
        let (before, after) = (api(v1, v2, "v1", conversion), api(v1, v2, "v2", conversion));
        let differences = differences(&before, &after);
        let lost = differences
            .iter()
            .filter(|it| it.change == Change::StoredFieldLost);
        let paths: Vec<String> = lost.clone().map(Difference::field_path).collect();
        assert_eq!(paths, expected, "{v1} {v2}");
        assert!(lost.clone().all(Difference::is_breaking));
    }
}

#[test]
fn the_documentation_matches_the_table() {
    let page = include_str!("../../../docs/evolution.md");
    let mut rows = String::new();
    for change in Change::ALL {
        let impact = change.impact();
        let [readers, stored, clients] = Party::ALL.map(|party| impact.on(party).as_str());
        let (what, reason) = (change.kind().as_str(), change.reason());
        let change = change.as_str();
        rows += &format!("| `{change}` | {what} | {readers} | {stored} | {clients} | {reason} |\n");
    }
    assert!(
        page.contains(&rows),
        "docs/evolution.md should have:\n{rows}"
    );
}

#[test]
fn the_names_of_changes_are_distinct() {
    let names: HashSet<&str> = Change::ALL.iter().map(|change| change.as_str()).collect();
    assert_eq!(names.len(), Change::ALL.len());
}
