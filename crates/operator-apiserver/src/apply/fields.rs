//! The set of fields in a value.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use serde_json::Value;

use super::path::Step;
use super::set::FieldSet;
use super::shape::{Node, Shape};

/// All fields of a value, including its leaves.
pub(crate) fn fields_of(value: &Value, node: Node<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    walk(value, node, &mut Vec::new(), &mut set);
    set
}

fn walk(value: &Value, node: Node<'_>, path: &mut Vec<Step>, set: &mut FieldSet) {
    match (node.shape(value), value) {
        (Shape::Leaf, _) => set.insert(path),
        (Shape::Fields, Value::Object(fields)) => {
            for (name, field) in fields {
                path.push(Step::field(name));
                walk(field, node.field(name), path, set);
                let empty = field.is_null() || field.as_object().is_some_and(|f| f.is_empty());
                if empty || !node.declares(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        (Shape::Items(items), Value::Array(list)) => {
            let steps: Vec<Step> = list
                .iter()
                .filter_map(|item| items.step(item).ok())
                .collect();
            let mut seen = BTreeSet::new();
            let repeated: BTreeSet<&Step> =
                steps.iter().filter(|step| !seen.insert(*step)).collect();
            for item in list {
                let Ok(step) = items.step(item) else {
                    continue;
                };
                let unique = !repeated.contains(&step);
                let below = node.at(&step);
                path.push(step);
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

struct Wrong {
    /// Whether duplicate items are the only problem.
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
    Step(&'a Trail<'a>, &'a Step),
}

impl Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, at) => write!(f, "{parent}[{at}]"),
            Self::Step(parent, step) => write!(f, "{parent}{step}"),
        }
    }
}

fn compare(value: &Value, node: Node<'_>, trail: &Trail<'_>, wrong: &mut Vec<Wrong>) {
    if let Some(expected) = node.mismatch(value) {
        wrong.push(Wrong::new(trail, format_args!("expected {expected}")));
        return;
    }
    match (node.shape(value), value) {
        // Values that are owned as a whole have types, too.
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
                    // The server looks no further, in an order of its own.
                    break;
                }
                compare(field, node.field(name), &trail, wrong);
            }
        }
        (Shape::Items(items), Value::Array(list)) => {
            let mut seen = BTreeSet::new();
            for (at, item) in list.iter().enumerate() {
                match items.step(item) {
                    Err(why) => {
                        wrong.push(Wrong::new(trail, format_args!("element {at}: {why}")));
                    }
                    Ok(step) if seen.contains(&step) => wrong.push(Wrong {
                        is_repeated: true,
                        text: format!("{trail}: duplicate entries for key {step}"),
                    }),
                    Ok(step) => {
                        compare(item, node.at(&step), &Trail::Step(trail, &step), wrong);
                        seen.insert(step);
                    }
                }
            }
        }
        _ => {}
    }
}
