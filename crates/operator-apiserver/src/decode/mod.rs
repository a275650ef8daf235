//! Decodes a request's body into an object of its kind: type checks, pruning and defaults, as in the API server's decoder.

#[cfg(feature = "server")]
pub(crate) mod body;
mod builtin;
mod custom;
pub(crate) mod duplicate;
mod kind;

pub(crate) use self::custom::{keep_nulls, round};
pub(crate) use self::kind::{go_package, identify, kind_mismatch, set_type_meta};

use std::borrow::Cow;

use operator_schema::Schema;
use serde_json::{Value, json};

use self::builtin::{Location, normalize_builtin, restore_empty};
use self::custom::{check_embedded, restore_points};
use crate::go::{Undecodable, no_value_of, zero};
use crate::kinds::strategy;
use crate::model::Kind;
use crate::model::builtin::{OBJECT_META, builtin as built_in};

/// The fields that are dropped when an object is converted to its stored form.
#[derive(Default)]
pub(crate) struct Normalized {
    /// The paths of unknown fields.
    pub unknown: Vec<String>,
    /// Whether an empty map or list was omitted, or an integer lost its fraction; see [`as_validated`].
    pub is_reduced: bool,
    /// Whether a null or an empty map or list was omitted from a custom object, whose metadata is stored as sent.
    pub omits_empty: bool,
}

/// The differences between an object as sent and as stored.
#[derive(Clone, Default)]
pub(crate) struct DroppedFields {
    /// The object as sent, if validation covers more than what is stored.
    pub sent: Option<Value>,
    /// Whether the real server stores more than it returns: empty maps and nulls in the metadata of custom objects, or null bytes. The next
    /// write removes this, so it counts as a change even if it changes nothing else.
    pub stores_unknown_fields: bool,
}

/// Converts an object to its stored form: without unknown fields, and with defaults.
pub(crate) fn normalize(kind: &Kind, object: &mut Value) -> Result<Normalized, Undecodable> {
    let mut normalized = Normalized::default();
    if let (Some(_), Some(metadata), Some(type_)) = (
        &kind.custom,
        object.get_mut("metadata"),
        built_in().types.get(OBJECT_META),
    ) {
        if !metadata.is_object() && !metadata.is_null() {
            let wrong = no_value_of("v1.ObjectMeta", metadata);
            return Err(Undecodable::new(wrong));
        }
        normalize_builtin(metadata, type_, &Location::metadata(), &mut normalized)?;
    }
    match (&kind.custom, &kind.type_name) {
        (Some(custom), _) => {
            normalized.is_reduced |= round(object);
            check_embedded(&custom.schema, object)?;
            normalized
                .unknown
                .extend(operator_schema::prune(&custom.schema, object));
            operator_schema::apply_defaults(&custom.schema, object);
        }
        (None, Some(name)) => {
            if let Some(type_) = built_in().types.get(name) {
                normalize_builtin(
                    object,
                    type_,
                    &Location::root(&kind.kind, name),
                    &mut normalized,
                )?;
                zero::fill_object(name, type_, object);
            }
            (strategy(kind).set_defaults)(object);
        }
        (None, None) => {}
    }
    Ok(normalized)
}

/// Decodes the options of a deletion, whose fields have types.
pub(crate) fn options(body: &mut Value) -> Result<(), Undecodable> {
    const OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
    match built_in().types.get(OPTIONS) {
        Some(type_) => {
            let place = Location::root("DeleteOptions", OPTIONS);
            normalize_builtin(body, type_, &place, &mut Normalized::default())
        }
        None => Ok(()),
    }
}

/// Removes fields of the wrong type from the metadata of a custom object that was applied or changed by a webhook, because such an object
/// is not decoded before it is stored.
pub(crate) fn drop_malformed(object: &mut Value) {
    let (Some(fields), Some(type_)) = (
        object["metadata"].as_object_mut(),
        built_in().types.get(OBJECT_META),
    ) else {
        return;
    };
    fields.retain(|name, value| {
        let mut alone = json!({name: value});
        let place = Location::metadata();
        normalize_builtin(&mut alone, type_, &place, &mut Normalized::default()).is_ok()
    });
}

/// The object that is validated: with empty maps and lists, and fractions of integers, that were sent and are not stored.
pub(crate) fn as_validated<'a>(
    kind: &Kind,
    object: &'a Value,
    sent: Option<&Value>,
) -> Cow<'a, Value> {
    let Some(sent) = sent else {
        return Cow::Borrowed(object);
    };
    let mut whole = object.clone();
    let types = &built_in().types;
    match &kind.type_name {
        Some(name) if kind.custom.is_none() => {
            if let Some(type_) = types.get(name) {
                restore_empty(&mut whole, sent, type_);
            }
        }
        _ => {
            restore_points(&mut whole, sent);
            if let (Some(metadata), Some(type_)) =
                (whole.get_mut("metadata"), types.get(OBJECT_META))
            {
                restore_empty(metadata, &sent["metadata"], type_);
            }
        }
    }
    Cow::Owned(whole)
}

/// Prunes a stored custom object by a schema, and sets its defaults. Returns whether a default was missing.
pub(crate) fn conform(schema: &Schema, object: &mut Value) -> bool {
    operator_schema::prune(schema, object);
    let before = object.clone();
    operator_schema::apply_defaults(schema, object);
    before != *object
}

/// Decodes an object that a webhook changed. A custom object keeps its unknown fields until it is stored, and loses metadata of the wrong
/// type.
pub(crate) fn normalize_mutated(
    kind: &Kind,
    object: &mut Value,
) -> Result<Normalized, Undecodable> {
    let Some(custom) = &kind.custom else {
        return normalize(kind, object);
    };
    drop_malformed(object);
    let is_reduced = round(object);
    operator_schema::apply_defaults(&custom.schema, object);
    Ok(Normalized {
        is_reduced,
        ..Normalized::default()
    })
}

/// Removes the unknown fields of an object that a webhook changed.
pub(crate) fn prune(kind: &Kind, object: &mut Value) {
    if let Some(custom) = &kind.custom {
        operator_schema::prune(&custom.schema, object);
    }
}
