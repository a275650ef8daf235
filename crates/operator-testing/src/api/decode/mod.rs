//! From a request's body to an object of its kind: type checks, pruning and defaults, as the API server's decoder does them.

mod builtin;
mod custom;
mod kind;

use serde_json::Value;

pub(crate) use self::custom::{keep_nulls, round};
pub(crate) use self::kind::{identify, misfit, name};

use self::builtin::{Place, settle_builtin};
use self::custom::check_embedded;
use super::builtin::{OBJECT_META, builtin as built_in};
use super::go::Undecodable;
use super::json::go_type;
use super::kind::{Custom, Kind};
use super::{defaults, zero};

/// What is lost of an object when it is brought into its form.
#[derive(Default)]
pub(crate) struct Settled {
    /// The paths of unknown fields.
    pub unknown: Vec<String>,
    /// Whether a map or list that is empty was left out, or a whole number lost its point; see [`as_validated`].
    pub is_less: bool,
    /// Whether a null or an empty map or list was left out of the metadata of a custom object.
    pub is_tidied: bool,
}

/// What is not stored of an object as it was sent.
#[derive(Default)]
pub(crate) struct Lost {
    /// The object as it was sent, where more of it is validated than is stored.
    pub sent: Option<Value>,
    /// Whether the real server stores more, which nobody reads: empty maps and nulls in the metadata of custom objects, bytes that are
    /// null. The next write takes it away, and so is one even if it changes nothing else.
    pub is_untidy: bool,
}

/// Brings an object into the form that is stored: unknown fields dropped, defaults filled in.
pub(crate) fn settle(kind: &Kind, object: &mut Value) -> Result<Settled, Undecodable> {
    let mut settled = Settled::default();
    if let (Some(_), Some(metadata), Some(type_)) = (
        &kind.custom,
        object.get_mut("metadata"),
        built_in().types.get(OBJECT_META),
    ) {
        if !metadata.is_object() && !metadata.is_null() {
            return Err(Undecodable::new(format!(
                "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                go_type(metadata)
            )));
        }
        settle_builtin(metadata, type_, &Place::metadata(), &mut settled)?;
    }
    match (&kind.custom, &kind.type_name) {
        (Some(custom), _) => {
            settled.is_less |= round(object);
            check_embedded(&custom.schema, object)?;
            settled
                .unknown
                .extend(operator_schema::prune(&custom.schema, object));
            operator_schema::apply_defaults(&custom.schema, object);
        }
        (None, Some(name)) => {
            if let Some(type_) = built_in().types.get(name) {
                settle_builtin(object, type_, &Place::root(&kind.kind, name), &mut settled)?;
                zero::fill_object(name, type_, object);
            }
            defaults::fill(kind, object);
        }
        (None, None) => {}
    }
    Ok(settled)
}

/// An object as it is validated: with the empty maps and lists and the points of whole numbers that were sent and are not stored.
pub(crate) fn as_validated(kind: &Kind, object: &Value, sent: &Value) -> Value {
    let mut whole = object.clone();
    match (&kind.custom, sent) {
        // Go leaves out what is empty in its own structs alone.
        (Some(_), Value::Object(sent)) => {
            for (name, sent) in sent {
                if let Some(value) = whole.get_mut(name) {
                    put_back(value, sent, name == "metadata");
                }
            }
        }
        _ => put_back(&mut whole, sent, true),
    }
    whole
}

fn put_back(value: &mut Value, sent: &Value, with_empty: bool) {
    match (value, sent) {
        (Value::Object(fields), Value::Object(sent)) => {
            for (name, sent) in sent {
                match fields.get_mut(name).filter(|value| !value.is_null()) {
                    Some(value) => put_back(value, sent, with_empty),
                    None if with_empty && is_empty(sent) => {
                        fields.insert(name.clone(), sent.clone());
                    }
                    None => {}
                }
            }
        }
        (Value::Array(items), Value::Array(sent)) if items.len() == sent.len() => {
            let items = items.iter_mut().zip(sent);
            items.for_each(|(item, sent)| put_back(item, sent, with_empty));
        }
        (value @ Value::Number(_), Value::Number(number))
            if number.is_f64() && value.as_f64() == number.as_f64() =>
        {
            *value = sent.clone();
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(|it| it.is_empty())
}

/// A stored custom object as a schema has it: pruned, with defaults.
pub(crate) fn conform(custom: &Custom, object: &mut Value) {
    operator_schema::prune(&custom.schema, object);
    operator_schema::apply_defaults(&custom.schema, object);
}
