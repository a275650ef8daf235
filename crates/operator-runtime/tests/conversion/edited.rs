//! What happens to kept values when a client edits the object in the other version.

use operator_runtime::conversion::{Conversion, ConversionError, Spoke};
use serde_json::{Value, json};

use crate::cache;

const KEPT: &str = "conversion.cache.example.com/kept";

fn convert(object: &Value, version: &str) -> Value {
    let to = format!("cache.example.com/{version}");
    cache::conversion()
        .convert(object, &to)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn old(spec: Value) -> Value {
    json!({
        "apiVersion": "cache.example.com/v1", "kind": "Cache", "spec": spec,
        "metadata": {"name": "a", "annotations": {"note": "mine"}},
    })
}

#[test]
fn each_field_goes_to_its_place_and_comes_back() {
    let before = json!({
        "apiVersion": "cache.example.com/v1", "kind": "Cache", "metadata": {"name": "a", "labels": {"x": "y"}},
        "spec": {
            "size": 12, "host": "h", "address": "db:70", "interval": "120s", "mode": "Legacy", "comment": null,
            "password": "p", "eviction": "lru", "debug": {"level": 2}, "unknown": {"odd": [null, 1e300]},
            "pools": [{"name": "x", "size": 1, "weight": 7}], "steps": [{"run": "a", "note": "n"}, {"run": "a"}],
            "limits": {"a": {"cpu": 1, "burst": 2}, "b.c": {}},
        },
        "status": {"state": "ok"},
    });
    let hub = convert(&before, "v2");
    assert_eq!(
        hub["spec"],
        json!({
            "replicas": 12, "tier": "large", "hosts": ["h"], "endpoint": {"host": "db", "port": 70}, "intervalSeconds": 120,
            "mode": "Standard", "auth": {"password": "p"}, "eviction": "lru", "unknown": {"odd": [null, 1e300]},
            "pools": [{"id": "x", "count": 1}], "steps": [{"run": "a", "timeout": 30}, {"run": "a", "timeout": 30}],
            "limits": {"a": {"cores": 1}, "b.c": {}},
        })
    );
    assert_eq!(hub["status"], json!({"phase": "Ready"}));
    assert_eq!(convert(&hub, "v1"), before);
    assert_eq!(convert(&convert(&hub, "v3"), "v1"), before);
    assert_eq!(convert(&convert(&before, "v3"), "v2"), hub);
}

#[test]
fn an_unknown_field_is_not_carried_to_a_place_with_another_meaning() {
    let before = old(
        json!({"size": 1, "replicas": "mine", "tier": "mine", "pools": [{"name": "a", "count": "mine"}]}),
    );
    let hub = convert(&before, "v2");
    assert_eq!(
        hub["spec"],
        json!({"replicas": 1, "tier": "small", "eviction": "lru", "pools": [{"id": "a"}]})
    );
    assert_eq!(convert(&hub, "v1"), before);
    // also within an object that is moved as a whole
    let moved = Conversion::new("as.b.c", "v2").spoke(
        Spoke::new("v1")
            .moved("spec.a", "spec.b")
            .only_in_hub("spec.b.x"),
    );
    let before = json!({"apiVersion": "b.c/v1", "spec": {"a": {"x": "mine", "y": 1}}});
    let hub = moved.convert(&before, "b.c/v2").unwrap();
    assert_eq!(hub["spec"], json!({"b": {"y": 1}}));
}

#[test]
fn the_annotation_is_small_readable_and_gone_when_nothing_is_kept() {
    let hub = convert(
        &old(json!({"size": 1, "mode": "Legacy", "pools": [{"name": "x", "weight": 7}]})),
        "v2",
    );
    let kept = hub["metadata"]["annotations"][KEPT].as_str().unwrap();
    assert_eq!(
        kept,
        r#"{"format":1,"kept":{"v1":[{"path":["spec","mode"],"value":"Legacy","wrote":"Standard"},{"path":["spec","pools",[{"name":"x"}],"weight"],"value":7}]}}"#
    );
    let plain = convert(&old(json!({"size": 1, "host": "h"})), "v2");
    assert_eq!(
        plain["metadata"],
        json!({"name": "a", "annotations": {"note": "mine"}})
    );
}

#[test]
fn an_edit_in_the_other_version_wins_even_if_the_value_looks_the_same_here() {
    let mut hub = convert(
        &old(json!({"size": 1, "mode": "Legacy", "interval": "60s"})),
        "v2",
    );
    hub["spec"]["mode"] = json!("Fast");
    hub["spec"]["intervalSeconds"] = json!(61);
    let back = convert(&hub, "v1");
    assert_eq!(
        back["spec"],
        json!({"size": 1, "mode": "Standard", "interval": "61s"})
    );
    // and nothing of the hub is lost
    assert_eq!(convert(&back, "v2")["spec"], hub["spec"]);
}

#[test]
fn items_with_keys_are_found_after_others_were_moved_removed_and_edited() {
    let pools =
        json!([{"name": "a", "weight": 1}, {"name": "b", "weight": 2}, {"name": "c", "weight": 3}]);
    let mut hub = convert(&old(json!({"size": 1, "pools": pools})), "v2");
    hub["spec"]["pools"] = json!([{"id": "new"}, {"id": "c"}, {"id": "a", "count": 5}]);
    let back = convert(&hub, "v1");
    assert_eq!(
        back["spec"]["pools"],
        json!([{"name": "new"}, {"name": "c", "weight": 3}, {"name": "a", "size": 5, "weight": 1}])
    );
}

#[test]
fn items_without_keys_are_found_by_their_content() {
    let steps =
        json!([{"run": "a", "note": "1"}, {"run": "b", "note": "2"}, {"run": "b", "note": "3"}]);
    let mut hub = convert(&old(json!({"size": 1, "steps": steps})), "v2");
    let items = hub["spec"]["steps"].as_array_mut().unwrap();
    items.swap(0, 2);
    items.insert(0, json!({"run": "new", "timeout": 1}));
    items[3]["run"] = json!("edited");
    assert_eq!(
        convert(&hub, "v1")["spec"]["steps"],
        json!([{"run": "new"}, {"run": "b", "note": "2"}, {"run": "b", "note": "3"}, {"run": "edited"}])
    );
}

#[test]
fn items_are_found_if_only_the_other_version_has_rules_about_them() {
    let spoke = Spoke::new("v1")
        .moved("spec.a", "spec.b")
        .default_in_hub("spec.b[name].x", 3);
    let conversion = Conversion::new("as.b.c", "v2").spoke(spoke);
    let before = json!({"apiVersion": "b.c/v1", "metadata": {"name": "a"}, "spec": {"a": [{"name": "p", "x": 3}, {"name": "q", "x": 3}]}});
    let mut hub = conversion.convert(&before, "b.c/v2").unwrap();
    hub["spec"]["b"].as_array_mut().unwrap().remove(0);
    let back = conversion.convert(&hub, "b.c/v1").unwrap();
    assert_eq!(back["spec"], json!({"a": [{"name": "q", "x": 3}]}));
}

#[test]
fn a_parent_that_was_removed_does_not_come_back() {
    let hub = json!({
        "apiVersion": "cache.example.com/v2", "kind": "Cache", "metadata": {"name": "a"},
        "spec": {"replicas": 1, "tier": "large", "eviction": "lru", "pools": [{"id": "a", "zone": "z"}], "endpoint": {"host": "h", "port": 1, "secure": true}},
    });
    let mut old = convert(&hub, "v1");
    assert_eq!(convert(&old, "v2"), hub);
    let spec = old["spec"].as_object_mut().unwrap();
    spec.remove("pools");
    spec.remove("address");
    assert_eq!(
        convert(&old, "v2")["spec"],
        json!({"replicas": 1, "tier": "large", "eviction": "lru"})
    );
}

#[test]
fn defaults_within_defaults_are_not_kept() {
    let inner = |spoke: Spoke| spoke.default_in_hub("spec.a.b", 3);
    let outer = |spoke: Spoke| spoke.default_in_hub("spec.a", json!({}));
    let spoke = || Spoke::new("v1");
    for spoke in [inner(outer(spoke())), outer(inner(spoke()))] {
        let conversion = Conversion::new("as.b.c", "v2").spoke(spoke);
        let before = json!({"apiVersion": "b.c/v1", "spec": {}});
        let hub = conversion.convert(&before, "b.c/v2").unwrap();
        assert_eq!(
            hub,
            json!({"apiVersion": "b.c/v2", "spec": {"a": {"b": 3}}})
        );
        assert_eq!(conversion.convert(&hub, "b.c/v1").unwrap(), before);
    }
}

#[test]
fn what_is_kept_is_limited_and_the_largest_fields_are_named() {
    let object = old(
        json!({"size": 1, "debug": {"level": "x".repeat(70_000)}, "steps": [{"run": "a", "note": "n"}]}),
    );
    let error = cache::conversion()
        .convert(&object, "cache.example.com/v2")
        .unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("65536 allowed; the largest values: v1 spec.debug (70"),
        "{message}"
    );
}

