//! Schemas whose rules are true of some object have a sample.
#![cfg(feature = "cel")]

use crate::laws;
use operator_schema::{
    Objects, Rule, Schema, SchemaOrBool, apply_defaults, rule_violations, sample,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

/// The sample of a field `spec`, whose schema has these rules and these fields. A field is required unless its name ends with `?`.
fn spec(fields: Value, rules: &[&str]) -> Value {
    let fields = fields.as_object().unwrap().iter();
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, field) in fields {
        let is_optional = name.ends_with('?');
        let name = name.trim_end_matches('?');
        properties.insert(name.to_owned(), field.clone());
        required.extend((!is_optional).then(|| name.to_owned()));
    }
    let rules: Vec<_> = rules.iter().map(|rule| json!({"rule": rule})).collect();
    let schema = json!({"type": "object", "required": ["spec"], "properties": {"spec": {
        "type": "object", "properties": properties, "required": required, "x-kubernetes-validations": rules,
    }}});
    sampled(schema)["spec"].clone()
}

fn sampled(schema: Value) -> Value {
    let schema: Schema = serde_json::from_value(schema).unwrap();
    let sample = sample(&schema).unwrap_or_else(|none| panic!("{schema:#?}: {none:#?}"));
    let mut object = sample.clone();
    apply_defaults(&schema, &mut object);
    assert!(schema.validate(&object).is_valid(), "{object}");
    sample
}

fn text() -> Value {
    json!({"type": "string"})
}

fn int() -> Value {
    json!({"type": "integer"})
}

fn fields(fields: Value) -> Value {
    json!({"type": "object", "properties": fields})
}

#[test]
fn a_field_at_any_depth_is_created_and_removed() {
    let disk = fields(json!({"claim": fields(json!({"size": text(), "class": text()}))}));
    let deep = json!({"disk?": disk, "tmp?": fields(json!({}))});
    assert_eq!(
        spec(
            deep.clone(),
            &["has(self.disk) && has(self.disk.claim) && has(self.disk.claim.size)"]
        ),
        json!({"disk": {"claim": {"size": "example"}}})
    );
    assert_eq!(
        spec(
            deep,
            &[
                "has(self.disk) && has(self.disk.claim)",
                "has(self.tmp) != has(self.disk.claim.class)"
            ]
        ),
        json!({"disk": {"claim": {}}, "tmp": {}})
    );
    let given = json!({"on": {"type": "boolean", "default": true}, "reason?": text()});
    assert_eq!(
        spec(given, &["self.on || has(self.reason)", "!self.on"]),
        json!({"on": false, "reason": "example"})
    );
}

#[test]
fn a_field_is_added_rather_than_a_default_changed() {
    let to = fields(json!({"zone": text(), "cpu": int()}));
    let what = json!({"actions": {"type": "array", "items": text(), "default": ["*"]}, "to": to.clone(), "init?": to});
    let needs = |field| {
        format!(
            "!('*' in self.actions || 'Make' in self.actions) || has(self.to.{field}) || (has(self.init) && has(self.init.{field}))"
        )
    };
    assert_eq!(
        spec(what, &[&needs("zone"), &needs("cpu")])["to"],
        json!({"zone": "example", "cpu": 1})
    );
}

#[test]
fn numbers_are_set_relative_to_each_other() {
    let range = json!({"least": int(), "usual": int(), "most": int()});
    let sample = spec(
        range,
        &[
            "self.least <= self.usual && self.usual < self.most",
            "self.most - self.least >= 4",
            "self.least > 2",
        ],
    );
    assert_eq!(sample["least"], 3);
    assert_eq!(
        spec(
            json!({"odd": int()}),
            &["self.odd % 2 == 1 && self.odd > 4"]
        ),
        json!({"odd": 5})
    );
    let parts = json!({"one": int(), "two": int(), "sum": {"type": "integer", "maximum": 9}});
    assert!(spec(parts, &["self.one + self.two == self.sum", "self.one > 3"])["sum"].is_i64());
    let share = spec(
        json!({"share": {"type": "number"}}),
        &["self.share > 0.0 && self.share < 1.0"],
    );
    assert_eq!(share, json!({"share": 0.5}));
}

