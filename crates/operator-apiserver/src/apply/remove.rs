//! Removes a set of fields from a value.

use serde_json::{Map, Value};

use super::path::PathElement;
use super::set::FieldSet;
use super::shape::{Node, Shape};

/// The value without these fields; null for an object or list that is a leaf, or of which nothing remains.
pub(crate) fn remove(value: &Value, fields: &FieldSet, node: Node<'_>) -> Value {
    match (node.shape(value), value) {
        (Shape::Fields, Value::Object(object)) => {
            let mut left = Map::new();
            for (name, value) in object {
                let element = PathElement::field(name);
                if !fields.has(&element) {
                    left.insert(name.clone(), below(value, fields, &element, node));
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
                match items.path_element(item) {
                    Ok(element) if fields.has(&element) => {}
                    Ok(element) => left.push(below(item, fields, &element, node)),
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

/// A part of a value, without the fields of the set below the element.
fn below(value: &Value, fields: &FieldSet, element: &PathElement, node: Node<'_>) -> Value {
    match fields.below(element) {
        Some(fields) => remove(value, fields, node.at(element)),
        None => value.clone(),
    }
}
