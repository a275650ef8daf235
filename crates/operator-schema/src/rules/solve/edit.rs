//! Edits of an object, at JSON pointers.

use crate::Schema;
use crate::default::field;
use crate::pointer::{escape, unescape};
use crate::sample::{self, accepts};
use serde_json::{Map, Value};

/// A change of one value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Edit {
    /// Creates what is absent on the way to a value, and the value.
    Make(String),
    /// Sets a value, and creates what is absent on the way to it.
    Set(String, Value),
    /// Removes a field or an item.
    Remove(String),
    /// Appends an item to a list; a new one of its schema for `None`.
    Append(String, Option<Value>),
}

impl Edit {
    /// Whether it only adds to the object.
    pub(super) fn adds(&self) -> bool {
        matches!(self, Edit::Make(_) | Edit::Append(..))
    }

    /// The same edit of an object that contains the value at `place`.
    pub(super) fn below(self, place: &str) -> Self {
        let moved = |pointer: String| format!("{place}{pointer}");
        match self {
            Edit::Make(pointer) => Edit::Make(moved(pointer)),
            Edit::Set(pointer, value) => Edit::Set(moved(pointer), value),
            Edit::Remove(pointer) => Edit::Remove(moved(pointer)),
            Edit::Append(pointer, item) => Edit::Append(moved(pointer), item),
        }
    }

    /// Changes `object`; does nothing where the object has no place for it.
    pub(super) fn apply(&self, schema: &Schema, object: &mut Value) {
        match self {
            Edit::Make(pointer) => {
                make(schema, object, pointer);
            }
            Edit::Set(pointer, value) => {
                if let Some(place) = make(schema, object, pointer) {
                    *place = value.clone();
                }
            }
            Edit::Remove(pointer) => {
                let (parent, last) = split(pointer);
                match object.pointer_mut(parent) {
                    Some(Value::Object(map)) => {
                        map.shift_remove(&*unescape(last));
                    }
                    Some(Value::Array(items)) => {
                        if let Some(index) = index(last).filter(|it| *it < items.len()) {
                            items.remove(index);
                        }
                    }
                    _ => {}
                }
            }
            Edit::Append(pointer, item) => {
                let each = at(schema, pointer).and_then(|it| it.items.as_deref());
                if let Some(Value::Array(items)) = make(schema, object, pointer) {
                    let new = || each.map_or(Value::Null, |it| fresh(it, "", items.len()));
                    let item = item.clone().unwrap_or_else(new);
                    items.push(item);
                }
            }
        }
    }
}

/// The pointer of the parent, and the last token.
pub(super) fn split(pointer: &str) -> (&str, &str) {
    pointer.rsplit_once('/').unwrap_or(("", pointer))
}

/// The pointer of a member.
pub(super) fn member(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", escape(key))
}

fn index(token: &str) -> Option<usize> {
    token.parse().ok()
}

/// The schema of the value at a pointer.
pub(super) fn at<'s>(schema: &'s Schema, pointer: &str) -> Option<&'s Schema> {
    pointer
        .split('/')
        .skip(1)
        .try_fold(schema, |schema, token| step(schema, token))
}

fn step<'s>(schema: &'s Schema, token: &str) -> Option<&'s Schema> {
    match &schema.items {
        Some(items) if index(token).is_some() => Some(items),
        _ => field(schema, &unescape(token)),
    }
}

/// A small value of a schema: the `nth` of its different values, if it has so many.
fn fresh(schema: &Schema, name: &str, nth: usize) -> Value {
    let value = sample::nth(schema, name, nth);
    if nth > 0 && !accepts(&[schema], &value) {
        sample::nth(schema, name, 0)
    } else {
        value
    }
}

/// The value at a pointer, after creating it and what is absent on the way to it; `None` if there is no schema for it.
fn make<'v>(schema: &Schema, object: &'v mut Value, pointer: &str) -> Option<&'v mut Value> {
    let (mut schema, mut value) = (schema, object);
    for token in pointer.split('/').skip(1) {
        schema = step(schema, token)?;
        value = match value {
            Value::Array(items) => {
                let index = index(token)?;
                while items.len() <= index {
                    items.push(fresh(schema, "", items.len()));
                }
                &mut items[index]
            }
            Value::Object(map) => {
                let key = unescape(token);
                let absent = map.get(&*key).is_none_or(Value::is_null);
                if absent {
                    map.insert(key.clone().into_owned(), fresh(schema, &key, 0));
                }
                map.get_mut(&*key)?
            }
            other => {
                *other = Value::Object(Map::new());
                let key = unescape(token).into_owned();
                let new = fresh(schema, &key, 0);
                other.as_object_mut()?.entry(key).or_insert(new)
            }
        };
    }
    Some(value)
}
