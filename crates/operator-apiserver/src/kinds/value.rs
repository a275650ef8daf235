//! Sets and removes the fields of an object.

use serde_json::{Value, json};

/// Sets a value if it is null.
pub(crate) fn set_if_null(place: &mut Value, value: impl Into<Value>) {
    if place.is_null() {
        *place = value.into();
    }
}

/// Sets fields that are null or empty.
pub(crate) fn set_if_empty(object: &mut Value, defaults: &[(&str, Value)]) {
    for (name, default) in defaults {
        let is_empty = object[*name].is_null() || object[*name] == "";
        if is_empty {
            object[*name] = default.clone();
        }
    }
}

pub(crate) fn items<'a>(object: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> {
    let items = object.get_mut(list).and_then(Value::as_array_mut);
    items.into_iter().flatten()
}

pub(crate) fn drop_fields(object: &mut Value, names: &[&str]) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| !names.contains(&name.as_str()));
    }
}

/// Removes all fields but these.
pub(crate) fn keep(object: &mut Value, names: &[&str]) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| names.contains(&name.as_str()));
    }
}

/// Adds a finalizer.
pub(crate) fn protect(object: &mut Value, finalizer: &str) {
    let finalizers = &mut object["metadata"]["finalizers"];
    set_if_null(finalizers, json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|known| known == finalizer)
    {
        finalizers.push(finalizer.into());
    }
}
