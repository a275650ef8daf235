//! The kinds that are served: the built-in ones, and those that CustomResourceDefinitions registered.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::builtin::builtin;
use super::crd;
use super::kind::{Kind, group_version};
use super::metadata::name;
use super::status::Cause;
use super::store::Key;
use super::{State, event, namespace, status::Result};

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
        if kind.custom.is_some()
            && let Some(fields) = object.as_object_mut()
        {
            fields.insert("apiVersion".into(), kind.api_version().into());
        }
        object
    }

    pub(crate) fn before_create(&mut self, kind: &Kind, object: &mut Value) -> Result<()> {
        if kind.is("", "namespaces") {
            namespace::prepare(object);
        }
        if crd::is_definition(kind) {
            crd::prepare(object);
        }
        Ok(())
    }

    pub(crate) fn before_update(&mut self, kind: &Kind, object: &mut Value) -> Result<()> {
        if crd::is_definition(kind) {
            crd::note_storage(object);
        }
        Ok(())
    }

    pub(crate) fn kind_violations(
        &self,
        kind: &Kind,
        live: Option<&Value>,
        object: &Value,
    ) -> Vec<Cause> {
        match &kind.custom {
            Some(custom) => crd::violations(custom, live, object),
            None if crd::is_definition(kind) => crd::definition_violations(object),
            None => Vec::new(),
        }
    }

    pub(crate) fn after_put(&mut self, key: &Key, object: &Value) {
        if key.plural == crd::PLURAL && key.group == crd::GROUP {
            self.registry
                .custom
                .insert(name(object).to_owned(), crd::kinds(object));
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
