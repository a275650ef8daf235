//! The proof of the hand-written kind, and what it finds if a rule is missing or a declaration is not needed.

use std::cell::Cell;

use operator_runtime::conversion::{Conversion, Declared, Spoke, Values};
use operator_testing::ConversionProof;
use serde_json::{Value, json};

use crate::cache;

const CRD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conversion/caches.yaml");

fn convert(conversion: &Conversion) -> impl Fn(&Value, &str) -> Result<Value, String> {
    |object, to| {
        conversion
            .convert(object, to)
            .map_err(|error| error.to_string())
    }
}

#[test]
fn the_conversions_of_a_kind_with_three_versions_lose_nothing() {
    let conversion = cache::conversion();
    ConversionProof::new(CRD, conversion.crd(), convert(&conversion)).assert();
}

/// A kind whose versions have these fields in `spec`.
fn crd(v1: Value, v2: Value) -> Value {
    let version = |name: &str, fields: Value| {
        json!({"name": name, "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
            "spec": {"type": "object", "properties": fields},
        }}}})
    };
    json!({
        "metadata": {"name": "as.b.c"},
        "spec": {"group": "b.c", "scope": "Cluster", "names": {"kind": "A"}, "versions": [version("v1", v1), version("v2", v2)]},
    })
}

fn failures(v1: Value, v2: Value, spoke: Spoke) -> Vec<String> {
    let conversion = Conversion::new("as.b.c", "v2").spoke(spoke);
    let mut proof = ConversionProof::of(&crd(v1, v2), convert(&conversion));
    for declared in conversion.declared() {
        proof = proof.declared(declared.kind(), declared.field(), declared.example());
    }
    proof.failures()
}

fn assert_finds(failures: &[String], beginnings: &[&str]) {
    for beginning in beginnings {
        let is_found = failures
            .iter()
            .any(|failure| failure.starts_with(beginning));
        assert!(is_found, "{beginning} is not in {failures:#?}");
    }
    let is_expected = |failure: &&String| beginnings.iter().any(|it| failure.starts_with(it));
    let others: Vec<_> = failures.iter().filter(|it| !is_expected(it)).collect();
    assert!(others.is_empty(), "{others:#?}");
}

fn text() -> Value {
    json!({"type": "string"})
}

fn old(spec: Value) -> Value {
    json!({"apiVersion": "b.c/v1", "kind": "A", "metadata": {"name": "a"}, "spec": spec})
}

#[test]
fn a_field_that_only_one_version_has_needs_a_rule() {
    let fields = || (json!({"a": text(), "b": text()}), json!({"a": text()}));
    let (v1, v2) = fields();
    assert_finds(
        &failures(v1, v2, Spoke::new("v1")),
        &[
            "v2 spec.b: the conversion from v1 writes this field",
            "v1 spec.b: \"\" becomes absent on the way v1 -> v2 -> v1",
        ],
    );
    let (v1, v2) = fields();
    assert_finds(
        &failures(v1, v2, Spoke::new("v1").only_in_spoke("spec.b")),
        &[],
    );
}

#[test]
fn a_value_that_the_other_version_refuses_is_found() {
    let mode = |values: &[&str]| json!({"mode": {"type": "string", "enum": values}});
    let without = failures(mode(&["a", "b"]), mode(&["a"]), Spoke::new("v1"));
    assert_finds(&without, &["v2 spec.mode: Unsupported value: \"b\""]);
    let values = Values::new().only_in_spoke("b", "a");
    let with = Spoke::new("v1").values("spec.mode", "spec.mode", values);
    assert_finds(&failures(mode(&["a", "b"]), mode(&["a"]), with), &[]);
}

#[test]
fn a_default_of_one_version_is_found() {
    let field = || json!({"a": {"type": "integer"}});
    let with_default = json!({"a": {"type": "integer", "default": 3}});
    let found = failures(field(), with_default.clone(), Spoke::new("v1"));
    assert_finds(
        &found,
        &["v1 spec.a: absent becomes 3 on the way v1 -> v2 -> v1"],
    );
    let rule = Spoke::new("v1").default_in_hub("spec.a", 3);
    assert_finds(&failures(field(), with_default, rule), &[]);
}

#[test]
fn a_required_field_of_one_version_is_found() {
    let container = |required: &[&str]| json!({"a": {"type": "object", "required": required, "properties": {"b": text()}}});
    let found = failures(container(&[]), container(&["b"]), Spoke::new("v1"));
    assert_finds(&found, &["v2 spec.a.b: Required value"]);
    let rule = Spoke::new("v1").supply_hub("spec.a.b", |_: &Value| Ok("supplied"));
    assert_finds(&failures(container(&[]), container(&["b"]), rule), &[]);
}