#[test]
fn a_value_that_is_nested_too_deeply_to_be_read_again_is_an_error() {
    let nested = |depth: usize| {
        let value = (0..depth).fold(json!(1), |value, _| json!([value]));
        let object = old(json!({"size": 1, "debug": value}));
        cache::conversion()
            .convert(&object, "cache.example.com/v2")
            .map(|hub| convert(&hub, "v1") == object)
    };
    assert_eq!(nested(100), Ok(true));
    let error = nested(126).unwrap_err().to_string();
    assert!(error.contains("nested too deeply"), "{error}");
}

#[test]
fn a_damaged_annotation_keeps_nothing_and_does_not_stop_the_conversion() {
    for damaged in [
        "",
        "{",
        "[]",
        r#"{"format":2,"kept":{}}"#,
        r#"{"format":1,"kept":{"v1":[{"path":["metadata","name"],"value":"x"},{"path":[],"value":1},{"path":["spec","x",["a"]]},{"path":["spec"],"create":9}]}}"#,
    ] {
        let object = json!({
            "apiVersion": "cache.example.com/v2", "kind": "Cache", "spec": {"replicas": 1, "tier": "small", "eviction": "lru"},
            "metadata": {"name": "a", "annotations": {KEPT: damaged}},
        });
        let back = convert(&object, "v1");
        assert_eq!(back["spec"], json!({"size": 1}), "{damaged}");
        assert_eq!(back["metadata"], json!({"name": "a"}), "{damaged}");
    }
}

