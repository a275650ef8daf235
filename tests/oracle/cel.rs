//! CEL rules are refused if the API server refuses them when a CRD is created, and have the same costs.

use std::{cell::RefCell, sync::LazyLock};

use operator_schema::{Schema, SchemaOrBool, rule_costs, rule_faults};
use proptest::{prelude::*, sample::Index};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    crds,
    peer::{Document, Oracle},
    rule_edit::{bound, edit, names, tokens},
};

/// Rules with functions and macros that real CRDs rarely use.
const OTHERS: [&str; 46] = [
    "self.list.all(i, v, i < 3 && v.size() > 0)",
    "self.list.existsOne(i, v, v == 'a') || self.labels.exists(k, v, k == v)",
    "self.list.transformList(i, v, i > 0, v + 'a').size() > 1",
    "self.labels.transformMap(k, v, v.size()).all(k, k.size() > self.size)",
    "self.labels.transformMapEntry(k, v, {v: k}).size() == 1",
    "self.?host.optMap(h, h.size()).orValue(0) > 1",
    "self.?labels[?'a'].optFlatMap(v, optional.of(v + 'b')).hasValue()",
    "self.pairs.sortBy(p, p.weight).map(p, p.name) == ['a', 'b']",
    "self.pairs.map(p, p.weight > 1, p.name).join(',') != ''",
    "cel.bind(x, self.size, x > 1)",
    "[self.size, ?self.?other].size() == 2 && {?'a': self.?host}.size() == 1",
    "'%s has %d of %.2f, %x'.format([self.host, self.size, self.ratio, self.host]) != ''",
    "duration('1h') < self.wait && timestamp('2020-01-01T00:00:00Z') < self.since",
    "self.since - duration('10s') > self.since && self.wait.getSeconds() > 1",
    "int('12') + int(self.ratio) > self.size && double('1.5') > self.ratio",
    "uint(3) > 2u && bool('true') && string(self.size) == '1' && bytes('a') == self.data",
    "type(self.port) == int ? self.port > 1 : self.port.matches('^[a-z]+$')",
    "self.host.find('[0-9]+') == '1' && self.host.findAll('a', 2).size() == 1",
    "quantity('1Gi').isGreaterThan(quantity(self.host)) && isQuantity(self.host)",
    "ip(self.host).family() == 4 && cidr('10.0.0.0/8').containsIP(ip(self.host))",
    "semver('1.2.3').isLessThan(semver(self.host)) && url(self.host).getPort() == '80'",
    "sets.contains(self.list, ['a']) && sets.equivalent(self.list, [])",
    "lists.range(self.size).flatten().sum() > 1 && self.list.distinct().isSorted()",
    "!format.dns1123Label().validate(self.host).hasValue()",
    "self.nested.__dash__name == self.nested.x__dash__y && self.__namespace__ == self.namespace",
    "has(self.nested.x__dash__y) && !has(self.labels.a) && has(self.?nested.x__dash__y)",
    "self.size in [1, 2, 3] || self.host in self.labels || 'a' in self.list",
    "self == oldSelf || self.list == oldSelf.list && -self.size < 1 && self.size % 2 == 0",
    "self.embedded.metadata.name == self.embedded.kind && self.nested == null",
    "dyn(self.port) == 1 && [dyn(1)] == [2] && self.pairs[0].weight == 1 && self.any == {}",
    "self.host.replace('ab', self.namespace).size() < 9 && self.host.replace('', 'abc', 2) != self.host.replace(self.namespace, '')",
    "self.host.split('/', 3).join(self.host).contains(self.host.trim()) || self.list.join() == strings.quote(self.host)",
    "self.list.slice(1, 3).reverse() == self.list.sort() && [self.list, ['a']].flatten().indexOf('a') > self.host.lastIndexOf('b')",
    "[[1], [2]].flatten(2) == [dyn(1)] && self.list.distinct().max() != self.list.min() && lists.range(9).sum() == 36",
    "self.pairs.sortBy(p, p.name + self.host).exists(p, p.name[0 < 1 ? 0 : 1] == '') || self.pairs.sortBy(p, p.weight) == []",
    "sets.intersects(self.list, self.list.map(x, x.lowerAscii())) || string(bytes(self.host)) == string(self.data)",
    "self.pairs.all(p, self.labels[p.name] == p.name && (p.weight > 1 ? self.labels : {'a': self.host})[p.name] in self.list)",
    "self.list[self.list.size() - 1].matches(self.host + '$') && url(self.host) == url('a') && url(self.host) != url('b')",
    "quantity(self.host) == quantity('1') && ip(self.host) == ip('::1') && semver('1.0.0') != semver(self.host)",
    "type(ip(self.host)) == net.IP && type(cidr('::/0')) != net.CIDR && [type(self.?host), optional_type].size() == 2",
    "cidr('::/0').containsCIDR(self.host) && !ip.isCanonical(self.host) && isURL(self.host) && isCIDR(self.host) && isIP(self.host)",
    "dyn(self.any).check('a').allowed() || dyn(self.host).labelSelector(self.host) == dyn(1) || dyn(self.list)[0] == self.host",
    "self.labels.map(k, k + self.labels[k]).filter(x, x > self.host).exists_one(x, [x, x, self.host].size() < {x: 1, 'a': 2}[x])",
    "self.nested == null || [self.nested].all(n, n.a__underscores__b == n.x__dash__y && n.x__dash__y.endsWith(n.a__underscores__b))",
    "self.list.map(x, x, [x])[0].size() == 1 && format.dns1123Label() == format.uuid() && oldSelf.wait == self.wait",
    "[1, 2].all(x, [x].all(y, y > self.size)) && self.list.all(x, self.list.exists(y, y != x && y.startsWith(x)))",
];

