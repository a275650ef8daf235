//! What the cache knows about an object and about the watches that report it, and when an entry is out of date.

use std::{collections::HashSet, sync::Arc};

use kube::api::ObjectMeta;

use super::Key;
use crate::engine::version;

/// One watch of the kind: of a namespace, or of all.
pub(super) struct Watch {
    pub namespace: Option<String>,
    /// The objects that the current list has contained so far.
    pub list: Option<List>,
    /// The newest version that the watch has reported; `None` before its first list is complete.
    pub newest: Option<u64>,
    /// The number of completed lists.
    pub lists: u64,
}

#[derive(Default)]
pub(super) struct List {
    pub keys: HashSet<Key>,
    pub newest: u64,
}

/// What is known about an object.
pub(super) struct Entry {
    pub uid: Box<str>,
    /// The uid of its controlling owner, if that is an object that our controller reconciles.
    pub owner: Option<Box<str>>,
    pub version: Option<u64>,
    pub trust: Trust,
    pub content: Content,
    /// For a child that the API server stores in a different form than it was sent (`1` for `1000m`): hashes of the sent content, and of
    /// our `managedFields` after the write.
    pub applied: Option<(u64, u64)>,
}

/// The source of an entry, which decides whether it can be used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// An event of the watch.
    Watched,
    /// A response to our own request, which the watch has not reported yet.
    Answered,
    /// The object may have changed, been created or deleted since: only the API server knows. With the number of the invalidation.
    Invalidated(u64),
}

pub(super) enum Content {
    /// A child of one of our objects, as JSON with our `managedFields`; `None` if the kind's bodies are not kept.
    Child(Option<Arc<[u8]>>),
    /// An object that another object or nobody controls.
    Other,
    /// The object was deleted after the known version; the watch has not reported that yet.
    Deleted,
}

/// The state of the cache when a request was sent, to judge the age of its response.
#[derive(Clone, Copy)]
pub(crate) struct SentAt {
    pub lists: Option<u64>,
    pub invalidations: u64,
}

impl Watch {
    /// Whether the object is in a namespace that this watch does not report.
    pub fn is_elsewhere(&self, key: &Key) -> bool {
        self.namespace.is_some() && key.0 != self.namespace
    }

    /// Records the version of a reported object.
    pub fn advance(&mut self, metadata: &ObjectMeta) {
        self.newest = self.newest.max(version::number_of(metadata));
    }
}

impl Entry {
    /// Whether the entry is newer than a version that a watch reports.
    pub fn is_newer_than(&self, version: Option<u64>) -> bool {
        match (self.trust, &self.content) {
            (Trust::Watched, _) => false,
            (Trust::Invalidated(_), _) | (_, Content::Deleted) => {
                self.version.is_some() && self.version >= version
            }
            (Trust::Answered, _) => self.version > version,
        }
    }

    /// Whether the entry is invalidated, and the response to a request that was sent later is valid.
    pub fn is_confirmed_by(&self, sent: SentAt) -> bool {
        matches!(self.trust, Trust::Invalidated(invalidation) if invalidation <= sent.invalidations)
    }
}

impl List {
    /// Whether an entry is kept when the list is complete. One that may be newer than the list is invalidated with the number
    /// `invalidation`.
    pub fn retains(&self, key: &Key, known: &mut Entry, invalidation: u64) -> bool {
        let is_newer = known.version.is_none_or(|version| version > self.newest);
        if known.trust != Trust::Watched && is_newer {
            // The list may be older than the write, or the object may have been deleted before it.
            known.trust = Trust::Invalidated(invalidation);
            return true;
        }
        self.keys.contains(key)
    }
}