#[test]
fn texts_are_composed_as_rules_demand() {
    for (rules, expected) in [
        (
            &["self.a.startsWith('eu-') && self.a.endsWith('.local')"][..],
            "eu-example.local",
        ),
        (&["self.a.matches('^[a-z]{2}[.]org$')"], "aa.org"),
        (
            &["self.a.startsWith('db-')", "self.a.size() > 12"],
            "db-exampleexa",
        ),
        (
            &["self.a.split('/').size() == 3 && self.a.split(':').size() == 2"],
            "example/example/example:example",
        ),
        (
            &[
                "duration(self.a) > duration('20s')",
                "duration(self.a) < duration('1m')",
            ],
            "21s",
        ),
        (&["quantity(self.a).isGreaterThan(quantity('3Gi'))"], "4Gi"),
        (
            &["isCIDR(self.a) && cidr(self.a).prefixLength() == 26"],
            "10.0.0.0/26",
        ),
        (&["isIP(self.a) && ip(self.a).family() == 6"], "fd00::1"),
        (
            &[
                "url(self.a).getScheme() == 'https'",
                "url(self.a).getHost() == 'a.local'",
            ],
            "https://a.local",
        ),
    ] {
        let sample = spec(json!({"a": text()}), rules);
        assert_eq!(sample["a"], expected, "{rules:?}");
    }
    let parts = [
        "self.a.split('@').size() == 2 && self.a.split('@')[1].matches('^x[0-9]{3}$')",
        "self.a.split('@')[0].matches('^[a-z]+[.]io$')",
    ];
    let sample = spec(json!({"a": text()}), &parts);
    assert!(sample["a"].as_str().unwrap().contains(".io@x"), "{sample}");
}

#[test]
fn lists_and_maps_get_the_items_that_rules_demand() {
    let names = json!({"type": "array", "items": text()});
    assert_eq!(
        spec(json!({"a": names}), &["size(self.a) > 1"]),
        json!({"a": ["example", "Example"]})
    );
    let pool = json!({"type": "object", "required": ["name", "role"], "properties": {"name": text(), "role": {"type": "string", "enum": ["b", "a"]}}});
    let pools = json!({"type": "array", "items": pool, "minItems": 2});
    let sample = spec(
        json!({"pools": pools, "first": text()}),
        &[
            "self.first in self.pools.map(it, it.name)",
            "self.pools.exists_one(it, it.role == 'a')",
            "self.pools.all(one, self.pools.exists_one(other, one.name == other.name))",
        ],
    );
    let names = sample["pools"].as_array().unwrap();
    assert!(names.iter().any(|pool| pool["name"] == sample["first"]));
    let labels = json!({"type": "object", "additionalProperties": text()});
    assert_eq!(
        spec(
            json!({"labels": labels}),
            &["'team' in self.labels && self.labels['team'] == 'red'"]
        ),
        json!({"labels": {"team": "red"}})
    );
    let options = json!({"a?": text(), "b?": text(), "c?": text()});
    assert_eq!(
        spec(
            options,
            &["[has(self.a), has(self.b), has(self.c)].filter(it, it).size() == 2"]
        ),
        json!({"a": "example", "b": "example"})
    );
}

#[test]
fn a_filter_gets_the_number_of_items_that_rules_demand() {
    let pool = json!({"type": "object", "required": ["role"], "properties": {"role": {"type": "string", "enum": ["b", "a"]}, "n": int()}});
    let pools = json!({"type": "array", "items": pool});
    let roles = |rules: &[&str]| {
        let sample = spec(json!({"pools": pools.clone()}), rules);
        let pools = sample["pools"].as_array().unwrap().clone();
        let roles = pools.iter().map(|it| it["role"].as_str().unwrap());
        roles.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        roles(&["self.pools.filter(it, it.role == 'a').size() == 3"]),
        "a a a"
    );
    let two = "size(self.pools.filter(it, it.role == 'b' && has(it.n) && it.n > 4)) > 1";
    assert_eq!(
        roles(&[two, "self.pools.exists(it, it.role == 'a')"]),
        "b b a"
    );
}

#[test]
fn formatted_texts_of_a_set_differ() {
    for format in [
        "ipv4",
        "ipv6",
        "cidr",
        "date",
        "date-time",
        "duration",
        "uuid",
        "mac",
        "email",
        "uri",
        "hostname",
    ] {
        let item = json!({"type": "string", "format": format});
        let set = json!({"type": "array", "items": item.clone(), "x-kubernetes-list-type": "set", "minItems": 3});
        spec(json!({"set": set}), &[]);
        let set = json!({"type": "array", "items": item.clone(), "x-kubernetes-list-type": "set"});
        spec(json!({"set": set}), &["self.set.size() == 4"]);
        let pool = json!({"type": "object", "required": ["at"], "properties": {"at": item}});
        let map = json!({"type": "array", "items": pool, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["at"]});
        spec(json!({"map": map}), &["self.map.size() > 2"]);
    }
}

