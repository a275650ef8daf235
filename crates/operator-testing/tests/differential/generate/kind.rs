//! A kind, as it is described in `kinds.yaml`, and random bodies of requests for it.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    pub plural: String,
    base: Value,
    fields: BTreeMap<String, Vec<Value>>,
    #[serde(default)]
    status: BTreeMap<String, Vec<Value>>,
    #[serde(default)]
    pub scale: bool,
    #[serde(default)]
    pub strategic: bool,
    pub selectable: Vec<String>,
    /// The query of its deletions.
    #[serde(default)]
    pub delete: String,
}

/// Fields of `metadata` that every kind has.
fn metadata() -> [(&'static str, Vec<Value>); 3] {
    [
        (
            "/metadata/labels",
            vec![
                json!({"x": "1"}),
                json!({"x": "2", "y": "z"}),
                json!({}),
                Value::Null,
            ],
        ),
        (
            "/metadata/labels/x",
            vec![json!("1"), json!("2"), json!("")],
        ),
        (
            "/metadata/annotations",
            vec![
                json!({"example.com/n": "1"}),
                json!({"a": "", "b": "c"}),
                Value::Null,
            ],
        ),
    ]
}

impl Kind {
    pub fn read_all() -> Vec<Self> {
        serde_yaml::from_str(include_str!("../kinds.yaml")).unwrap()
    }

    pub fn has_status(&self) -> bool {
        !self.status.is_empty()
    }

    /// A whole object with this name, with some fields besides the required ones.
    pub fn whole(&self, random: &mut Rng, name: &str) -> Value {
        let mut object = self.base.clone();
        set(&mut object, "/metadata/name", name.into());
        for _ in 0..random.usize(0..4) {
            let (pointer, value) = self.field(random);
            // null removes a field, and is only for patches
            if !value.is_null() {
                set(&mut object, &pointer, value);
            }
        }
        object
    }

    /// A whole object with a status.
    pub fn with_status(&self, random: &mut Rng, name: &str) -> Value {
        let mut object = self.whole(random, name);
        for _ in 0..random.usize(1..3) {
            let (pointer, value) = choose(random, &self.status);
            set(&mut object, &pointer, value);
        }
        object
    }

    /// Only some fields, for a merge patch or an apply.
    pub fn part(&self, random: &mut Rng) -> Value {
        let mut object = json!({});
        for _ in 0..random.usize(1..3) {
            let (pointer, value) = self.field(random);
            set(&mut object, &pointer, value);
        }
        object
    }

    /// Only some fields of the status.
    pub fn status_part(&self, random: &mut Rng) -> Value {
        let mut object = json!({});
        for _ in 0..random.usize(1..3) {
            let (pointer, value) = choose(random, &self.status);
            set(&mut object, &pointer, value);
        }
        object
    }

    /// A field and a value for it.
    pub fn field(&self, random: &mut Rng) -> (String, Value) {
        if random.u8(0..5) > 0 {
            return choose(random, &self.fields);
        }
        let known = metadata();
        let (pointer, values) = &known[random.usize(0..known.len())];
        (
            (*pointer).to_owned(),
            values[random.usize(0..values.len())].clone(),
        )
    }
}

/// A field and one of its values; the first values are chosen more often.
fn choose(random: &mut Rng, fields: &BTreeMap<String, Vec<Value>>) -> (String, Value) {
    let at = random.usize(0..fields.len());
    let (pointer, values) = fields.iter().nth(at).expect("it is one of them");
    let last = random.usize(1..=values.len());
    (pointer.clone(), values[random.usize(0..last)].clone())
}

/// Sets the value at a JSON pointer, and creates missing objects on the way.
pub fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut at = object;
    for part in pointer.split('/').skip(1) {
        if let (Value::Array(items), Ok(index)) = (&mut *at, part.parse::<usize>()) {
            if items.len() <= index {
                return;
            }
        } else if !at.is_object() {
            *at = Map::new().into();
        }
        at = match at {
            Value::Array(items) => &mut items[part.parse::<usize>().expect("it was read above")],
            at => &mut at[part],
        };
    }
    *at = value;
}
