//! Derivations of small schemas, each a list of rules and questions as text.

use serde_json::{Value, json};

use super::{Derivation, End, Path, Place, Question, Rule, derive, resolve};
use crate::crd::{self, Version};

/// Versions whose specs have these properties and required fields.
fn versions(specs: [Value; 2]) -> Vec<Version> {
    let versions = ["v1", "v2"].iter().zip(specs).map(|(name, spec)| {
        json!({
            "name": name, "served": true, "storage": *name == "v2",
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        })
    });
    let versions: Vec<Value> = versions.collect();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": versions,
        },
    });
    crd::read("widget.json", &crd.to_string())
        .unwrap()
        .remove(0)
        .versions
}

fn derived(specs: [Value; 2], renames: &[[&str; 2]]) -> Derivation {
    let versions = versions(specs);
    let paths = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let renames: Vec<_> = renames.iter().map(|it| it.map(paths)).collect();
    let [spoke, hub] = [&versions[0], &versions[1]];
    let renames = resolve(&renames, ("v1", &spoke.schema), ("v2", &hub.schema)).unwrap();
    derive(spoke, hub, &renames)
}

/// An object with these properties and required fields.
fn spec(of: &Value) -> Value {
    let mut spec = of.clone();
    spec["type"] = "object".into();
    spec
}

/// Checks the rules and questions of a spoke and a hub, whose specs are objects with these properties and required fields.
fn check(spoke: Value, hub: Value, expected: &[&str]) {
    let derivation = derived([spec(&spoke), spec(&hub)], &[]);
    assert_eq!(lines(&derivation), expected, "{spoke} {hub}");
}

fn lines(derivation: &Derivation) -> Vec<String> {
    let rules = derivation.rules.iter().map(|rule| match rule {
        Rule::Moved(place) => format!("moved {}", both(place)),
        Rule::ListOfOne(place) => format!("list of one {}", both(place)),
        Rule::OneOfList(place) => format!("one of list {}", both(place)),
        Rule::Only(end, path) => format!("only in {}: {path}", name(*end)),
        Rule::Default(end, path, value) => format!("default in {}: {path} = {value}", name(*end)),
        Rule::Empty(end, path) => format!("empty in {}: {path}", name(*end)),
        Rule::Null(end, path) => format!("null in {}: {path}", name(*end)),
        Rule::Values(place, pairs) => format!("values {}: {}", both(place), json!(pairs)),
    });
    rules
        .chain(derivation.questions.iter().map(question))
        .collect()
}

fn question(question: &Question) -> String {
    match question {
        Question::Convert(place, [spoke, hub]) => {
            format!("{}: the type changes from {spoke} to {hub}", both(place))
        }
        Question::Join(spoke, hub) => {
            let list = |paths: &[Path]| {
                let paths: Vec<String> = paths.iter().map(|it| format!("`{it}`")).collect();
                paths.join(", ")
            };
            format!("{} of the spoke are {} of the hub", list(spoke), list(hub))
        }
        Question::Supply(end, path, meant) => {
            let meant = meant.as_ref().map_or_else(String::new, |meant| {
                format!(" (or is it `{meant}` with another name?)")
            });
            let end = name(*end);
            format!("`{path}` is required in {end}, and the other version may lack it{meant}")
        }
        Question::Values(place, [spoke, hub]) => {
            let (place, spoke, hub) = (both(place), json!(spoke), json!(hub));
            format!("{place}: values only of the spoke: {spoke}; only of the hub: {hub}")
        }
        Question::Renamed(Place { spoke, hub }) => {
            format!("is `{hub}` the field `{spoke}` with another name?")
        }
    }
}

fn both(place: &Place) -> String {
    if place.spoke == place.hub {
        format!("`{}`", place.spoke)
    } else {
        format!("`{}` and `{}`", place.spoke, place.hub)
    }
}

fn name(end: End) -> &'static str {
    match end {
        End::Spoke => "the spoke",
        End::Hub => "the hub",
    }
}

fn string() -> Value {
    json!({"type": "string"})
}