#[test]
fn a_rule_with_an_optional_old_value_applies_to_a_new_object() {
    let schema = json!({"type": "object", "required": ["a", "b"], "properties": {"a": int(), "b": int()}, "x-kubernetes-validations": [
        {"rule": "oldSelf.hasValue() || self.a == 7", "optionalOldSelf": true},
        {"rule": "self.b > oldSelf.orValue(self).a", "optionalOldSelf": true},
    ]});
    assert_eq!(sampled(schema), json!({"a": 7, "b": 8}));
}

#[test]
fn the_union_of_the_schema_is_kept() {
    let union = json!({"type": "object", "properties": {"a": text(), "b": text()}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert_eq!(
        spec(json!({"u": union}), &["has(self.u.b)"]),
        json!({"u": {"b": "example"}})
    );
}

#[test]
fn rules_of_the_root_set_the_name() {
    let root = |rules: &[&str]| {
        let rules: Vec<_> = rules.iter().map(|rule| json!({"rule": rule})).collect();
        sampled(
            json!({"type": "object", "required": ["spec"], "x-kubernetes-validations": rules, "properties": {
                "apiVersion": text(), "kind": text(), "metadata": {"type": "object"},
                "spec": {"type": "object", "required": ["alias"], "properties": {"alias": text()}},
            }}),
        )
    };
    let named = root(&[
        "self.metadata.name == self.spec.alias",
        "self.metadata.name.startsWith('team-')",
    ]);
    assert_eq!(
        named,
        json!({"spec": {"alias": "team-example"}, "metadata": {"name": "team-example"}})
    );
    // not `team-`, which is not a valid name
    assert_eq!(
        root(&["self.metadata.name.startsWith('team-')"])["metadata"]["name"],
        "team-example"
    );
}

#[test]
fn rules_that_contradict_each_other_end_the_search() {
    let schema = json!({"type": "object", "properties": {"a": int(), "b": int()}, "required": ["a", "b"], "x-kubernetes-validations": [
        {"rule": "self.a < self.b"}, {"rule": "self.b < self.a"},
    ]});
    let none = sample(&serde_json::from_value(schema).unwrap()).unwrap_err();
    assert_eq!(none.violations.len(), 2);
}

#[test]
fn a_series_repairs_its_objects() {
    let schema = json!({"type": "object", "properties": {"a": fields(json!({"b": fields(json!({"c": int()}))})), "n": int()}, "x-kubernetes-validations": [
        {"rule": "has(self.a) && has(self.a.b) && has(self.a.b.c) && self.a.b.c > 40"},
    ]});
    let schema: Schema = serde_json::from_value(schema).unwrap();
    let objects: Vec<_> = Objects::new(&schema, 1).take(20).collect();
    assert_eq!(objects.len(), 20);
    assert!(objects.iter().any(|it| it.get("n").is_some()));
    for object in objects {
        assert!(schema.validate(&object).is_valid(), "{object}");
    }
}

/// Pseudo-random choices.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    fn one_of<T: Clone>(&mut self, list: &[T]) -> Option<T> {
        let nth = self.below(list.len());
        list.get(nth).cloned()
    }
}

/// A part of the object, as rules name it.
#[derive(Clone)]
struct Part<'a> {
    expression: String,
    schema: &'a Schema,
    value: Option<&'a Value>,
    /// The optional fields on the way to it.
    guards: Vec<String>,
}

impl<'a> Part<'a> {
    fn of(expression: &str, schema: &'a Schema, value: Option<&'a Value>) -> Self {
        Part {
            expression: expression.to_owned(),
            schema,
            value,
            guards: Vec::new(),
        }
    }

    fn fields(&self) -> Vec<Part<'a>> {
        let fields = self.schema.properties.iter().map(|(key, schema)| {
            let expression = format!("{}.{key}", self.expression);
            let mut guards = self.guards.clone();
            if !self.schema.required.contains(key) {
                guards.push(format!("has({expression})"));
            }
            let value = self.value.and_then(|it| it.get(key));
            Part {
                expression,
                schema,
                value,
                guards,
            }
        });
        fields.collect()
    }

    fn below(&self) -> Vec<Part<'a>> {
        let mut parts = self.fields();
        let mut next = 0;
        while let Some(part) = parts.get(next) {
            let more = part.fields();
            parts.extend(more);
            next += 1;
        }
        parts
    }
}