/// A schema with most types, for [`OTHERS`].
fn wide() -> Value {
    let string = || json!({"type": "string"});
    json!({"type": "object", "properties": {
        "host": string(), "namespace": string(), "size": {"type": "integer"}, "ratio": {"type": "number"}, "flag": {"type": "boolean"},
        "port": {"x-kubernetes-int-or-string": true}, "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "unknown": {"x-kubernetes-preserve-unknown-fields": true},
        "wait": {"type": "string", "format": "duration"}, "since": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"}, "data": {"type": "string", "format": "byte"},
        "list": {"type": "array", "items": string()}, "labels": {"type": "object", "additionalProperties": string()},
        "nested": {"type": "object", "nullable": true, "properties": {"x-y": string(), "-name": string(), "a__b": string()}},
        "pairs": {"type": "array", "items": {"type": "object", "properties": {"name": string(), "weight": {"type": "integer"}}}},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
    }})
}

/// A rule, and the schema that it belongs to, without rules.
#[derive(Clone)]
struct Base {
    schema: Value,
    rule: String,
    is_root: bool,
}

static BASES: LazyLock<Vec<Base>> = LazyLock::new(|| {
    let mut bases = vec![];
    for text in crds() {
        for document in cargo_operator::crd::values(&text) {
            let document = document.expect("a real CRD can be read");
            for version in document["spec"]["versions"]
                .as_array()
                .into_iter()
                .flatten()
            {
                let schema = &version["schema"]["openAPIV3Schema"];
                let schema = Schema::deserialize(schema).expect("a real CRD has a schema");
                collect(&schema, true, &mut bases);
            }
        }
    }
    bases.sort_by(|a, b| a.rule.cmp(&b.rule));
    bases.dedup_by(|a, b| a.rule == b.rule);
    let others = OTHERS.map(|rule| Base {
        schema: wide(),
        rule: rule.into(),
        is_root: false,
    });
    bases.extend(others);
    bases
});

fn collect(schema: &Schema, is_root: bool, bases: &mut Vec<Base>) {
    if !schema.validations.is_empty() {
        let mut plain = schema.clone();
        strip(&mut plain);
        let plain = serde_json::to_value(&plain).unwrap();
        if plain.to_string().len() < 30_000 {
            bases.extend(schema.validations.iter().map(|it| Base {
                schema: plain.clone(),
                rule: it.rule.clone(),
                is_root,
            }));
        }
    }
    let values = match &schema.additional_properties {
        Some(SchemaOrBool::Schema(values)) => Some(&**values),
        _ => None,
    };
    let below = schema.properties.values().chain(schema.items.as_deref());
    below.chain(values).for_each(|it| collect(it, false, bases));
}

