//! The set of fields in a value.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use serde_json::Value;

use super::path::PathElement;
use super::set::FieldSet;
use super::shape::{Node, Shape};

/// The fields of a value that can be owned: leaves, empty objects, entries of maps, and items of lists.
pub(crate) fn fields_of(value: &Value, node: Node<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    walk(value, node, &mut Vec::new(), &mut set);
    set
}

/// Adds the fields of a value at a path to the set.
fn walk(value: &Value, node: Node<'_>, path: &mut Vec<PathElement>, set: &mut FieldSet) {
    match (node.shape(value), value) {
        (Shape::Leaf, _) => set.insert(path),
        (Shape::Fields, Value::Object(fields)) => {
            for (name, field) in fields {
                path.push(PathElement::field(name));
                walk(field, node.field(name), path, set);
                let empty =
                    field.is_null() || field.as_object().is_some_and(serde_json::Map::is_empty);
                if empty || !node.declares(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        (Shape::Items(items), Value::Array(list)) => {
            let elements: Vec<PathElement> = list
                .iter()
                .filter_map(|item| items.path_element(item).ok())
                .collect();
            let mut seen = BTreeSet::new();
            let repeated: BTreeSet<&PathElement> = elements
                .iter()
                .filter(|element| !seen.insert(*element))
                .collect();
            for item in list {
                let Ok(element) = items.path_element(item) else {
                    continue;
                };
                let unique = !repeated.contains(&element);
                let below = node.at(&element);
                path.push(element);
                if unique {
                    walk(item, below, path, set);
                }
                set.insert(path);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Whether a list may contain several items with the same key.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Repeats {
    /// In stored objects and in updates.
    Allowed,
    /// In applied objects.
    Refused,
}

/// The errors of a value against its schema, as the server reports them: `.spec.x: field not declared in schema`.
pub(crate) fn validate_typed(value: &Value, node: Node<'_>, repeats: Repeats) -> Option<String> {
    let mut wrong = Vec::new();
    compare(value, node, &Trail::Root, &mut wrong);
    let mut texts: Vec<String> = wrong
        .into_iter()
        .filter(|it| repeats == Repeats::Refused || !it.is_repeated)
        .map(|it| it.text)
        .collect();
    match texts.len() {
        0 => None,
        1 => texts.pop(),
        _ => Some(format!("errors:\n  {}", texts.join("\n  "))),
    }
}

/// A violation of the schema.
struct Wrong {
    /// Whether the problem is a repeated item, which `Repeats` may allow.
    is_repeated: bool,
    text: String,
}

impl Wrong {
    fn new(trail: &Trail<'_>, why: impl Display) -> Self {
        Self {
            is_repeated: false,
            text: format!("{trail}: {why}"),
        }
    }
}

/// The path to a value, which is formatted only for errors.
enum Trail<'a> {
    Root,
    Field(&'a Trail<'a>, &'a str),
    Index(&'a Trail<'a>, usize),
    Element(&'a Trail<'a>, &'a PathElement),
}

impl Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, at) => write!(f, "{parent}[{at}]"),
            Self::Element(parent, element) => write!(f, "{parent}{element}"),
        }
    }
}

/// Compares a value with its schema, and adds the errors.
fn compare(value: &Value, node: Node<'_>, trail: &Trail<'_>, wrong: &mut Vec<Wrong>) {
    if let Some(expected) = node.mismatch(value) {
        wrong.push(Wrong::new(trail, format_args!("expected {expected}")));
        return;
    }
    match (node.shape(value), value) {
        // the parts of a value that is owned as a whole have types, too
        (Shape::Leaf, Value::Array(list)) => {
            for (at, item) in list.iter().enumerate() {
                compare(item, node.item(), &Trail::Index(trail, at), wrong);
            }
        }
        (Shape::Fields | Shape::Leaf, Value::Object(fields)) => {
            for (name, field) in fields {
                let trail = Trail::Field(trail, name);
                if !node.knows(name) {
                    wrong.push(Wrong::new(&trail, "field not declared in schema"));
                    // the server stops at the first such field, in Go's random order of maps
                    break;
                }
                compare(field, node.field(name), &trail, wrong);
            }
        }
        (Shape::Items(items), Value::Array(list)) => {
            let mut seen = BTreeSet::new();
            for (at, item) in list.iter().enumerate() {
                match items.path_element(item) {
                    Err(why) => {
                        wrong.push(Wrong::new(trail, format_args!("element {at}: {why}")));
                    }
                    Ok(element) if seen.contains(&element) => wrong.push(Wrong {
                        is_repeated: true,
                        text: format!("{trail}: duplicate entries for key {element}"),
                    }),
                    Ok(element) => {
                        compare(
                            item,
                            node.at(&element),
                            &Trail::Element(trail, &element),
                            wrong,
                        );
                        seen.insert(element);
                    }
                }
            }
        }
        _ => {}
    }
}
