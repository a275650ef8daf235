//! Finds the old value that a new value replaces: the same field, or the item with the same keys in a list of type `map`.
//!
//! Items of other lists, and members of an `atomic` map, have no counterpart; only the whole list or map is compared.

use crate::{Schema, default::field};
use serde_json::Value;

/// The old counterpart of a new value, if there is one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Old<'a> {
    value: Option<&'a Value>,
    /// Whether the new value equals it; without a counterpart, whether the nearest surrounding value has not changed.
    is_unchanged: bool,
}

impl<'a> Old<'a> {
    pub(crate) fn of(schema: &Schema, new: &Value, old: &'a Value) -> Self {
        Self {
            value: Some(old),
            is_unchanged: is_same(schema, new, old),
        }
    }

    pub(crate) fn is_unchanged(self) -> bool {
        self.is_unchanged
    }

    #[cfg(feature = "cel")]
    pub(crate) fn value(self) -> Option<&'a Value> {
        self.value
    }

    /// The counterpart of a member of this object; `field` is the member's schema.
    pub(crate) fn member(self, schema: &Schema, field: &Schema, key: &str, new: &Value) -> Self {
        let is_granular = schema.map_type.as_deref() != Some("atomic");
        let old = self.value.filter(|_| is_granular);
        self.below(field, new, old.and_then(|old| old.get(key)))
    }

    /// The counterpart of an item of this list; `items` is the item's schema.
    pub(crate) fn item(self, schema: &Schema, items: &Schema, new: &Value) -> Self {
        let old = self.value.and_then(Value::as_array);
        let old = old.and_then(|old| counterpart(schema, new, old));
        self.below(items, new, old)
    }

    /// The counterpart of a part of the value. An absent or null one counts as none.
    fn below(self, schema: &Schema, new: &Value, old: Option<&'a Value>) -> Self {
        match old.filter(|old| !old.is_null()) {
            Some(old) => Self::of(schema, new, old),
            None => Self {
                value: None,
                is_unchanged: self.is_unchanged,
            },
        }
    }
}

/// The item with the same keys in a list of type `map`.
fn counterpart<'a>(schema: &Schema, item: &Value, old: &'a [Value]) -> Option<&'a Value> {
    if schema.list_type.as_deref() != Some("map") {
        return None;
    }
    let is_same = |old: &&Value| {
        let keys = &schema.list_map_keys;
        keys.iter().all(|key| old.get(key) == item.get(key))
    };
    old.iter().find(is_same)
}

/// Whether two values are equal, regardless of the order of items in `map` lists.
fn is_same(schema: &Schema, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().all(|(key, new)| {
                    old.get(key).is_some_and(|old| match field(schema, key) {
                        Some(field) => is_same(field, new, old),
                        None => new == old,
                    })
                })
        }
        (Value::Array(new), Value::Array(old)) => {
            let is_map = schema.list_type.as_deref() == Some("map");
            let same = |new: &Value, old: &Value| match &schema.items {
                Some(items) => is_same(items, new, old),
                None => new == old,
            };
            new.len() == old.len()
                && new.iter().zip(old).all(|(item, beside)| {
                    if is_map {
                        counterpart(schema, item, old).is_some_and(|old| same(item, old))
                    } else {
                        same(item, beside)
                    }
                })
        }
        (new, old) => new == old,
    }
}

/// The old value, with equal items of sets and `map` lists in the order of the new one, because rules compare them regardless of the order.
#[cfg(feature = "cel")]
pub(crate) fn ordered(schema: &Schema, old: &Value, new: &Value) -> Value {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let member = |(key, old): (&String, &Value)| {
                let new = new.get(key).zip(field(schema, key));
                let old = new.map_or_else(|| old.clone(), |(new, field)| ordered(field, old, new));
                (key.clone(), old)
            };
            old.iter().map(member).collect()
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            let pair = |item: &Value| match schema.list_type.as_deref() {
                Some("set") => old.iter().find(|old| *old == item),
                _ => counterpart(schema, item, old),
            };
            let pairs: Option<Vec<_>> = new.iter().map(|item| Some((pair(item)?, item))).collect();
            let items = schema.items.as_deref();
            let item = |(old, new): (&Value, &Value)| match items {
                Some(items) => ordered(items, old, new),
                None => old.clone(),
            };
            match pairs {
                Some(pairs) => pairs.into_iter().map(item).collect(),
                None => Value::Array(old.clone()),
            }
        }
        (old, _) => old.clone(),
    }
}
