//! The stored form of an object, and its conversion to a version of its kind.

use std::sync::Arc;

use serde_json::Value;

use super::conversion::Conversions;
use super::objects::Store;
use super::state::State;
use crate::decode;
use crate::kinds::strategy;
use crate::model::metadata::text;
use crate::model::{Crd, Custom, Failure, Kind, Result};
use crate::request::Request;

/// Converts a stored object to a version of its kind.
pub(crate) fn present(conversions: &Conversions, kind: &Kind, stored: &Value) -> Result<Value> {
    let mut object = stored.clone();
    let Some(custom) = &kind.custom else {
        let from_storage = strategy(kind).from_storage;
        return Ok(from_storage.unwrap_or(|object| object)(object));
    };
    let api_version = kind.api_version();
    let stored_in = version_of(stored);
    // An object that was written under an earlier schema may lack defaults. A read sets those of the version in which it is stored, and of
    // no other.
    if let Some(form) = custom.crd.versions.get(stored_in)
        && revision(stored) <= form.since
    {
        decode::conform(&form.schema, &mut object);
    }
    if stored_in != api_version {
        object = conversions.convert(&custom.crd, object, &api_version)?;
        operator_schema::prune(&custom.schema, &mut object);
    }
    Ok(object)
}

/// Like [`present`], but without a copy if the stored object needs no change.
pub(crate) fn item(conversions: &Conversions, kind: &Kind, stored: &Arc<Value>) -> Result<Item> {
    let is_unchanged = match &kind.custom {
        None => strategy(kind).from_storage.is_none(),
        Some(custom) => {
            let api_version = kind.api_version();
            let form = custom.crd.versions.get(&api_version);
            version_of(stored) == api_version
                && form.is_some_and(|form| revision(stored) > form.since)
        }
    };
    if is_unchanged {
        Ok(Item::Stored(stored.clone()))
    } else {
        present(conversions, kind, stored).map(Item::Made)
    }
}

/// Converts an object from a version of its kind to its stored form. Returns also whether the real server stores it without some of its
/// defaults, which a read then adds.
pub(crate) fn to_storage(
    conversions: &Conversions,
    kind: &Kind,
    object: Value,
) -> Result<(Value, bool)> {
    let mut lacks_defaults = false;
    let mut object = (strategy(kind).to_storage)(object);
    if let Some(custom) = &kind.custom {
        let storage = &custom.crd.storage;
        let form = custom.crd.versions.get(storage);
        if let Some(form) = form.filter(|_| *storage != kind.api_version()) {
            object = conversions.convert(&custom.crd, object, storage)?;
            lacks_defaults = decode::conform(&form.schema, &mut object);
        }
    }
    Ok((object, lacks_defaults))
}

/// Rejects reading an object that is stored in a version that the CRD no longer has.
pub(crate) fn check_stored(kind: &Kind, stored: &Value) -> Result<()> {
    match kind
        .custom
        .as_deref()
        .and_then(|custom| lost(&custom.crd, stored))
    {
        Some(version) => Err(Failure::without_reason(unreadable(version))),
        None => Ok(()),
    }
}

/// The object of the request's path, in the version of the request.
pub(crate) fn live(state: &State, request: &Request<'_>) -> Result<Option<Value>> {
    let Some(stored) = state.store.find(&request.key(&request.path.name)) else {
        return Ok(None);
    };
    check_stored(request.kind, &stored)?;
    present(&state.conversions, request.kind, &stored).map(Some)
}

/// Rejects reading a collection with an object that is stored in a version that the CRD no longer has.
pub(crate) fn check_collection(store: &Store, kind: &Kind) -> Result<()> {
    let lost = kind
        .custom
        .as_deref()
        .and_then(|Custom { crd, .. }| first_lost_version(store, crd, kind.resource()));
    match lost {
        Some(lost) => {
            let text = reinitializing(&kind.api_version(), &kind.kind, &lost);
            Err(Failure::too_many_requests(text, 1))
        }
        None => Ok(()),
    }
}

/// The first version that stored objects of a CRD have, but the CRD no longer has.
pub(crate) fn first_lost_version(
    store: &Store,
    crd: &Crd,
    resource: (&str, &str),
) -> Option<String> {
    let mut objects = store.of_kind(resource, "");
    objects.find_map(|(_, stored)| lost(crd, stored).map(str::to_owned))
}

/// The message about a collection with an object in a lost version.
pub(crate) fn reinitializing(api_version: &str, kind: &str, lost: &str) -> String {
    format!(
        "storage is (re)initializing: failed to list {api_version}, Kind={kind}: {}",
        unreadable(lost)
    )
}

fn unreadable(lost: &str) -> String {
    format!("request to convert CR from an invalid group/version: {lost}")
}

/// The version of a stored object, if the CRD no longer has it.
fn lost<'a>(crd: &Crd, stored: &'a Value) -> Option<&'a str> {
    let version = version_of(stored);
    (!crd.versions.contains_key(version)).then_some(version)
}

fn version_of(stored: &Value) -> &str {
    stored["apiVersion"].as_str().unwrap_or_default()
}

/// The version of the store with which an object was written.
fn revision(stored: &Value) -> u64 {
    text(stored, "resourceVersion").parse().unwrap_or(u64::MAX)
}

/// An object of a list.
pub(crate) enum Item {
    /// In its stored form.
    Stored(Arc<Value>),
    /// In a converted form.
    Made(Value),
}

impl Item {
    pub fn object(&self) -> &Value {
        match self {
            Self::Stored(object) => object,
            Self::Made(object) => object,
        }
    }
}
