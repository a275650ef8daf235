//! From a request's body to an object of its kind: type checks, pruning and defaults, as the API server's decoder does them.

mod builtin;
mod custom;
mod kind;

use serde_json::Value;

pub(crate) use self::custom::keep_nulls;
pub(crate) use self::kind::{identify, misfit, name};

use self::builtin::{Place, settle_builtin};
use self::custom::{check_embedded, round};
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
    pub lost: Lost,
    /// Whether the object is stored as JSON, with all that this can say.
    is_json: bool,
}

/// What is not stored of an object as it was sent.
#[derive(Default)]
pub(crate) struct Lost {
    /// What is validated all the same, and where it was: empty maps and lists, and whole numbers with a point.
    pub validated: Vec<(String, Value)>,
    /// Whether the real server stores more, which nobody reads: empty maps and nulls in the metadata of custom objects, bytes that are
    /// null. The next write takes it away, and so is one even if it changes nothing else.
    pub is_untidy: bool,
}

/// Brings an object into the form that is stored: unknown fields dropped, defaults filled in.
pub(crate) fn settle(kind: &Kind, object: &mut Value) -> Result<Settled, Undecodable> {
    let mut settled = Settled {
        is_json: kind.custom.is_some(),
        ..Settled::default()
    };
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
        let place = Place::metadata();
        settle_builtin(metadata, type_, &place, &mut settled)?;
    }
    match (&kind.custom, &kind.type_name) {
        (Some(custom), _) => {
            round(object, "", &mut settled.lost.validated);
            check_embedded(&custom.schema, object, "")?;
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

/// A stored custom object as a schema has it: pruned, with defaults.
pub(crate) fn conform(custom: &Custom, object: &mut Value) {
    operator_schema::prune(&custom.schema, object);
    operator_schema::apply_defaults(&custom.schema, object);
}
