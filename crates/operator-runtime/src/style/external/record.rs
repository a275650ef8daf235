//! What is recorded of an external resource in the annotations of its object.

use kube::{Resource, ResourceExt};

use super::ExternalError;
use crate::Result;

/// The names of the annotations, without the operator's prefix. The runtime writes all but `paused`; a person may also set or remove the
/// first two.
pub(super) const EXTERNAL_ID: &str = "external-id";
pub(super) const CREATION_STARTED: &str = "creation-started";
pub(super) const CREATION_TOKEN: &str = "creation-token";
pub(super) const SYNCED_HASH: &str = "synced-hash";
const PAUSED: &str = "paused";

/// The values of these annotations of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// The id of the external resource, which the runtime has created or a person wants to import.
    pub id: Option<String>,
    /// When the last creation was started, in RFC 3339. It stays after the creation: an external resource without it was imported.
    pub started: Option<String>,
    /// The client token of that creation.
    pub token: Option<String>,
    /// A hash of the spec that the external resource had last, if drift is only reported.
    pub synced_hash: Option<String>,
    pub is_paused: bool,
}

impl Record {
    pub fn of<K: Resource>(object: &K, operator: &str) -> Result<Self> {
        let annotations = object.annotations();
        let read = |name: &str| annotations.get(&key(operator, name)).cloned();
        let record = Self {
            id: read(EXTERNAL_ID),
            started: read(CREATION_STARTED),
            token: read(CREATION_TOKEN),
            synced_hash: read(SYNCED_HASH),
            is_paused: read(PAUSED).is_some_and(|value| value == "true"),
        };
        match &record.id {
            Some(id) if id.trim().is_empty() => Err(ExternalError::EmptyIdentity {
                what: "the annotation with the id of the thing",
                help: format!("set {} to the id, or remove it", key(operator, EXTERNAL_ID)),
            }
            .into()),
            _ => Ok(record),
        }
    }
}

pub(super) fn key(operator: &str, name: &str) -> String {
    format!("{operator}/{name}")
}
