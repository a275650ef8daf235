//! Rules that the API server refuses when a CRD is created; `cargo xtask oracle` compares many more with it.
#![cfg(feature = "cel")]

use operator_schema::{RuleFault, RuleFaultKind, Schema, rule_faults};
use serde_json::{Value, json};

/// The place of a rule (the root or its spec), the rule, and a part of the message, which is empty for a valid rule.
const RULES: [(&str, &str, &str); 52] = [
    ("", "self.spec.host != ''", ""),
    ("", "self.metadata.name == self.kind + self.apiVersion", ""),
    (
        "",
        "self.metadata.labels['a'] == 'b'",
        "undefined field 'labels'",
    ),
    (
        "",
        "self.nested.metadata.namespace == ''",
        "undefined field",
    ),
    (
        "/spec",
        "self.host == self.size",
        "no matching overload for '_==_' applied to '(string, int)'",
    ),
    (
        "/spec",
        "self.sizes > 1",
        "undefined field 'sizes', did you mean 'size'?",
    ),
    ("/spec", "self.free.x == 'a'", "undefined field 'x'"),
    ("/spec", "self.host.foo()", "undeclared reference to 'foo'"),
    (
        "/spec",
        "self.host",
        "the result must be of type 'bool', not 'string'",
    ),
    ("/spec", "dyn(true)", "not 'dyn'"),
    ("/spec", "self.namespace == 'a'", "undefined field"),
    ("/spec", "self.__if__ == self.if", ""),
    ("/spec", "self.x__dash__y.z__underscores__", ""),
    (
        "/spec",
        "self.host.isSorted()",
        "no matching overload for 'isSorted' applied to 'string.()'",
    ),
    (
        "/spec",
        "quantity(self.host).isGreaterThan(quantity('1'))",
        "",
    ),
    (
        "/spec",
        "cidr(self.host).containsIP('1.1.1.1') && url(self.host).getHost() == 'x'",
        "",
    ),
    (
        "/spec",
        "format.dns1123Label().validate(self.host).hasValue()",
        "",
    ),
    (
        "/spec",
        "format.dns1123Label().value().validate(self.host)",
        "no matching overload for 'value'",
    ),
    ("/spec", "self.?host.orValue('') == ''", ""),
    ("/spec", "self.?host == ''", "no matching overload"),
    ("/spec", "self.host.format([1]) == ''", ""),
    ("/spec", "'%d %s'.format([self.size, self.host]) == ''", ""),
    (
        "/spec",
        "'%d'.format([self.host]) == ''",
        "'%d' cannot format a value of type 'string'",
    ),
    ("/spec", "'%s'.format([]) == ''", "more than 0 arguments"),
    ("/spec", "'%s'.format([1, 2]) == ''", "1 arguments, not 2"),
    ("/spec", "sets.contains([1], [2])", ""),
    ("/spec", "self.size > 1.5 && self.size in [1, 2]", ""),
    (
        "/spec",
        "self.size in [1, 'a']",
        "expected type 'int' but found 'string'",
    ),
    (
        "/spec",
        "{'a': 1, 'b': true} == {}",
        "expected type 'int' but found 'bool'",
    ),
    ("/spec", "[1, dyn('a')] == []", "but found 'dyn'"),
    ("/spec", "self.size > 1 ? true : 1", "'(bool, bool, int)'"),
    ("/spec", "self.list.all(x, x.matches('^a'))", ""),
    ("/spec", "self.list.all(x, x)", "expected type 'bool'"),
    ("/spec", "self.list.all(x)", "undeclared reference to 'all'"),
    ("/spec", "self.size.all(x, true)", "a list or a map"),
    (
        "/spec",
        "self.list.all(var, true)",
        "reserved identifier: var",
    ),
    ("/spec", "self.list.all(i, x, i < x.size())", ""),
    ("/spec", "self.list.all(i, i, true)", "duplicate variable"),
    ("/spec", "self.list.all(i, x, i == x)", "'(int, string)'"),
    (
        "/spec",
        "self.?host.optMap(x, x.size()).orValue('')== 1",
        "no matching overload for 'orValue'",
    ),
    ("/spec", "self.list.sortBy(x, x.size())[0] == ''", ""),
    (
        "/spec",
        "self.list.transformMap(i, x, x.size()).all(k, k < 3)",
        "",
    ),
    ("/spec", "self.host.matches('(')", "regular expression"),
    (
        "/spec",
        "duration('1x') == duration('1s')",
        "invalid duration",
    ),
    (
        "/spec",
        "timestamp('2020') == self.time",
        "invalid timestamp",
    ),
    ("/spec", "int('a') == 1", "invalid int"),
    ("/spec", "self.time > timestamp('2020-01-01T00:00:00Z')", ""),
    ("/spec", "self.wait > self.time", "'(duration, timestamp)'"),
    ("/spec", "self.port == 1 || self.port == 'http'", ""),
    ("/spec", "self.host.size", "has no field 'size'"),
    ("/spec", "x == 1", "undeclared reference to 'x'"),
    ("/spec", "self.host == ", "Syntax error"),
];

