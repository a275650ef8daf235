//! The conditions in the status of an object.

use serde_json::{Value, json};

use super::json::items;
use super::metadata;

pub(crate) fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    items(&object["status"]["conditions"]).find(|condition| condition["type"] == type_)
}

/// Whether an object has a condition with the status `True`.
pub(crate) fn is_true(object: &Value, type_: &str) -> bool {
    condition(object, type_).is_some_and(|condition| condition["status"] == "True")
}

/// Sets a condition, with the time of its last transition.
pub(crate) fn set_condition(object: &mut Value, mut condition: Value) {
    let conditions = &mut object["status"]["conditions"];
    if conditions.is_null() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let known = conditions
        .iter_mut()
        .find(|known| known["type"] == condition["type"]);
    condition["lastTransitionTime"] = match &known {
        Some(known) if known["status"] == condition["status"] => {
            known["lastTransitionTime"].clone()
        }
        _ => metadata::now().into(),
    };
    match known {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
}
