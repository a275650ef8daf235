//! Creating, updating and patching, in the stages of the real server's [handlers] and [registry]:
//!
//! 1. [`draft`](mod@draft): computes the object to store from the request and the live object, and the owners of its fields;
//! 2. mutating admission webhooks change it (`admission`);
//! 3. [`check`](mod@check): sets fields and validates the object, depending on its kind;
//! 4. validating admission webhooks accept or deny it (`admission`);
//! 5. [`commit`](mod@commit): stores the object.
//!
//! Stages 1, 3 and 5 are functions that hold the server's lock. If no webhook applies, they run one after another under the same lock. The
//! lock is not held while webhooks are called, so the object may have changed before the commit, which detects this.
//!
//! [handlers]: https://github.com/kubernetes/apiserver/blob/master/pkg/endpoints/handlers/update.go
//! [registry]: https://github.com/kubernetes/apiserver/blob/master/pkg/registry/generic/registry/store.go

pub(crate) mod apply;
pub(crate) mod check;
pub(crate) mod commit;
pub(crate) mod delete;
pub(crate) mod draft;
mod last_applied;
pub(crate) mod normalize;
pub(crate) mod patch;
pub(crate) mod prepare;
pub(crate) mod rule;
pub(crate) mod stage;
pub(crate) mod tracking;

use serde_json::Value;

use crate::apply::Managers;
use crate::decode::{self, DroppedFields};
use crate::model::{Key, Kind, metadata};

/// An object to be stored, with its field managers.
pub(crate) struct Draft {
    pub object: Value,
    pub managers: Managers,
    pub dropped: DroppedFields,
}

/// The basis of a draft, besides the request.
#[derive(Clone)]
pub(crate) enum Base {
    /// A `POST`: the object must not exist.
    New,
    /// A request that creates the object because it does not exist. A dry run returns the version that the client sent.
    Absent { sent_version: Value },
    /// The live object.
    Live(Value),
}

/// The result of the first stage.
pub(crate) struct Prepared {
    pub base: Base,
    pub draft: Draft,
    /// Whether a webhook changed the draft.
    pub is_mutated: bool,
}

/// An object that the server itself permits to be stored.
#[derive(Clone)]
pub(crate) struct Checked {
    pub key: Key,
    pub base: Base,
    pub object: Value,
    dropped: DroppedFields,
    /// Whether the list of rules was empty; an empty list is not stored.
    has_empty_rules: bool,
}

impl Checked {
    /// Removes the unknown fields that a webhook added.
    pub fn prune(&mut self, kind: &Kind) {
        decode::prune(kind, &mut self.object);
    }
}

impl Base {
    /// The live object.
    pub fn live(&self) -> Option<&Value> {
        match self {
            Self::Live(live) => Some(live),
            Self::New | Self::Absent { .. } => None,
        }
    }
}

impl Prepared {
    pub fn new(base: Base, draft: Draft) -> Self {
        Self {
            base,
            draft,
            is_mutated: false,
        }
    }
}

/// Removes the version from an object to be created.
pub(crate) fn take_version(object: &mut Value) -> Value {
    let version = object["metadata"]["resourceVersion"].take();
    metadata::set(object, "resourceVersion", Value::Null);
    version
}