#[test]
fn equal_fields_and_fields_with_other_bounds_are_carried() {
    let spoke =
        json!({"properties": {"a": {"type": "string", "description": "x", "maxLength": 3}}});
    let hub = json!({"properties": {"a": {"type": "string", "pattern": "^a"}}});
    check(spoke, hub, &[]);
}

#[test]
fn fields_of_one_version_are_kept_for_it() {
    let spoke = json!({"properties": {
        "debug": {"type": "boolean"},
        "pools": {"type": "array", "items": {"type": "object", "properties": {"a": string(), "x": {"type": "integer"}}}},
    }});
    let hub = json!({"properties": {
        "tier": string(),
        "pools": {"type": "array", "items": {"type": "object", "properties": {"a": string()}}},
    }});
    let expected = [
        "only in the spoke: spec.pools[].x",
        "only in the spoke: spec.debug",
        "only in the hub: spec.tier",
    ];
    check(spoke, hub, &expected);
}

#[test]
fn a_required_field_of_one_version_is_a_question_unless_it_has_a_value() {
    let spoke = json!({"properties": {"a": string()}});
    let hub = json!({
        "properties": {
            "a": string(),
            "class": {"type": "string", "default": "gold"},
            "empty": {"type": "object", "properties": {"a": string()}},
            "name": {"type": "object", "required": ["a"], "properties": {"a": string()}},
        },
        "required": ["a", "class", "empty", "name"],
    });
    let expected = [
        "only in the hub: spec.class",
        "default in the hub: spec.class = \"gold\"",
        "only in the hub: spec.empty",
        "empty in the hub: spec.empty",
        "only in the hub: spec.name",
        "`spec.a` is required in the hub, and the other version may lack it",
        "`spec.name` is required in the hub, and the other version may lack it",
    ];
    check(spoke, hub, &expected);
}

#[test]
fn an_object_that_becomes_required_is_empty_where_its_fields_have_their_own_rules() {
    let a = |required: Value, fields: Value| json!({"required": required, "properties": {"a": {"type": "object", "required": fields, "properties": {"b": string()}}}});
    let expected = [
        "empty in the hub: spec.a",
        "`spec.a.b` is required in the hub, and the other version may lack it",
    ];
    check(
        a(json!([]), json!([])),
        a(json!(["a"]), json!(["b"])),
        &expected,
    );
    let expected = ["`spec.a` is required in the hub, and the other version may lack it"];
    check(
        a(json!([]), json!(["b"])),
        a(json!(["a"]), json!(["b"])),
        &expected,
    );
}

#[test]
fn a_value_that_became_a_list_has_a_rule_and_other_types_are_a_question() {
    let spec = |type_: Value| json!({"properties": {"host": type_}});
    let list = |item: Value| json!({"type": "array", "items": item});
    let host = || spec(string());
    check(host(), spec(list(string())), &["list of one `spec.host`"]);
    check(spec(list(string())), host(), &["one of list `spec.host`"]);
    let integers = list(json!({"type": "integer"}));
    let changed =
        |from: &str, to: &str| format!("`spec.host`: the type changes from {from} to {to}");
    check(
        host(),
        spec(integers),
        &[&changed("string", "list of integer")],
    );
    check(
        host(),
        spec(json!({"type": "integer"})),
        &[&changed("string", "integer")],
    );
    let any = json!({"x-kubernetes-preserve-unknown-fields": true});
    check(spec(any), host(), &[&changed("any value", "string")]);
}

#[test]
fn enum_values_are_paired_by_their_words_and_the_rest_is_a_question() {
    let mode = |values: Value| json!({"properties": {"mode": {"type": "string", "enum": values}}});
    let expected = [
        "values `spec.mode`: [[\"fast\",\"Fast\"]]",
        "`spec.mode`: values only of the spoke: [\"slow\"]; only of the hub: []",
    ];
    check(
        mode(json!(["fast", "slow", "Off"])),
        mode(json!(["Fast", "Off"])),
        &expected,
    );
    check(
        mode(json!(["Fast"])),
        json!({"properties": {"mode": string()}}),
        &[],
    );
}