/// Removes the rules, and keywords that the API server does not accept at every place.
fn strip(schema: &mut Schema) {
    schema.validations.clear();
    schema.default = None;
    schema.description = None;
    schema.properties.values_mut().for_each(strip);
    schema.items.as_deref_mut().into_iter().for_each(strip);
    if let Some(SchemaOrBool::Schema(values)) = &mut schema.additional_properties {
        strip(values);
    }
}

fn crd(schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// The verdict of the API server on the rules of a schema.
fn asked(schema: &Value) -> Document {
    thread_local! {
        static ORACLE: RefCell<Oracle> = RefCell::new(Oracle::start());
    }
    // kubectl's reader drops a last line of 4096 bytes, or of a multiple, that no line break ends
    let text = format!("{}\n", crd(schema));
    let mut answers = ORACLE.with_borrow_mut(|oracle| oracle.ask(&text));
    answers.remove(0)
}

/// How the verdicts of the tool and of the API server on a schema differ.
fn difference(schema: &Value) -> Option<String> {
    let read = Schema::deserialize(schema).unwrap();
    let (ours, theirs) = (rule_faults(&read), asked(schema));
    match (ours.is_empty(), theirs.invalid.is_empty()) {
        (false, true) => return Some(format!("refused alone: {}", ours[0])),
        (true, false) => return Some(format!("accepted alone: {}", theirs.invalid.join("\n"))),
        _ => {}
    }
    let mut ours: Vec<_> = rule_costs(&read)
        .into_iter()
        .map(|it| (it.pointer, it.once, it.count))
        .collect();
    let theirs = theirs.costs.into_iter();
    let mut theirs: Vec<_> = theirs.map(|it| (it.pointer, it.once, it.count)).collect();
    ours.sort();
    theirs.sort();
    (ours != theirs).then(|| format!("costs {ours:?}, not {theirs:?}"))
}

#[test]
fn real_rules_are_judged_as_by_the_api_server() {
    let mut differences = vec![];
    for Base {
        mut schema,
        rule,
        is_root,
    } in BASES.clone()
    {
        schema["x-kubernetes-validations"] = json!([{"rule": rule, "message": "a"}]);
        let schema = if is_root {
            schema
        } else {
            json!({"type": "object", "properties": {"spec": schema}})
        };
        differences.extend(difference(&schema).map(|it| format!("{rule}: {it}")));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Rules with literals that are checked when the rule is compiled.
fn literals() -> Vec<String> {
    const TEXTS: [&str; 48] = [
        "",
        " ",
        "0",
        "1",
        "-1",
        "+1",
        "01",
        "1_0",
        "0x10",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "1.5",
        ".5",
        "5.",
        "1e3",
        "1e400",
        "-1e400",
        "inf",
        "-Infinity",
        "nan",
        "NaN",
        "true",
        "True",
        "TRUE",
        "t",
        "f",
        "yes",
        "1h",
        "1h30m",
        "1.5s",
        "-1s",
        "+1s",
        "1d",
        "1us",
        "1µs",
        "1ns",
        "1",
        "9999999h",
        "1h 1m",
        "2020-01-01",
        "2020-01-01T00:00:00Z",
        "2020-01-01t00:00:00z",
        "2020-01-01T00:00:00.123456789+01:00",
        "2020-02-30T00:00:00Z",
        "2020-01-01 00:00:00Z",
        "0000-01-01T00:00:00Z",
        "9999-12-31T24:00:00Z",
    ];
    const NUMBERS: [&str; 11] = [
        "0",
        "-1",
        "1",
        "253402300799",
        "253402300800",
        "-62135596801",
        "1.5",
        "-1.5",
        "9.3e18",
        "1e20",
        "18446744073709551615u",
    ];
    const PATTERNS: [&str; 12] = [
        "", "a", "(", "[a", "a**", "(?=a)", "(?i)a", "\\\\d", "\\\\1", "a{1001}", "(?P<n>a)",
        "\\\\pL",
    ];
    const FORMATS: [&str; 16] = [
        "", "%", "%%", "a%", "%s", "%d", "%f", "%.3f", "%.f", "%.", "%e", "%b", "%x", "%X",
        "%o %s", "%q",
    ];
    const ARGUMENTS: [&str; 14] = [
        "1",
        "1u",
        "1.5",
        "'a'",
        "b'a'",
        "true",
        "null",
        "[1]",
        "['a', 1]",
        "{'a': 1}",
        "self.port",
        "self.nested",
        "type(1)",
        "optional.of(1)",
    ];
    let mut rules = vec![];
    for function in [
        "int",
        "uint",
        "double",
        "bool",
        "duration",
        "timestamp",
        "string",
        "bytes",
    ] {
        let texts = TEXTS
            .iter()
            .map(|it| format!("{function}('{it}') == {function}('{it}')"));
        let numbers = NUMBERS
            .iter()
            .map(|it| format!("{function}({it}) == {function}({it})"));
        rules.extend(texts.chain(numbers));
    }
    for pattern in PATTERNS {
        for call in [
            "self.host.matches('P')",
            "matches(self.host, 'P')",
            "matches('P', 'a')",
            "self.host.find('P') == ''",
            "self.host.findAll('P', 1) == []",
        ] {
            rules.push(call.replace('P', pattern));
        }
    }
    for format in FORMATS {
        rules.push(format!("'{format}'.format([]) == ''"));
        rules.extend(
            ARGUMENTS
                .iter()
                .map(|it| format!("'{format}'.format([{it}]) == ''")),
        );
    }
    rules
}

#[test]
fn literals_are_read_as_in_the_api_server() {
    let rules = literals();
    let differences: Vec<String> = rules
        .iter()
        .filter_map(|rule| {
            let mut schema = wide();
            schema["x-kubernetes-validations"] = json!([{"rule": rule}]);
            let schema = json!({"type": "object", "properties": {"spec": schema}});
            difference(&schema)
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_rule_is_refused_as_in_the_api_server(
        base in any::<Index>(),
        edits in prop::collection::vec(edit(), 1..3),
        list in prop::sample::select(&[None, None, None, Some("atomic"), Some("map"), Some("values")]),
        optional in prop::sample::select(&[None, None, None, Some(true), Some(false)]),
        is_message in prop::bool::weighted(0.1),
        bounds in prop::collection::vec(bound(), 0..8),
        copies in prop::sample::select(&[1, 1, 1, 2, 15]),
    ) {
        let Base { mut schema, rule, is_root } = base.get(&BASES).clone();
        let mut known = vec![];
        names(&schema, &mut known);
        known.extend(["size", "contains", "lowerAscii", "split", "min", "max", "indexOf", "value", "string", "double"].map(str::to_owned));
        let mut tokens = tokens(&rule);
        edits.iter().for_each(|edit| edit.apply(&mut tokens, &known));
        let rule = tokens.concat();
        // an empty rule is a fault of the schema, which is checked elsewhere
        prop_assume!(!rule.trim().is_empty());
        let mut rule = if is_message {
            json!({"rule": "true", "messageExpression": rule})
        } else {
            json!({"rule": rule, "message": "a"})
        };
        if let Some(optional) = optional {
            rule["optionalOldSelf"] = json!(optional);
        }
        schema["x-kubernetes-validations"] = vec![rule.clone(); copies].into();
        let is_object = schema["properties"].is_object();
        let mut schema = match list {
            Some("values") if !is_root => json!({"type": "object", "properties": {"spec": {"type": "object", "additionalProperties": schema}}}),
            Some("map") if is_object && !is_root => {
                schema["properties"]["key"] = json!({"type": "string"});
                schema["required"] = json!(["key"]);
                let list = json!({"type": "array", "items": schema, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"]});
                json!({"type": "object", "properties": {"spec": list}})
            }
            Some("atomic") if !is_root => json!({"type": "object", "properties": {"spec": {"type": "array", "items": schema}}}),
            _ if is_root => schema,
            _ => json!({"type": "object", "properties": {"spec": schema}}),
        };
        bounds.iter().for_each(|bound| bound.apply(&mut schema));
        if let Some(difference) = difference(&schema) {
            prop_assert!(false, "{difference}\n{rule}\n{schema}");
        }
    }
}