#[test]
fn a_forged_annotation_neither_contradicts_the_object_nor_makes_it_unreadable() {
    let hub = convert(
        &old(json!({"size": 1, "mode": "Legacy", "interval": "60s", "comment": null})),
        "v2",
    );
    let annotation = hub["metadata"]["annotations"][KEPT].as_str().unwrap();
    for (written, forged) in [
        // `Fast` is another mode of v2 than the `Standard` that the object has
        (r#""value":"Legacy""#, r#""value":"Standard2""#),
        // an interval that the operator cannot read
        (r#""value":"60s""#, r#""value":"soon""#),
        (r#""value":"60s""#, r#""value":"61s""#),
        (r#""value":"60s""#, r#""value":{"a":[]}"#),
    ] {
        let annotation = annotation.replace(written, forged);
        assert_ne!(annotation, hub["metadata"]["annotations"][KEPT]);
        let mut object = hub.clone();
        object["metadata"]["annotations"][KEPT] = annotation.into();
        let back = convert(&object, "v1");
        let forged = forged.trim_start_matches("\"value\":").trim_matches('"');
        assert!(!back["spec"].to_string().contains(forged), "{back}");
        assert_eq!(convert(&back, "v2")["spec"], hub["spec"], "{back}");
    }
}

#[test]
fn numbers_that_the_api_server_writes_in_another_way_are_not_edited() {
    let answer = Spoke::new("v1").answer(
        "spec.ratio",
        "spec.percent",
        |ratio: f64| Ok(ratio.clamp(0.0, 1.0) * 100.0),
        |percent: f64| Ok(percent / 100.0),
    );
    let conversion = Conversion::new("as.b.c", "v2").spoke(answer);
    let before = json!({"apiVersion": "b.c/v1", "metadata": {}, "spec": {"ratio": 7}});
    let mut hub = conversion.convert(&before, "b.c/v2").unwrap();
    assert_eq!(hub["spec"], json!({"percent": 100.0}));
    hub["spec"]["percent"] = json!(100);
    let back = conversion.convert(&hub, "b.c/v1").unwrap();
    assert_eq!(back["spec"], before["spec"]);
}

/// The API server converts such parts when a client applies an object in another version than before.
#[test]
fn a_part_of_an_object_is_converted_as_far_as_it_is_there() {
    for (version, part, other, expected) in [
        (
            "v1",
            json!({"host": "h"}),
            "v2",
            json!({"hosts": ["h"], "eviction": "lru"}),
        ),
        ("v2", json!({"endpoint": {"port": 1}}), "v1", json!({})),
        (
            "v2",
            json!({"hosts": ["h"], "tier": "small"}),
            "v3",
            json!({"hosts": ["h"], "tier": "small"}),
        ),
        ("v1", json!({}), "v3", json!({})),
    ] {
        let api_version = format!("cache.example.com/{version}");
        let part = json!({"apiVersion": api_version, "kind": "Cache", "spec": part});
        let converted = convert(&part, other);
        assert_eq!(converted["spec"], expected);
        assert_eq!(convert(&converted, version)["spec"], part["spec"]);
    }
    let part = json!({"apiVersion": "cache.example.com/v1", "kind": "Cache"});
    assert_eq!(convert(&convert(&part, "v2"), "v1"), part);
}

#[test]
fn a_sensitive_value_is_never_kept() {
    let lossy = |spoke: Spoke| {
        Conversion::new("as.b.c", "v2")
            .sensitive("v1", "spec.token")
            .spoke(spoke)
    };
    let error = lossy(Spoke::new("v1").only_in_spoke("spec.token"))
        .check()
        .unwrap_err();
    assert!(
        error.to_string().contains("v1 spec.token is sensitive"),
        "{error}"
    );

    let answer = Spoke::new("v1").answer(
        "spec.token",
        "spec.token",
        |_: String| Ok("***"),
        |token: String| Ok(token),
    );
    let object = json!({"apiVersion": "b.c/v1", "spec": {"token": "secret"}});
    let error = lossy(answer).convert(&object, "b.c/v2").unwrap_err();
    assert!(matches!(error, ConversionError::Sensitive { .. }));
    assert_eq!(
        (error.version(), error.field()),
        (Some("v1"), Some("spec.token"))
    );
    assert!(!error.to_string().contains("secret"));
    // what was written to a sensitive field is recorded as its hash
    let answer = Spoke::new("v1").answer(
        "spec.a",
        "spec.token",
        |_: String| Ok("secret"),
        |_: String| Ok("?"),
    );
    let conversion = Conversion::new("as.b.c", "v2")
        .sensitive("v2", "spec.token")
        .spoke(answer);
    let object = json!({"apiVersion": "b.c/v1", "spec": {"a": "b"}});
    let hub = conversion.convert(&object, "b.c/v2").unwrap();
    assert!(!hub["metadata"].to_string().contains("secret"));
    assert_eq!(
        conversion.convert(&hub, "b.c/v1").unwrap()["spec"],
        object["spec"]
    );
}

#[test]
fn an_answer_that_cannot_read_its_value_names_version_and_field() {
    let convert = |spec: Value| {
        cache::conversion()
            .convert(&old(spec), "cache.example.com/v2")
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        convert(json!({"size": 1, "interval": "soon"})),
        r#"v1 spec.interval: "soon" is not an interval"#
    );
    assert!(
        convert(json!({"size": 1, "address": 7}))
            .starts_with("v1 spec.address: invalid type: integer `7`")
    );
    assert!(convert(json!({"size": "x"})).starts_with("v1 spec.size: invalid type: string \"x\""));
}

#[test]
fn other_groups_and_versions_are_errors() {
    let object = old(json!({"size": 1}));
    for to in ["cache.example.com/v9", "other.example.com/v2", "v2", ""] {
        let error = cache::conversion().convert(&object, to).unwrap_err();
        assert!(
            matches!(error, ConversionError::UnknownVersion { .. }),
            "{to}"
        );
    }
    for object in [json!(null), json!([]), json!({}), json!({"apiVersion": 1})] {
        assert!(
            cache::conversion()
                .convert(&object, "cache.example.com/v2")
                .is_err(),
            "{object}"
        );
    }
}