/// A root with a spec, and rules at one of them.
fn schema(place: &str, rules: Value) -> Schema {
    let text = || json!({"type": "string"});
    let mut schema = json!({"type": "object", "properties": {
        "nested": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        "spec": {"type": "object", "properties": {
            "host": text(), "size": {"type": "integer"}, "if": text(), "list": {"type": "array", "items": text()},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "hidden": {"x-kubernetes-preserve-unknown-fields": true},
            "x-y": {"type": "object", "properties": {"z__": {"type": "boolean"}}}, "port": {"x-kubernetes-int-or-string": true},
            "time": {"type": "string", "format": "date-time"}, "wait": {"type": "string", "format": "duration"},
        }},
    }});
    let at = match place {
        "" => &mut schema,
        _ => &mut schema["properties"]["spec"],
    };
    at["x-kubernetes-validations"] = rules;
    serde_json::from_value(schema).unwrap()
}

/// The fault of a rule apart from its cost, as the schema has no bounds.
fn fault(place: &str, rule: Value) -> Option<RuleFault> {
    let mut faults = rule_faults(&schema(place, json!([rule])));
    faults.retain(|it| it.kind != RuleFaultKind::Cost);
    assert!(faults.len() <= 1, "{faults:?}");
    faults.pop()
}

#[test]
fn a_rule_must_fit_the_schema() {
    for (place, rule, expected) in RULES {
        let found = fault(place, json!({"rule": rule}));
        let message = found.map_or(String::new(), |it| it.message);
        let is_expected = message.contains(expected) && message.is_empty() == expected.is_empty();
        assert!(is_expected, "{rule}: {message:?}, not {expected:?}");
    }
}

#[test]
fn a_fault_has_a_kind_and_a_place() {
    for (rule, kind) in [
        ("self.host == ", RuleFaultKind::Syntax),
        ("self.nosuch", RuleFaultKind::Type),
        ("self.host.foo()", RuleFaultKind::UnknownFunction),
        ("self.host.foo() && self.nosuch", RuleFaultKind::Type),
    ] {
        let found = fault("/spec", json!({"rule": rule})).unwrap();
        assert_eq!(found.kind, kind, "{found}");
        let pointer = "/properties/spec/x-kubernetes-validations/0/rule";
        assert_eq!(found.pointer, pointer);
    }
}