#[test]
fn a_field_that_may_have_been_renamed_is_a_question() {
    let integer = || json!({"type": "integer"});
    let expected = [
        "only in the spoke: spec.size",
        "only in the hub: spec.replicas",
        "is `spec.replicas` the field `spec.size` with another name?",
    ];
    let spoke = json!({"properties": {"size": integer(), "a": string()}});
    let hub = json!({"properties": {"replicas": integer(), "a": string()}});
    check(spoke.clone(), hub.clone(), &expected);
    let required = |mut spec: Value, name: &str| {
        spec["required"] = json!([name]);
        spec
    };
    let expected = [
        "only in the spoke: spec.size",
        "only in the hub: spec.replicas",
        "`spec.size` is required in the spoke, and the other version may lack it (or is it `spec.replicas` with another name?)",
        "`spec.replicas` is required in the hub, and the other version may lack it (or is it `spec.size` with another name?)",
    ];
    check(
        required(spoke, "size"),
        required(hub, "replicas"),
        &expected,
    );
}

#[test]
fn a_field_with_a_similar_name_and_another_type_may_be_the_renamed_one() {
    let integer = || json!({"type": "integer"});
    let spoke = json!({"properties": {"timeoutSeconds": integer(), "retries": integer()}});
    let hub = json!({"properties": {"defaultTimeout": string(), "backoff": string()}});
    let expected = [
        "only in the spoke: spec.timeoutSeconds",
        "only in the spoke: spec.retries",
        "only in the hub: spec.defaultTimeout",
        "only in the hub: spec.backoff",
        "is `spec.defaultTimeout` the field `spec.timeoutSeconds` with another name?",
    ];
    check(spoke.clone(), hub.clone(), &expected);
    // a field of the same type takes precedence
    let mut both = hub.clone();
    both["properties"]["seconds"] = integer();
    let derivation = derived([spec(&spoke), spec(&both)], &[]);
    let question = "is `spec.seconds` the field `spec.timeoutSeconds` with another name?";
    assert_eq!(lines(&derivation).last().unwrap(), question);
    // once the rename is declared, the question is about the type
    let rename = [["spec.timeoutSeconds", "spec.defaultTimeout"]];
    let derivation = derived([spec(&spoke), spec(&hub)], &rename);
    let question =
        "`spec.timeoutSeconds` and `spec.defaultTimeout`: the type changes from integer to string";
    assert_eq!(lines(&derivation).last().unwrap(), question);
}

#[test]
fn a_field_with_the_same_default_may_be_the_renamed_one() {
    let size = || json!({"type": "integer", "minimum": 0, "default": 1});
    let spoke = json!({"properties": {"size": size(), "port": {"type": "integer"}}});
    let hub = json!({"properties": {"replicas": size()}});
    let expected = [
        "only in the spoke: spec.size",
        "default in the spoke: spec.size = 1",
        "only in the spoke: spec.port",
        "only in the hub: spec.replicas",
        "default in the hub: spec.replicas = 1",
        "is `spec.replicas` the field `spec.size` with another name?",
    ];
    check(spoke, hub, &expected);
}

#[test]
fn declared_renames_move_a_field_and_what_is_below_it() {
    let pool = |a: &str| json!({"type": "object", "properties": {a: string(), "b": string()}});
    let spoke = json!({"type": "object", "properties": {
        "pools": {"type": "array", "items": pool("size")},
        "first": string(), "second": {"type": "integer"},
    }});
    let hub = json!({"type": "object", "properties": {
        "groups": {"type": "array", "items": pool("replicas")},
        "second": string(), "first": {"type": "integer"},
    }});
    let renames = [
        ["spec.pools", "spec.groups"],
        ["spec.pools[].size", "spec.groups[].replicas"],
        ["spec.first", "spec.second"],
        ["spec.second", "spec.first"],
    ];
    let derivation = derived([spoke, hub], &renames);
    let moved = renames.map(|[spoke, hub]| format!("moved `{spoke}` and `{hub}`"));
    assert_eq!(lines(&derivation), moved);
}

