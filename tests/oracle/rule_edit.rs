//! Random edits of the tokens of a CEL rule, and of the bounds of its schema.

use proptest::{prelude::*, sample::Index};
use serde_json::Value;

const PIECES: [&str; 66] = [
    "1",
    "-1",
    "1.5",
    "2u",
    "'a'",
    "b'a'",
    "true",
    "null",
    "[]",
    "[1]",
    "['a', 1]",
    "{}",
    "{'a': 1}",
    "self",
    "oldSelf",
    "self.size()",
    "size(self)",
    "type(self)",
    "string",
    "int",
    "dyn(1)",
    "duration('1h')",
    "duration('1')",
    "timestamp('2020-01-01')",
    "int('x')",
    "==",
    "!=",
    "<",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "in",
    "&&",
    "||",
    "!",
    "?",
    ":",
    ".",
    ".?",
    "[?",
    "[0]",
    "['a']",
    "(",
    ")",
    ",",
    ".size()",
    ".orValue('')",
    ".hasValue()",
    ".all(x, x == 1)",
    ".exists(k, v, v == k)",
    ".map(x, [x])",
    ".filter(x, x)",
    ".startsWith('a')",
    ".matches('(')",
    ".matches('^a')",
    ".isSorted()",
    ".join(',')",
    ".foo()",
    ".namespace",
    ".metadata.name",
    "has(self.a)",
    "optional.none()",
    "quantity('1')",
];

#[derive(Clone, Debug)]
pub enum Edit {
    /// Replaces a token by a piece.
    Replace(Index, Index),
    Insert(Index, Index),
    Remove(Index, usize),
    Swap(Index, Index),
    /// Replaces the name after a dot by the name of another field or function.
    Rename(Index, Index),
}

pub fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        3 => (at(), at()).prop_map(|(at, piece)| Edit::Replace(at, piece)),
        1 => (at(), at()).prop_map(|(at, piece)| Edit::Insert(at, piece)),
        1 => (at(), 1..4_usize).prop_map(|(at, count)| Edit::Remove(at, count)),
        1 => (at(), at()).prop_map(|(a, b)| Edit::Swap(a, b)),
        3 => (at(), at()).prop_map(|(at, name)| Edit::Rename(at, name)),
    ]
}

impl Edit {
    pub fn apply(&self, tokens: &mut Vec<String>, names: &[String]) {
        if tokens.is_empty() {
            return;
        }
        match self {
            Self::Replace(at, piece) => *at.get_mut(tokens) = (*piece.get(&PIECES)).into(),
            Self::Insert(at, piece) => {
                tokens.insert(at.index(tokens.len() + 1), (*piece.get(&PIECES)).into());
            }
            Self::Remove(at, count) => {
                let at = at.index(tokens.len());
                tokens.drain(at..(at + count).min(tokens.len()));
            }
            Self::Swap(a, b) => {
                let (a, b) = (a.index(tokens.len()), b.index(tokens.len()));
                tokens.swap(a, b);
            }
            Self::Rename(at, name) => {
                let is_name = |it: &String| it.starts_with(|c: char| c.is_ascii_alphabetic());
                let mut places: Vec<_> = tokens.iter_mut().filter(|it| is_name(it)).collect();
                if !places.is_empty() && !names.is_empty() {
                    **at.get_mut(&mut places) = name.get(names).clone();
                }
            }
        }
    }
}

/// Splits a rule into words, literals, operators and white space.
pub fn tokens(rule: &str) -> Vec<String> {
    let mut tokens: Vec<String> = vec![];
    let mut rest = rule;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |it| it + 2),
            _ if first.is_alphanumeric() || first == '_' => {
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            }
            _ if first.is_whitespace() => first.len_utf8(),
            _ if ["&&", "||", "==", "!=", "<=", ">="]
                .iter()
                .any(|it| rest.starts_with(it)) =>
            {
                2
            }
            _ => first.len_utf8(),
        };
        tokens.push(rest[..length].to_owned());
        rest = &rest[length..];
    }
    tokens
}

/// Collects the names of all fields of a schema.
pub fn names(schema: &Value, names: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        for (name, field) in properties {
            names.push(name.clone());
            self::names(field, names);
        }
    }
    for below in ["items", "additionalProperties"] {
        if schema[below].is_object() {
            self::names(&schema[below], names);
        }
    }
}

/// A bound to be set on a part of a schema, or to be removed from it.
#[derive(Clone, Debug)]
pub struct Bound {
    part: Index,
    most: Option<i64>,
}

pub fn bound() -> impl Strategy<Value = Bound> {
    let most = prop::sample::select(&[-1, 0, 1, 3, 20, 200, 5000, 1_000_000, i64::MAX]);
    let most = prop::option::weighted(0.75, most);
    (any::<Index>(), most).prop_map(|(part, most)| Bound { part, most })
}

impl Bound {
    /// Sets or removes the bound of one of the parts that can have one.
    pub fn apply(&self, schema: &mut Value) {
        let mut places = vec![];
        bounded(schema, String::new(), &mut places);
        if places.is_empty() {
            return;
        }
        let (place, keyword) = self.part.get(&places);
        let part = schema
            .pointer_mut(place)
            .and_then(Value::as_object_mut)
            .expect("the place of a part");
        match self.most {
            Some(most) => part.insert((*keyword).into(), most.into()),
            None => part.remove(*keyword),
        };
    }
}

/// The parts of a schema that can have a bound.
fn bounded(schema: &Value, place: String, places: &mut Vec<(String, &'static str)>) {
    let is_text = schema["x-kubernetes-int-or-string"] == true || schema["type"] == "string";
    if is_text {
        places.push((place.clone(), "maxLength"));
    }
    for (below, keyword) in [
        ("items", "maxItems"),
        ("additionalProperties", "maxProperties"),
    ] {
        if schema[below].is_object() {
            places.push((place.clone(), keyword));
            bounded(&schema[below], format!("{place}/{below}"), places);
        }
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let name = operator_schema::pointer::escape(name);
        bounded(field, format!("{place}/properties/{name}"), places);
    }
}
