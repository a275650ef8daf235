//! The JSON patch of a typed change.
//!
//! In: an object as JSON, and the typed value that was read from it, written before and after a change. Out: the changed JSON, and a patch
//! that touches only what changed; what the type does not carry survives everywhere else. A kept, moved or changed item of a list keeps its
//! JSON; an inserted item has the JSON that its type writes.

mod align;
mod diff;
mod merge;
#[cfg(test)]
mod tests;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use self::merge::repair;
pub(crate) use self::{diff::diff, merge::merge};

/// Why a change has no patch.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unpatchable {
    /// The type writes something that it does not read.
    #[error("the changed object cannot be read again: {0}")]
    Unreadable(#[source] serde_path_to_error::Error<serde_json::Error>),
    /// The type reads back something other than what it wrote.
    #[error("the changed object is read differently than it was written")]
    Unstable,
    #[error("the changed object cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
}

/// `raw`, changed as the value of type `K` was changed from `before` to `after`: the type reads it as `after`, even if it sorts its lists or
/// has other names for its fields. `None` if nothing was changed.
pub(crate) fn changed<K: DeserializeOwned + Serialize>(
    raw: &Value,
    before: &Value,
    after: &Value,
) -> Result<Option<Value>, Unpatchable> {
    if before == after {
        return Ok(None);
    }
    let mut changed = merge(raw, before, after);
    let read = read::<K>(&changed)?;
    if read != *after {
        repair(&mut changed, &read, after);
        if self::read::<K>(&changed)? != *after {
            return Err(Unpatchable::Unstable);
        }
    }
    Ok(Some(changed))
}

/// What the type reads from this JSON, written again.
fn read<K: DeserializeOwned + Serialize>(json: &Value) -> Result<Value, Unpatchable> {
    let object: Box<K> = crate::engine::decode::read(json).map_err(Unpatchable::Unreadable)?;
    Ok(serde_json::to_value(&object)?)
}
