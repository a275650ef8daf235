//! Removes a set of fields from a value.

use serde_json::{Map, Value};

use super::path::Step;
use super::set::FieldSet;
use super::shape::{Node, Shape};

/// The value without these fields; null for an object or list that is a leaf, or of which nothing remains.
pub(crate) fn remove(value: &Value, fields: &FieldSet, node: Node<'_>) -> Value {
    match (node.shape(value), value) {
        (Shape::Fields, Value::Object(object)) => {
            let mut left = Map::new();
            for (name, value) in object {
                let step = Step::field(name);
                if !fields.has(&step) {
                    left.insert(name.clone(), below(value, fields, &step, node));
                }
            }
            if left.is_empty() {
                Value::Null
            } else {
                left.into()
            }
        }
        (Shape::Items(items), Value::Array(list)) => {
            let mut left = Vec::new();
            for item in list {
                match items.step(item) {
                    Ok(step) if fields.has(&step) => {}
                    Ok(step) => left.push(below(item, fields, &step, node)),
                    Err(_) => left.push(item.clone()),
                }
            }
            if left.is_empty() {
                Value::Null
            } else {
                left.into()
            }
        }
        (Shape::Leaf, Value::Object(_) | Value::Array(_)) => Value::Null,
        _ => value.clone(),
    }
}

fn below(value: &Value, fields: &FieldSet, step: &Step, node: Node<'_>) -> Value {
    match fields.below(step) {
        Some(fields) => remove(value, fields, node.at(step)),
        None => value.clone(),
    }
}
