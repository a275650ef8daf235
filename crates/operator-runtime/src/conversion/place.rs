//! A place in a JSON value: the fields and item indices that lead to it. Reads, removes and sets values there, and never panics.

use std::fmt;

use serde_json::{Map, Value};

/// A step from a value into one of its members.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// A field of an object, or a key of a map.
    Field(String),
    /// An item of a list.
    Item(usize),
}

/// A place as users write it: `spec.pools[0].size`.
pub(super) struct Shown<'a>(pub &'a [Step]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if index == 0 => write!(f, "{name}")?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Item(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The member that a step leads to.
pub(super) fn member<'v>(value: &'v Value, step: &Step) -> Option<&'v Value> {
    match (value, step) {
        (Value::Object(fields), Step::Field(name)) => fields.get(name),
        (Value::Array(items), Step::Item(index)) => items.get(*index),
        _ => None,
    }
}

fn member_mut<'v>(value: &'v mut Value, step: &Step) -> Option<&'v mut Value> {
    match (value, step) {
        (Value::Object(fields), Step::Field(name)) => fields.get_mut(name),
        (Value::Array(items), Step::Item(index)) => items.get_mut(*index),
        _ => None,
    }
}

/// The value at a place.
pub(super) fn get<'v>(value: &'v Value, place: &[Step]) -> Option<&'v Value> {
    place.iter().try_fold(value, member)
}

pub(super) fn get_mut<'v>(value: &'v mut Value, place: &[Step]) -> Option<&'v mut Value> {
    place.iter().try_fold(value, member_mut)
}

/// Removes the value at a place and returns it. An item of a list becomes `null`, so that the other items keep their indices.
pub(super) fn remove(value: &mut Value, place: &[Step]) -> Option<Value> {
    let (last, parents) = place.split_last()?;
    match (get_mut(value, parents)?, last) {
        (Value::Object(fields), Step::Field(name)) => fields.remove(name),
        (Value::Array(items), Step::Item(index)) => items.get_mut(*index).map(Value::take),
        _ => None,
    }
}

/// Sets the value at a place. Creates parents that are absent or `null`; a list is filled up with empty objects.
///
/// Fails if a parent is neither `null` nor the object or list that its step needs. The error is the number of steps to that parent.
pub(super) fn set(value: &mut Value, place: &[Step], new: Value) -> Result<(), usize> {
    let mut at = value;
    for (depth, step) in place.iter().enumerate() {
        at = match step {
            Step::Field(name) => {
                if at.is_null() {
                    *at = Value::Object(Map::new());
                }
                let fields = at.as_object_mut().ok_or(depth)?;
                fields.entry(name.as_str()).or_insert(Value::Null)
            }
            Step::Item(index) => {
                if at.is_null() {
                    *at = Value::Array(Vec::new());
                }
                let items = at.as_array_mut().ok_or(depth)?;
                while items.len() <= *index {
                    items.push(Value::Object(Map::new()));
                }
                &mut items[*index]
            }
        };
    }
    *at = new;
    Ok(())
}

/// The name of a value's type, for messages.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(path: &str) -> Vec<Step> {
        path.split('.')
            .map(|name| Step::Field(name.into()))
            .collect()
    }

    #[test]
    fn an_item_that_is_removed_leaves_null_and_a_field_nothing() {
        let mut value = json!({"spec": [{"a": 1}, 2]});
        let item = |index| [Step::Field("spec".into()), Step::Item(index)];
        assert_eq!(remove(&mut value, &item(1)), Some(json!(2)));
        assert_eq!(remove(&mut value, &item(2)), None);
        assert_eq!(
            remove(&mut value, &[&item(0)[..], &fields("a")].concat()),
            Some(json!(1))
        );
        assert_eq!(value, json!({"spec": [{}, null]}));
    }

    #[test]
    fn a_value_is_not_set_inside_a_string() {
        let mut value = json!({"spec": {"a": "text"}});
        assert_eq!(set(&mut value, &fields("spec.a.b"), json!(1)), Err(2));
        assert_eq!(value, json!({"spec": {"a": "text"}}));
    }
}
