//! The kinds that are served: the built-in ones, and those that CustomResourceDefinitions registered.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::builtin::builtin;
use super::crd;
use super::defaults;
use super::kind::{Kind, group_version};
use super::metadata::{name, text};
use super::status::Cause;
use super::store::Key;
use super::validate;
use super::{State, decode, definition, event, namespace, status::Result};

/// All served kinds.
#[derive(Default)]
pub(crate) struct Registry {
    /// The versions of each custom kind, by the name of its definition.
    custom: BTreeMap<String, Vec<Arc<Kind>>>,
}

impl Registry {
    pub fn all(&self) -> impl Iterator<Item = &Arc<Kind>> {
        builtin().kinds.iter().chain(self.custom.values().flatten())
    }

    pub fn kind(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Kind>> {
        self.all()
            .find(|kind| kind.version == version && kind.is(group, plural))
            .cloned()
    }

    /// Any version of a kind, by its name in an object's or owner's `apiVersion` and `kind`.
    pub fn by_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Kind>> {
        let (group, _) = group_version(api_version);
        self.all()
            .find(|known| known.group == group && known.kind == kind)
            .cloned()
    }

    /// Any version of a kind, by the place where its objects are stored.
    pub fn by_key(&self, key: &Key) -> Option<Arc<Kind>> {
        self.all()
            .find(|kind| kind.is(&key.group, &key.plural))
            .cloned()
    }
}

impl State {
    /// A stored object as a version of its kind shows it.
    pub(crate) fn present(&self, kind: &Kind, stored: &Value) -> Value {
        let mut object = event::from_storage(kind, stored.clone());
        if let (Some(custom), Some(fields)) = (&kind.custom, object.as_object_mut()) {
            fields.insert("apiVersion".into(), kind.api_version().into());
            let version = text(stored, "resourceVersion").parse();
            let is_current = version.is_ok_and(|version: u64| version > custom.since);
            if !custom.is_stored || !is_current {
                decode::conform(custom, &mut object);
            }
        }
        object
    }

    /// A custom object in its version of storage, which has the last word on what is kept.
    pub(crate) fn to_stored_version(&self, kind: &Kind, object: &mut Value) {
        let is_stored = |other: &Kind| other.custom.as_ref().is_some_and(|c| c.is_stored);
        if kind.custom.is_none() || is_stored(kind) {
            return;
        }
        let mut kinds = self.registry.all();
        let stored = kinds.find(|other| other.is(&kind.group, &kind.plural) && is_stored(other));
        if let Some(custom) = stored.and_then(|stored| stored.custom.as_ref()) {
            decode::conform(custom, object);
        }
    }

    pub(crate) fn before_create(&mut self, kind: &Kind, object: &mut Value) -> Result<()> {
        if kind.is("", "namespaces") {
            namespace::prepare(object);
        }
        if crd::is_definition(kind) {
            crd::prepare(object);
        }
        if kind.is("", "services") {
            self.allocate(None, object);
        }
        if kind.is("", "persistentvolumeclaims") {
            defaults::admit_claim(object);
        }
        if kind.is("", "pods") {
            defaults::admit_pod(object);
        }
        Ok(())
    }

    pub(crate) fn before_update(&mut self, kind: &Kind, live: &Value, object: &mut Value) {
        if crd::is_definition(kind) {
            crd::note_storage(object);
        }
        if kind.is("", "services") {
            self.allocate(Some(live), object);
        }
    }

    pub(crate) fn kind_violations(
        &self,
        kind: &Kind,
        live: Option<&Value>,
        object: &Value,
    ) -> Vec<Cause> {
        match &kind.custom {
            Some(custom) => crd::violations(custom, live, object),
            None if crd::is_definition(kind) => definition::violations(live, object),
            None => validate::violations(kind, live, object),
        }
    }

    pub(crate) fn after_put(&mut self, key: &Key, object: &Value) {
        if key.plural == crd::PLURAL && key.group == crd::GROUP {
            let before = self
                .registry
                .custom
                .remove(name(object))
                .unwrap_or_default();
            let kinds = crd::kinds(object, &before, self.store.version());
            self.registry.custom.insert(name(object).to_owned(), kinds);
        }
        self.unsettled |= key.plural == crd::PLURAL;
        if key.plural == "namespaces" && key.group.is_empty() {
            self.furnish_namespace(object);
        }
    }

    pub(crate) fn after_remove(&mut self, key: &Key) {
        if key.plural == crd::PLURAL && key.group == crd::GROUP {
            self.registry.custom.remove(&key.name);
        }
    }
}
