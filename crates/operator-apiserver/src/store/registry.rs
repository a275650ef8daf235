//! The served kinds: the built-in ones, and those that CustomResourceDefinitions register.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::kinds::crd::{self, RegisteredCrd};
use crate::model::builtin::builtin;
use crate::model::metadata::name;
use crate::model::{Crd, Key, Kind, group_version};

/// All served kinds.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    /// The custom kinds, by the name of their CRD.
    custom: BTreeMap<String, RegisteredCrd>,
}

impl Registry {
    /// Registers the kinds of a CRD at a version of the store, and replaces its earlier ones.
    pub fn register(&mut self, object: &Value, version: u64) {
        let before = self.custom.remove(name(object));
        let before = before.map(|registered| registered.crd);
        if let Some(registered) = crd::register(object, before.as_ref(), version) {
            self.custom.insert(name(object).to_owned(), registered);
        }
    }

    /// Removes the kinds of a CRD.
    pub fn forget(&mut self, crd: &str) {
        self.custom.remove(crd);
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<Kind>> {
        let custom = self
            .custom
            .values()
            .flat_map(|registered| &registered.kinds);
        builtin().kinds.iter().chain(custom)
    }

    pub fn kind(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Kind>> {
        self.all()
            .find(|kind| kind.version == version && kind.is((group, plural)))
            .cloned()
    }

    /// Finds a kind by the `apiVersion` and `kind` of an owner reference; the kind may be in lower case.
    pub fn by_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Kind>> {
        let (group, version) = group_version(api_version);
        let is_named = |known: &str| known == kind || known.to_lowercase() == kind;
        self.all()
            .find(|it| it.group == group && it.version == version && is_named(&it.kind))
            .cloned()
    }

    pub fn crd(&self, name: &str) -> Option<&Arc<Crd>> {
        Some(&self.custom.get(name)?.crd)
    }

    /// Finds a kind by the group and plural under which its objects are stored, in the storage version if that is served.
    pub fn by_key(&self, key: &Key) -> Option<Arc<Kind>> {
        let of_key = || self.all().filter(|kind| kind.is(key.resource()));
        let is_stored = |kind: &&Arc<Kind>| {
            let custom = kind.custom.as_ref();
            custom.is_none_or(|custom| custom.crd.storage == kind.api_version())
        };
        of_key()
            .find(is_stored)
            .or_else(|| of_key().next())
            .cloned()
    }
}
