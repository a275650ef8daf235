//! The objects from which the search starts.

use super::super::sampling::asks_for_name;
use super::edit::{self, Edit, member};
use crate::validate::is_valid;
use crate::{Schema, SchemaOrBool};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// The maximum number of fields that are added.
const ADDED: usize = 150;

/// The schema of a root, extended by a schema for the name of the object, if its rules mention the metadata.
pub(super) fn with_name(schema: &Schema) -> Option<Schema> {
    if !asks_for_name(schema, &json!({})) {
        return None;
    }
    let mut schema = schema.clone();
    let metadata = schema.properties.get_mut("metadata")?;
    let name = metadata.properties.entry("name".to_owned()).or_default();
    let valid = Schema {
        type_: Some("string".to_owned()),
        format: Some("k8s-long-name".to_owned()),
        ..Schema::default()
    };
    name.type_ = valid.type_.clone();
    name.all_of.push(valid);
    Some(schema)
}

/// The closest object, with a name if the rules mention it.
pub(super) fn minimal(schema: &Schema, closest: &Value) -> Value {
    let mut object = closest.clone();
    if asks_for_name(schema, &object) {
        object["metadata"] = json!({"name": "example"});
    }
    object
}

/// The object with its optional fields and with an item in each list, those near the root first, as far as the schema without its rules
/// accepts them together.
pub(super) fn full(schema: &Schema, minimal: &Value) -> Value {
    let mut object = minimal.clone();
    let mut open = VecDeque::from([(String::new(), schema)]);
    let mut added = 0;
    while let Some((place, schema)) = open.pop_front() {
        let Some(value) = object.pointer_mut(&place) else {
            continue;
        };
        let mut add = |value: &mut Value, edit: Edit| {
            let mut more = value.clone();
            edit.apply(schema, &mut more);
            added += 1;
            if added <= ADDED && (is_valid(schema, &more) || !is_valid(schema, value)) {
                *value = more;
            }
        };
        match value {
            Value::Object(_) => {
                let meta = |key: &str| place.is_empty() && crate::prune::is_meta(key);
                for key in schema.properties.keys().filter(|key| !meta(key)) {
                    if value.get(key).is_none() {
                        add(value, Edit::Make(member("", key)));
                    }
                }
                if let Some(SchemaOrBool::Schema(_)) = &schema.additional_properties
                    && value.as_object().is_some_and(serde_json::Map::is_empty)
                {
                    add(value, Edit::Make("/example".to_owned()));
                }
            }
            Value::Array(items) if items.is_empty() => {
                add(value, Edit::Append(String::new(), None));
            }
            _ => {}
        }
        let below: Vec<String> = match value {
            Value::Object(map) => map.keys().map(|key| member("", key)).collect(),
            Value::Array(items) => (0..items.len()).map(|nth| format!("/{nth}")).collect(),
            _ => Vec::new(),
        };
        for part in below {
            if let Some(field) = edit::at(schema, &part) {
                open.push_back((format!("{place}{part}"), field));
            }
        }
    }
    object
}