/// An expression that mentions the parts below `whole`.
fn expression(dice: &mut Dice, whole: &Part<'_>, depth: usize) -> Option<String> {
    if depth > 0 {
        let one = expression(dice, whole, depth - 1)?;
        return Some(match dice.below(6) {
            0 => format!("({one}) && ({})", expression(dice, whole, depth - 1)?),
            1 => format!("({one}) || ({})", expression(dice, whole, depth - 1)?),
            2 => format!("!({one})"),
            3 => {
                let yes = expression(dice, whole, depth - 1)?;
                format!(
                    "({one}) ? ({yes}) : ({})",
                    expression(dice, whole, depth - 1)?
                )
            }
            _ => one,
        });
    }
    let parts = whole.below();
    let part = dice.one_of(&parts)?;
    if !part.guards.is_empty() && dice.below(3) == 0 {
        return Some(part.guards.join(" && "));
    }
    let atom = atom(dice, &part, &parts)?;
    let guards = part.guards;
    Some(match guards.is_empty() {
        true => atom,
        false if dice.below(2) == 0 => format!("{} && {atom}", guards.join(" && ")),
        false => format!("!({}) || {atom}", guards.join(" && ")),
    })
}

fn atom(dice: &mut Dice, part: &Part<'_>, others: &[Part<'_>]) -> Option<String> {
    let Part {
        expression: e,
        schema,
        value,
        ..
    } = part;
    let operator = dice.one_of(&["==", "!=", "<", "<=", ">", ">="])?;
    match schema.type_.as_deref()? {
        "string" => {
            let text = value.and_then(|it| it.as_str()).unwrap_or("b");
            let plain = |text: &str| {
                text.chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-./".contains(c))
            };
            let text = if plain(text) { text } else { "c12" };
            let split = dice.below(text.len() + 1);
            let (head, tail) = text.split_at(split);
            let length = text.len() + dice.below(3);
            let like = others
                .iter()
                .filter(|it| it.schema.type_.as_deref() == Some("string") && it.guards.is_empty());
            let like = dice.one_of(&like.map(|it| it.expression.clone()).collect::<Vec<_>>());
            Some(match dice.below(9) {
                0 => format!("{e} == '{text}'"),
                1 => format!("{e} != '{text}'"),
                2 => format!("{e}.startsWith('{head}')"),
                3 => format!("{e}.endsWith('{tail}')"),
                4 => format!("{e}.contains('{tail}')"),
                5 => format!("{e}.size() {operator} {length}"),
                6 => format!("{e} in ['{text}', 'b', 'other']"),
                7 => format!("{e}.matches('^{}')", head.replace(['.', '/'], "")),
                _ => format!("{e} {} {}", dice.one_of(&["==", "!="])?, like?),
            })
        }
        "integer" => {
            let number = value
                .and_then(Value::as_i64)
                .filter(|it| it.abs() < 1_000_000)
                .unwrap_or(10);
            let other = number + dice.below(11) as i64 - 5;
            let like = others
                .iter()
                .filter(|it| it.schema.type_.as_deref() == Some("integer") && it.guards.is_empty());
            let like = dice.one_of(&like.map(|it| it.expression.clone()).collect::<Vec<_>>());
            Some(match dice.below(4) {
                0 => format!("{e} {operator} {other}"),
                1 => format!("{e} % {} == {}", 3, number.rem_euclid(3)),
                2 => format!("{e} + {} {operator} {}", 5, other),
                _ => format!("{e} {operator} {}", like?),
            })
        }
        "array" => {
            let items = value.and_then(|it| it.as_array());
            let length = items.map_or(1, Vec::len) + dice.below(3);
            let each = schema.items.as_deref()?;
            let item = Part::of("x", each, items.and_then(|it| it.first()));
            let body = match each.type_.as_deref() {
                Some("object") => expression(dice, &item, 0),
                _ => atom(dice, &item, &[]),
            };
            let field = item
                .fields()
                .into_iter()
                .find(|it| it.guards.is_empty() && it.schema.type_.as_deref() == Some("string"));
            Some(match (dice.below(7), body, field) {
                (0, Some(body), _) => format!("{e}.all(x, {body})"),
                (1, Some(body), _) => format!("{e}.exists(x, {body})"),
                (2, Some(body), _) => format!("{e}.exists_one(x, {body})"),
                (3, Some(body), _) => {
                    format!("{e}.filter(x, {body}).size() {operator} {}", dice.below(3))
                }
                (4, _, Some(field)) => {
                    let key = &field.expression;
                    format!("'b' in {e}.map(x, {key})")
                }
                (5, _, _) if each.type_.as_deref() == Some("string") => {
                    format!("{e}.all(x, {e}.exists_one(y, x == y))")
                }
                _ => format!("size({e}) {operator} {length}"),
            })
        }
        "object" => {
            if let Some(SchemaOrBool::Schema(each)) = &schema.additional_properties {
                let item = Part::of(&format!("{e}['k']"), each, None);
                return Some(match dice.below(4) {
                    0 => format!("'k' in {e}"),
                    1 => format!("size({e}) {operator} {}", dice.below(3)),
                    2 => format!("{e}.all(k, k.size() > 2)"),
                    _ => format!("!('k' in {e}) || ({})", atom(dice, &item, &[])?),
                });
            }
            let optional: Vec<_> = part
                .fields()
                .into_iter()
                .filter(|it| it.guards.len() > part.guards.len())
                .collect();
            let optional: Vec<_> = optional.iter().map(|it| it.expression.clone()).collect();
            let least = dice.below(optional.len() + 1);
            Some(match (dice.below(3), optional.is_empty()) {
                (_, true) => format!("{e} != null"),
                (0, _) => {
                    let each: Vec<_> = optional.iter().map(|it| format!("has({it})")).collect();
                    format!("[{}].filter(x, x).size() == {least}", each.join(", "))
                }
                (1, _) => {
                    let each: Vec<_> = optional
                        .iter()
                        .map(|it| format!("(has({it}) ? 1 : 0)"))
                        .collect();
                    format!("{} {operator} {least}", each.join(" + "))
                }
                _ => format!("has({})", dice.one_of(&optional)?),
            })
        }
        _ => None,
    }
}