#[test]
fn defaults_and_nulls_of_one_version_have_rules() {
    let field = |more: Value| {
        let mut field = json!({"type": "string"});
        field
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"properties": {"a": field}})
    };
    let (default, null) = (json!({"default": "x"}), json!({"nullable": true}));
    check(
        field(json!({})),
        field(default.clone()),
        &["default in the hub: spec.a = \"x\""],
    );
    check(field(default.clone()), field(default.clone()), &[]);
    check(
        field(null.clone()),
        field(json!({})),
        &["null in the spoke: spec.a"],
    );
    let mut required = field(json!({}));
    required["required"] = json!(["a"]);
    check(required, field(default), &["empty"][..0]);
}

#[test]
fn a_renamed_field_may_change_its_type_and_keys_of_lists_are_known() {
    let pools = |type_: &str, name: &str| {
        let size = json!({"type": type_});
        json!({"type": "object", "properties": {"pools": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
            "items": {"type": "object", "required": ["id"], "properties": {"id": string(), name: size}},
        }}})
    };
    let renames = [["spec.pools[].size", "spec.pools[id].count"]];
    let derivation = derived(
        [pools("string", "size"), pools("integer", "count")],
        &renames,
    );
    let expected =
        "`spec.pools[id].size` and `spec.pools[id].count`: the type changes from string to integer";
    assert_eq!(lines(&derivation), [expected]);
}

#[test]
fn fields_that_are_split_are_one_question() {
    let spoke = json!({"type": "object", "properties": {"address": string()}});
    let hub = json!({"type": "object", "required": ["host"], "properties": {
        "host": string(), "port": {"type": "integer", "default": 80},
    }});
    let derivation = derived([spoke, hub], &[["spec.address", "spec.host spec.port"]]);
    let expected = [
        "default in the hub: spec.port = 80",
        "`spec.host` is required in the hub, and the other version may lack it",
        "`spec.address` of the spoke are `spec.host`, `spec.port` of the hub",
    ];
    assert_eq!(lines(&derivation), expected);
}

#[test]
fn a_rename_of_a_missing_field_or_out_of_its_list_is_an_error() {
    let list = |name: &str| {
        let item = json!({"type": "object", "properties": {name: string()}});
        json!({"type": "object", "properties": {"pools": {"type": "array", "items": item}, "tier": string()}})
    };
    let versions = versions([list("size"), list("replicas")]);
    let error = |spoke: &str, hub: &str| {
        let declared = [[vec![spoke.to_owned()], vec![hub.to_owned()]]];
        let named = |index: usize| (versions[index].name.as_str(), &versions[index].schema);
        let (_, error) = resolve(&declared, named(0), named(1)).unwrap_err();
        format!(
            "{error}; {}",
            error.help().split(',').next().unwrap_or_default()
        )
    };
    for (spoke, hub, expected) in [
        (
            "spec.pool[].size",
            "spec.pools[].replicas",
            "version `v1` has no field `spec.pool[].size`; did you mean \"spec.pools[].size\"?",
        ),
        (
            "spec.pools[].size",
            "spec.pools[].Replicas",
            "version `v2` has no field `spec.pools[].Replicas`; did you mean \"spec.pools[].replicas\"?",
        ),
        (
            "spec.zone",
            "spec.tier",
            "version `v1` has no field `spec.zone`; write the path as `kubectl explain` does",
        ),
        (
            "metadata.name",
            "spec.tier",
            "version `v1` has no field `metadata.name`; write the path as `kubectl explain` does",
        ),
        (
            "spec",
            "spec.tier",
            "version `v1` has no field `spec`; write the path as `kubectl explain` does",
        ),
        (
            "spec..x",
            "spec.tier",
            "`spec..x` is not a path of fields; write the path as `kubectl explain` does",
        ),
        (
            "spec.pools[].size",
            "spec.tier",
            "`spec.tier` is not in the same list or map as `spec.pools[].size`; a rename moves a field within an item; for everything else",
        ),
    ] {
        assert_eq!(error(spoke, hub), expected);
    }
}