#[test]
fn an_answer_that_fails_or_is_not_undone_is_found() {
    let number = || json!({"a": {"type": "integer", "minimum": 0, "maximum": 9}});
    let fails = Spoke::new("v1").answer(
        "spec.a",
        "spec.a",
        |_: i64| Err::<i64, _>(anyhow::anyhow!("odd").into()),
        |a: i64| Ok(a),
    );
    let found = failures(number(), number(), fails);
    assert_finds(&found, &["v1 spec.a: cannot be converted: v1 spec.a: odd"]);
}

#[test]
fn changed_metadata_a_wrong_version_and_an_unstable_result_are_found() {
    let v1 = json!({"a": text()});
    let found = |change: &dyn Fn(&mut Value)| {
        let convert = |object: &Value, to: &str| {
            let mut converted = object.clone();
            converted["apiVersion"] = to.into();
            change(&mut converted);
            Ok(converted)
        };
        ConversionProof::of(&crd(v1.clone(), v1.clone()), convert).failures()
    };
    assert_finds(&found(&|_| {}), &[]);
    let labeled = found(&|object| object["metadata"]["labels"]["x"] = "y".into());
    assert_finds(&labeled, &["v1 metadata.labels", "v2 metadata.labels"]);
    let annotated =
        found(&|object| object["metadata"]["annotations"]["conversion.b.c/kept"] = "{}".into());
    assert_finds(&annotated, &[]);
    let unnamed = found(&|object| object["apiVersion"] = "b.c/v1".into());
    assert_finds(
        &unnamed,
        &["v2 apiVersion: is \"b.c/v1\" instead of \"b.c/v2\""],
    );
    let count = Cell::new(0);
    let counted = found(&|object| {
        count.set(count.get() + 1);
        object["spec"]["a"] = count.get().to_string().into();
    });
    let unstable = counted
        .iter()
        .find(|it| it.contains("on the way v1 -> v2 -> v1 -> v2"));
    assert!(
        unstable.is_some_and(|it| it.starts_with("v2 spec.a: \"")),
        "{counted:#?}"
    );
}

#[test]
fn what_is_declared_may_be_lost_and_only_that() {
    let v1 =
        || json!({"a": text(), "b": {"type": "object", "properties": {"c": text(), "d": text()}}});
    let v2 = || json!({"a": text()});
    let lossy = |example: Value| {
        Spoke::new("v1")
            .only_in_spoke("spec.b")
            .declared([Declared::lossy("spec.b.c", old(example))])
    };
    assert_finds(
        &failures(v1(), v2(), lossy(json!({"b": {"c": "x", "d": "kept"}}))),
        &[],
    );
    assert_finds(
        &failures(v1(), v2(), lossy(json!({"b": {"d": "x"}}))),
        &["v1 spec.b.c: is declared as lossy, but"],
    );
    assert_finds(
        &failures(v1(), v2(), lossy(json!({"x": 1}))),
        &[
            "v1 spec.b.c: the example of this lossy field is not a valid object: spec.x: unknown field",
        ],
    );
}

#[test]
fn a_value_that_comes_back_in_another_form_is_declared_as_normalised() {
    let v1 = || json!({"a": {"type": "string", "pattern": "^[0-9]{1,5}$"}});
    let v2 = || json!({"a": {"type": "integer", "minimum": 0, "maximum": 99999}});
    let spoke = || {
        let number = |text: String| {
            text.parse::<u32>()
                .map_err(|error| anyhow::anyhow!(error).into())
        };
        Spoke::new("v1").answer("spec.a", "spec.a", number, |number: u32| {
            Ok(number.to_string())
        })
    };
    let declared =
        |text: &str| spoke().declared([Declared::normalised("spec.a", old(json!({"a": text})))]);
    assert_finds(&failures(v1(), v2(), declared("007")), &[]);
    assert_finds(
        &failures(v1(), v2(), declared("7")),
        &["v1 spec.a: is declared as normalised, but"],
    );
    // without the declaration, the original form is kept
    assert_finds(&failures(v1(), v2(), spoke()), &[]);
}

#[test]
fn a_value_that_does_not_exist_in_the_other_version_is_declared_as_inexpressible() {
    let number = |max: i32| json!({"a": {"type": "integer", "minimum": 0, "maximum": max}});
    let small = |a: i64| {
        if a <= 9 {
            Ok(a)
        } else {
            Err(anyhow::anyhow!("is more than 9").into())
        }
    };
    let spoke = || Spoke::new("v1").answer("spec.a", "spec.a", small, |a: i64| Ok(a));
    let found = failures(number(20), number(9), spoke());
    assert_finds(
        &found,
        &["v1 spec.a: cannot be converted: v1 spec.a: is more than 9"],
    );
    let declared =
        |a: i64| spoke().declared([Declared::inexpressible("spec.a", old(json!({"a": a})))]);
    assert_finds(&failures(number(20), number(9), declared(10)), &[]);
    assert_finds(
        &failures(number(20), number(9), declared(9)),
        &["v1 spec.a: is declared as inexpressible, but"],
    );
}
