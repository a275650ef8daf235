//! Reads the children of an object, and deletes those that are no longer desired.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::GetParams;
use serde_json::Value;
use tracing::debug;

use super::{Context, Owned, apply::is_conflict, child::ChildKey};
use crate::{
    Error, Result,
    engine::{
        kind::Kind,
        related::{self, is_written_by},
    },
    error::is_gone,
};

/// A child: the index of its kind among the owned kinds, its namespace and its name.
pub(crate) type OwnedKey = (usize, ChildKey);

impl Context {
    pub(crate) fn owns(&self) -> &[Owned] {
        &self.controller.owns
    }

    /// The index of an owned kind.
    pub(crate) fn index(&self, owned: &Owned) -> usize {
        self.controller
            .owns
            .iter()
            .position(|other| std::ptr::eq(other, owned))
            .expect("it is one of ours")
    }

    /// The indexes of the owned kinds whose first list is not complete: a child that is not in their caches may exist nevertheless. After
    /// the first list, all objects are reconciled.
    pub(crate) fn unlisted(&self) -> BTreeSet<usize> {
        self.owns()
            .iter()
            .enumerate()
            .filter(|(_, owned)| !owned.children.is_complete())
            .map(|(index, _)| index)
            .collect()
    }

    /// All objects of owned kinds that the reconciled object controls, except for children of another controller of its kind, and for
    /// objects of [unlisted](Self::unlisted) kinds. Reads an object from the API server if the cache does not have its content.
    pub(crate) async fn children(&self) -> Result<BTreeMap<OwnedKey, Value>> {
        let mut children = BTreeMap::new();
        let Some(reference) = &self.owner.reference else {
            return Ok(children);
        };
        for (index, owned) in self.owns().iter().enumerate() {
            let mut earlier = self.owns()[..index].iter();
            if earlier.any(|other| other.kind.is_same(&owned.kind)) {
                continue;
            }
            for (namespace, name) in owned.children.of_owner(&reference.uid) {
                let key = ChildKey { namespace, name };
                let live = self.cached_or_live(owned, &owned.kind, &key).await?;
                let is_ours = |live: &Value| {
                    let controller = related::metadata(live);
                    let controller = controller.as_ref().and_then(related::controller);
                    controller.is_some_and(|controller| controller.uid == reference.uid)
                        && self.is_written_by_us(live)
                };
                if let Some(live) = live.filter(is_ours) {
                    children.insert((index, key), live);
                }
            }
        }
        Ok(children)
    }

    /// An object of a watched kind, from the API server.
    pub(crate) async fn read_watched(&self, kind: &Kind, key: &ChildKey) -> Result<Option<Value>> {
        let mut watches = self.controller.watches.iter();
        if !watches.any(|watched| watched.is_same(kind)) {
            return Err(Error::undeclared(kind, self.kind(), "watches"));
        }
        if key.name.is_empty() {
            return Ok(None);
        }
        let request = kind
            .requests(key.namespace.as_deref())
            .get(&key.name, &GetParams::default())
            .map_err(kube::Error::BuildRequest)?;
        match self.controller.client.request(request).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether this controller has written a child of the reconciled object: another controller of the same kind may own the same kinds.
    fn is_written_by_us(&self, child: &Value) -> bool {
        let mut entries = child["metadata"]["managedFields"]
            .as_array()
            .into_iter()
            .flatten();
        !self.controller.identity.shares_kind
            || entries.any(|entry| is_written_by(entry, self.field_manager()))
    }

    /// Deletes a child in the version `live`. Returns false if it has changed since.
    pub(crate) async fn prune(&self, (index, key): &OwnedKey, live: &Value) -> Result<bool> {
        let owned = &self.controller.owns[*index];
        match self.send_delete(owned, &owned.kind, key, live, true).await {
            Ok(_) => {
                debug!(kind = %owned.kind, name = key.name, "deleted, as it is no longer desired");
                Ok(true)
            }
            Err(error) if is_conflict(&error) => {
                debug!(kind = %owned.kind, name = key.name, "not deleted: {error}");
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}
