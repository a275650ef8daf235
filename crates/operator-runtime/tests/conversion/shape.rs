//! Random pairs of schemas, with the rules between them.

use std::collections::BTreeMap;

use operator_runtime::conversion::{Conversion, Spoke, Values};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A field, and how its two versions differ.
#[derive(Clone, Debug)]
pub enum Shape {
    Same,
    Renamed,
    /// It is moved into an object that only the hub has.
    MovedDown,
    /// It is moved out of an object that only the spoke has.
    MovedUp,
    ListOfOne,
    OneOfList,
    OnlySpoke,
    OnlyHub,
    Required,
    Enum,
    Answer,
    Split,
    DefaultHub(bool),
    DefaultSpoke(bool),
    NullSpoke,
    NullHub,
    /// A list whose items have different values.
    EnumItems(bool),
    /// A default inside an object that has a default; `true` if the inner one is declared first.
    DefaultObject(bool),
    /// An object with fields.
    Object {
        is_renamed: bool,
        fields: Vec<Shape>,
    },
    /// A list with keys.
    Keyed {
        is_renamed: bool,
        fields: Vec<Shape>,
    },
    /// A list without keys.
    Items {
        is_renamed: bool,
        fields: Vec<Shape>,
    },
    Map {
        is_renamed: bool,
        fields: Vec<Shape>,
    },
}

fn leaf() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Same),
        Just(Shape::Renamed),
        Just(Shape::MovedDown),
        Just(Shape::MovedUp),
        Just(Shape::ListOfOne),
        Just(Shape::OneOfList),
        Just(Shape::OnlySpoke),
        Just(Shape::OnlyHub),
        Just(Shape::Required),
        Just(Shape::Enum),
        Just(Shape::Answer),
        Just(Shape::Split),
        any::<bool>().prop_map(Shape::DefaultHub),
        any::<bool>().prop_map(Shape::DefaultSpoke),
        Just(Shape::NullSpoke),
        Just(Shape::NullHub),
        any::<bool>().prop_map(Shape::DefaultObject),
        any::<bool>().prop_map(Shape::EnumItems),
    ]
}

/// Random fields of `spec`.
pub fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    let shape = leaf().prop_recursive(2, 12, 4, |inner| {
        let fields = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            (any::<bool>(), fields())
                .prop_map(|(is_renamed, fields)| Shape::Object { is_renamed, fields }),
            (any::<bool>(), fields())
                .prop_map(|(is_renamed, fields)| Shape::Keyed { is_renamed, fields }),
            (any::<bool>(), fields())
                .prop_map(|(is_renamed, fields)| Shape::Items { is_renamed, fields }),
            (any::<bool>(), fields())
                .prop_map(|(is_renamed, fields)| Shape::Map { is_renamed, fields }),
        ]
    });
    prop::collection::vec(shape, 1..6)
}

/// The schemas of both versions of some shapes, and the rules between them.
pub struct Pair {
    pub spoke: Value,
    pub hub: Value,
    rules: Option<Spoke>,
    /// The places in the hub of the values at a path of the spoke.
    pub to_hub: BTreeMap<String, Vec<String>>,
    /// The places in the spoke of the values at a path of the hub.
    pub to_spoke: BTreeMap<String, Vec<String>>,
}

#[derive(Default)]
struct Fields {
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Fields {
    fn schema(self) -> Value {
        json!({"type": "object", "properties": self.properties, "required": self.required})
    }
}

fn number() -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": 9})
}

fn text() -> Value {
    json!({"type": "string", "enum": ["a", "b", "c"]})
}

impl Pair {
    pub fn of(shapes: &[Shape]) -> Self {
        let mut pair = Self {
            spoke: Value::Null,
            hub: Value::Null,
            rules: Some(Spoke::new("v1")),
            to_hub: BTreeMap::new(),
            to_spoke: BTreeMap::new(),
        };
        let (spoke, hub) =
            pair.fields(shapes, "spec", "spec", Fields::default(), Fields::default());
        let root = |spec: Value| json!({"type": "object", "required": ["spec"], "properties": {"spec": spec}});
        (pair.spoke, pair.hub) = (root(spoke), root(hub));
        pair
    }