/// A random schema, and an object for which its rules are true.
fn drawn(runner: &mut TestRunner, seed: u64) -> Option<(Schema, Value)> {
    let mut schema = laws::schema().new_tree(runner).ok()?.current();
    let mut dice = Dice(seed);
    let count = 2 + dice.below(8);
    let mut object = Objects::new(&schema, seed).take(count).last()?;
    apply_defaults(&schema, &mut object);
    for _ in 0..=dice.below(4) {
        let depth = dice.below(3);
        let part = Part::of("self", &schema, Some(&object));
        let Some(rule) = expression(&mut dice, &part, depth) else {
            continue;
        };
        let alone = |rule: String| Rule {
            rule,
            ..Rule::default()
        };
        let whole = schema.validations.clone();
        for rule in [rule.clone(), format!("!({rule})")] {
            schema.validations = vec![alone(rule)];
            let judgement = rule_violations(&schema, &object, None);
            if judgement.is_valid() {
                break;
            }
            schema.validations.clear();
        }
        schema.validations.extend(whole);
    }
    (!schema.validations.is_empty()).then_some((schema, object))
}

#[test]
fn nearly_every_schema_whose_rules_are_true_of_some_object_has_a_sample() {
    let count: u64 = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(300);
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut drawn_count, mut without) = (0_usize, Vec::new());
    for seed in 0..count {
        let Some((schema, object)) = drawn(&mut runner, seed) else {
            continue;
        };
        drawn_count += 1;
        match sample(&schema) {
            Ok(mut sample) => {
                apply_defaults(&schema, &mut sample);
                assert!(schema.validate(&sample).violations.is_empty(), "{sample}");
            }
            Err(none) => {
                let rules: Vec<_> = schema
                    .validations
                    .iter()
                    .map(|it| it.rule.as_str())
                    .collect();
                without.push(json!({"rules": rules, "object": object, "closest": none.closest, "schema": schema}));
            }
        }
    }
    println!("{} of {drawn_count} have none", without.len());
    for it in &without {
        println!("{it}");
    }
    assert!(
        drawn_count > 0 && without.len() * 20 <= drawn_count,
        "{} of {drawn_count}",
        without.len()
    );
}