/// A case has the bounds of `spec.list`, the lists and maps around `spec`, the rules, and a part of the message with its advice.
#[test]
fn a_rule_must_be_cheap() {
    let quadratic = "self.list.all(x, self.list.all(y, x == y))";
    let long = "self.__if__ + self.__if__ == self.__if__.replace('a', 'b')";
    let rules = |rule: &str, count| vec![json!({"rule": rule}); count];
    let message = json!({"rule": "true", "messageExpression": "self.list.map(x, x + x).join(' ')"});
    let cases = [
        (
            json!({}),
            vec![],
            rules(quadratic, 1),
            "more than 100x (try adding maxItems to spec.list and adding maxLength to spec.list[*], or",
        ),
        (
            json!({"maxItems": 64}),
            vec![],
            rules(quadratic, 1),
            "more than 100x (try adding maxLength to spec.list[*], or",
        ),
        (
            json!({"maxItems": 64, "items": {"type": "string", "maxLength": 64}}),
            vec![],
            rules(quadratic, 1),
            "",
        ),
        (
            json!({"maxItems": 9000, "items": {"type": "string", "maxLength": 1}}),
            vec![],
            rules(quadratic, 1),
            "of 48.6x (try lowering maxItems of spec.list (9000), or",
        ),
        (
            json!({}),
            vec![],
            vec![message],
            "estimated messageExpression cost exceeds budget by factor of more than 100x",
        ),
        (json!({}), vec![], rules(long, 1), ""),
        (
            json!({}),
            vec![],
            rules(long, 90),
            "cost total of the rules, to which this one contributes most, exceeds budget by factor of 1.415584x (try adding maxLength to spec.if, or",
        ),
        (json!({}), vec!["items"], rules("self.size > 1", 1), ""),
        (
            json!({}),
            vec!["items"],
            rules(long, 1),
            "more than 100x (try adding maxLength to spec[*].if and adding maxItems to spec, or",
        ),
        (
            json!({}),
            vec!["items", "additionalProperties"],
            rules("self.size > 1 && self.size < 9 && self.__if__ != 'a'", 12),
            "of 1.132462x (try adding maxProperties to spec and adding maxItems to spec.*, or",
        ),
    ];
    for (list, around, rules, expected) in cases {
        let mut schema = serde_json::to_value(schema("/spec", rules.into())).unwrap();
        let spec = &mut schema["properties"]["spec"];
        let bounds = list.as_object().unwrap().clone();
        spec["properties"]["list"]
            .as_object_mut()
            .unwrap()
            .extend(bounds);
        for keyword in around {
            let type_ = if keyword == "items" {
                "array"
            } else {
                "object"
            };
            *spec = json!({"type": type_, keyword: spec.clone()});
        }
        let faults = rule_faults(&serde_json::from_value(schema).unwrap());
        let kinds = faults.iter().all(|it| it.kind == RuleFaultKind::Cost);
        let message = faults.first().map_or("", |it| &it.message);
        let is_expected = message.contains(expected) && message.is_empty() == expected.is_empty();
        assert!(kinds && is_expected, "{message:?}, not {expected:?}");
    }
}

#[test]
fn a_message_is_a_string() {
    let with = |expression: &str| json!({"rule": "true", "messageExpression": expression});
    assert_eq!(fault("/spec", with("'no ' + self.host")), None);
    let found = fault("/spec", with("self.size")).unwrap();
    assert!(found.pointer.ends_with("/messageExpression"), "{found}");
    assert!(found.message.contains("'string', not 'int'"), "{found}");
}

#[test]
fn the_old_value_must_be_known() {
    let optional = json!({"rule": "oldSelf.hasValue() && oldSelf.value().host == self.host", "optionalOldSelf": true});
    assert_eq!(fault("/spec", optional), None);
    let old = "self.host == oldSelf.host";
    assert_eq!(fault("/spec", json!({"rule": old})), None);
    for optional in [true, false] {
        let unused = json!({"rule": "self.host == ''", "optionalOldSelf": optional});
        let found = fault("/spec", unused).unwrap();
        assert!(found.pointer.ends_with("/optionalOldSelf"), "{found}");
    }
    let item = json!({"type": "object", "properties": {"key": {"type": "string"}}, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]});
    for (list, expected) in [
        (json!({"type": "array", "items": item}), Some("")),
        (
            json!({"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"]}),
            None,
        ),
        (
            json!({"type": "object", "additionalProperties": item}),
            None,
        ),
        (
            json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": item}}),
            Some(""),
        ),
    ] {
        let schema = json!({"type": "object", "properties": {"list": list}});
        let schema: Schema = serde_json::from_value(schema).unwrap();
        let faults = rule_faults(&schema);
        assert_eq!(faults.is_empty(), expected.is_none(), "{faults:?}");
        let below = |it: &RuleFault| it.message.contains("below /properties/list,");
        assert!(faults.iter().all(below), "{faults:?}");
    }
}

#[test]
fn a_value_without_a_type_has_no_rules() {
    let schema = json!({"type": "object", "properties": {"any": {
        "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": [{"rule": "true"}],
    }}});
    let faults = rule_faults(&serde_json::from_value(schema).unwrap());
    assert!(faults[0].message.contains("no type"), "{faults:?}");
}