    pub fn crd(&self) -> Value {
        let version = |name: &str, schema: &Value| json!({"name": name, "schema": {"openAPIV3Schema": schema}});
        json!({
            "metadata": {"name": "as.b.c"},
            "spec": {
                "group": "b.c", "scope": "Cluster", "names": {"kind": "A"},
                "versions": [version("v1", &self.spoke), version("v2", &self.hub)],
            },
        })
    }

    pub fn conversion(&mut self) -> Conversion {
        let rules = self.rules.take().expect("the rules are taken once");
        Conversion::new("as.b.c", "v2").spoke(rules)
    }

    fn rule(&mut self, rule: impl FnOnce(Spoke) -> Spoke) {
        self.rules = self.rules.take().map(rule);
    }

    /// Records where values are in both versions; a version without them has no places.
    fn place(&mut self, spoke: &[&str], hub: &[&str]) {
        let owned = |places: &[&str]| places.iter().map(ToString::to_string).collect::<Vec<_>>();
        for place in spoke {
            self.to_hub.insert(place.to_string(), owned(hub));
        }
        for place in hub {
            self.to_spoke.insert(place.to_string(), owned(spoke));
        }
    }

    fn fields(
        &mut self,
        shapes: &[Shape],
        spoke: &str,
        hub: &str,
        mut old: Fields,
        mut new: Fields,
    ) -> (Value, Value) {
        for (index, shape) in shapes.iter().enumerate() {
            self.field(shape, index, spoke, hub, &mut old, &mut new);
        }
        (old.schema(), new.schema())
    }

    /// Adds a field to the two schemas, and its rules.
    fn field(
        &mut self,
        shape: &Shape,
        index: usize,
        spoke: &str,
        hub: &str,
        old: &mut Fields,
        new: &mut Fields,
    ) {
        let name = format!("f{index}");
        let (s, h) = (format!("{spoke}.{name}"), format!("{hub}.{name}"));
        let renamed = format!("{hub}.g{index}");
        let add = |fields: &mut Fields, name: &str, schema: Value| {
            fields.properties.insert(name.to_owned(), schema);
        };
        match shape {
            Shape::Same => {
                add(old, &name, number());
                add(new, &name, number());
                self.place(&[&s], &[&h]);
            }
            Shape::Renamed => {
                add(old, &name, number());
                add(new, &format!("g{index}"), number());
                self.rule(|rules| rules.moved(&s, &renamed));
                self.place(&[&s], &[&renamed]);
            }
            Shape::MovedDown => {
                let inner = json!({"type": "object", "properties": {"x": number(), "y": number()}});
                add(old, &name, number());
                add(new, &format!("box{index}"), inner);
                let (box_, x) = (format!("{hub}.box{index}"), format!("{hub}.box{index}.x"));
                self.rule(|rules| rules.moved(&s, &x).only_in_hub(&box_));
                self.place(&[], &[&box_]);
                self.place(&[&s], &[&x]);
            }
            Shape::MovedUp => {
                let inner = json!({"type": "object", "properties": {"x": number(), "y": number()}});
                add(new, &name, number());
                add(old, &format!("box{index}"), inner);
                let (box_, x) = (
                    format!("{spoke}.box{index}"),
                    format!("{spoke}.box{index}.x"),
                );
                self.rule(|rules| rules.moved(&x, &h).only_in_spoke(&box_));
                self.place(&[&x], &[&h]);
                self.place(&[&box_], &[]);
            }
            Shape::ListOfOne => {
                add(old, &name, number());
                add(new, &name, json!({"type": "array", "items": number()}));
                self.rule(|rules| rules.list_of_one(&s, &h));
                self.place(&[&s], &[&h]);
            }
            Shape::OneOfList => {
                add(old, &name, json!({"type": "array", "items": number()}));
                add(new, &name, number());
                self.rule(|rules| rules.one_of_list(&s, &h));
                self.place(&[&s], &[&h]);
            }
            Shape::OnlySpoke => {
                add(
                    old,
                    &name,
                    json!({"type": "object", "properties": {"x": number(), "y": text()}}),
                );
                self.rule(|rules| rules.only_in_spoke(&s));
                self.place(&[&s], &[]);
            }
            Shape::OnlyHub => {
                add(
                    new,
                    &name,
                    json!({"type": "object", "properties": {"x": number(), "y": text()}}),
                );
                self.rule(|rules| rules.only_in_hub(&h));
                self.place(&[], &[&h]);
            }
            Shape::Required => {
                add(new, &name, number());
                new.required.push(name);
                self.rule(|rules| rules.only_in_hub(&h).supply_hub(&h, |_: &Value| Ok(1)));
                self.place(&[], &[&h]);
            }
            Shape::Enum => {
                add(
                    old,
                    &name,
                    json!({"type": "string", "enum": ["a", "b", "old"]}),
                );
                add(
                    new,
                    &name,
                    json!({"type": "string", "enum": ["a", "c", "new"]}),
                );
                let values = Values::new()
                    .both("b", "c")
                    .only_in_spoke("old", "a")
                    .only_in_hub("new", "a");
                self.rule(|rules| rules.values(&s, &h, values));
                self.place(&[&s], &[&h]);
            }
            Shape::Answer => {
                add(
                    old,
                    &name,
                    json!({"type": "string", "pattern": "^[0-9]{1,3}$"}),
                );
                add(
                    new,
                    &name,
                    json!({"type": "integer", "minimum": 0, "maximum": 999}),
                );
                self.rule(|rules| {
                    let number = |text: String| {
                        text.parse::<u32>()
                            .map_err(|error| anyhow::anyhow!(error).into())
                    };
                    rules.answer(&s, &h, number, |number: u32| Ok(number.to_string()))
                });
                self.place(&[&s], &[&h]);
            }
            Shape::Split => {
                add(
                    old,
                    &name,
                    json!({"type": "string", "pattern": "^[a-z]:[a-z]$"}),
                );
                let letter = || json!({"type": "string", "pattern": "^[a-z]$"});
                let (first, second) = (format!("{hub}.g{index}"), format!("{hub}.h{index}"));
                add(new, &format!("g{index}"), letter());
                add(new, &format!("h{index}"), letter());
                self.rule(|rules| {
                    rules.answer_all(
                        &[&s],
                        &[&first, &second],
                        |(text,): (String,)| Ok((text[..1].to_owned(), text[2..].to_owned())),
                        |(a, b): (Option<String>, Option<String>)| {
                            let part = |it: Option<String>| it.unwrap_or("z".into());
                            Ok((format!("{}:{}", part(a), part(b)),))
                        },
                    )
                });
                self.place(&[&s], &[&first, &second]);
            }
            Shape::DefaultHub(is_renamed) => {
                let (to, target) = if *is_renamed {
                    (format!("g{index}"), renamed)
                } else {
                    (name.clone(), h)
                };
                add(old, &name, number());
                add(
                    new,
                    &to,
                    json!({"type": "integer", "minimum": 0, "maximum": 9, "default": 3}),
                );
                self.rule(|rules| rules.default_in_hub(&target, 3));
                if *is_renamed {
                    self.rule(|rules| rules.moved(&s, &target));
                }
                self.place(&[&s], &[&target]);
            }
            Shape::DefaultSpoke(is_renamed) => {
                let (to, target) = if *is_renamed {
                    (format!("g{index}"), renamed)
                } else {
                    (name.clone(), h)
                };
                add(
                    old,
                    &name,
                    json!({"type": "integer", "minimum": 0, "maximum": 9, "default": 3}),
                );
                add(new, &to, number());
                self.rule(|rules| rules.default_in_spoke(&s, 3));
                if *is_renamed {
                    self.rule(|rules| rules.moved(&s, &target));
                }
                self.place(&[&s], &[&target]);
            }
            Shape::NullSpoke => {
                add(old, &name, json!({"type": "integer", "nullable": true}));
                add(new, &name, json!({"type": "integer"}));
                self.rule(|rules| rules.null_only_in_spoke(&s));
                self.place(&[&s], &[&h]);
            }
            Shape::NullHub => {
                add(old, &name, json!({"type": "integer"}));
                add(new, &name, json!({"type": "integer", "nullable": true}));
                self.rule(|rules| rules.null_only_in_hub(&h));
                self.place(&[&s], &[&h]);
            }
            Shape::EnumItems(is_renamed) => {
                let list = |values: [&str; 3]| json!({"type": "array", "items": {"type": "string", "enum": values}});
                let (to, h) = self.container(*is_renamed, index, &s, hub);
                add(old, &name, list(["a", "b", "old"]));
                add(new, &to, list(["a", "c", "new"]));
                let values = Values::new()
                    .both("b", "c")
                    .only_in_spoke("old", "a")
                    .only_in_hub("new", "a");
                self.rule(|rules| rules.values(&format!("{s}[]"), &format!("{h}[]"), values));
                self.place(&[&s], &[&h]);
            }
            Shape::DefaultObject(is_inner_first) => {
                let inner = |default: Value| json!({"type": "integer", "minimum": 0, "maximum": 9, "default": default});
                add(
                    old,
                    &name,
                    json!({"type": "object", "properties": {"x": number()}}),
                );
                add(
                    new,
                    &name,
                    json!({"type": "object", "default": {}, "properties": {"x": inner(json!(3))}}),
                );
                let x = format!("{h}.x");
                self.rule(|rules| match is_inner_first {
                    true => rules.default_in_hub(&x, 3).default_in_hub(&h, json!({})),
                    false => rules.default_in_hub(&h, json!({})).default_in_hub(&x, 3),
                });
                self.place(&[&s], &[&h]);
            }
            Shape::Object { is_renamed, fields } => {
                let (to, h) = self.container(*is_renamed, index, &s, hub);
                let (a, b) = self.fields(fields, &s, &h, Fields::default(), Fields::default());
                add(old, &name, a);
                add(new, &to, b);
            }
            Shape::Keyed { is_renamed, fields } => {
                let (to, h) = self.container(*is_renamed, index, &s, hub);
                let keyed = |key: &str| Fields {
                    properties: Map::from_iter([(key.to_owned(), text())]),
                    required: vec![key.to_owned()],
                };
                let (s, h) = (format!("{s}[name]"), format!("{h}[id]"));
                let (key, id) = (format!("{s}.name"), format!("{h}.id"));
                self.rule(|rules| rules.moved(&key, &id));
                self.place(&[&key], &[&h]);
                self.place(&[&s], &[&id]);
                let (a, b) = self.fields(fields, &s, &h, keyed("name"), keyed("id"));
                let list = |items: Value, key: &str| json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key], "items": items});
                add(old, &name, list(a, "name"));
                add(new, &to, list(b, "id"));
            }
            Shape::Items { is_renamed, fields } => {
                let (to, h) = self.container(*is_renamed, index, &s, hub);
                let (a, b) = self.fields(
                    fields,
                    &format!("{s}[]"),
                    &format!("{h}[]"),
                    Fields::default(),
                    Fields::default(),
                );
                add(old, &name, json!({"type": "array", "items": a}));
                add(new, &to, json!({"type": "array", "items": b}));
                // nothing of an edited item is kept
                self.place(&[&s], &[&h]);
            }
            Shape::Map { is_renamed, fields } => {
                let (to, h) = self.container(*is_renamed, index, &s, hub);
                let (a, b) = self.fields(
                    fields,
                    &format!("{s}{{}}"),
                    &format!("{h}{{}}"),
                    Fields::default(),
                    Fields::default(),
                );
                add(
                    old,
                    &name,
                    json!({"type": "object", "additionalProperties": a}),
                );
                add(
                    new,
                    &to,
                    json!({"type": "object", "additionalProperties": b}),
                );
            }
        }
    }

    fn container(
        &mut self,
        is_renamed: bool,
        index: usize,
        spoke: &str,
        hub: &str,
    ) -> (String, String) {
        let to = if is_renamed {
            format!("g{index}")
        } else {
            format!("f{index}")
        };
        let path = format!("{hub}.{to}");
        if is_renamed {
            self.rule(|rules| rules.moved(spoke, &path));
        }
        (to, path)
    }
}
