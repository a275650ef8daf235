//! The kinds that are served: the built-in ones, and those that CustomResourceDefinitions registered.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::builtin::builtin;
use super::crd;
use super::defaults;
use super::kind::{Custom, Kind, group_version};
use super::metadata::{name, text};
use super::status::Cause;
use super::store::Key;
use super::validate;
use super::{Request, State, address, decode, definition, event, namespace, status::Result};

/// All served kinds.
#[derive(Clone, Default)]
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

    /// A kind by the place where its objects are stored, in the version that they are stored in if that is served.
    pub fn by_key(&self, key: &Key) -> Option<Arc<Kind>> {
        let of_key = || self.all().filter(|kind| kind.is(&key.group, &key.plural));
        let is_stored =
            |kind: &&Arc<Kind>| kind.custom.as_ref().is_none_or(|custom| custom.is_stored);
        of_key()
            .find(is_stored)
            .or_else(|| of_key().next())
            .cloned()
    }
}

impl State {
    /// A stored object as a version of its kind shows it.
    pub(crate) fn present(&self, kind: &Kind, stored: &Value) -> Value {
        let mut object = event::from_storage(kind, stored.clone());
        let Some(custom) = &kind.custom else {
            if kind.is("batch", "jobs") {
                defaults::label_job(&mut object);
            }
            return object;
        };
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".into(), kind.api_version().into());
        }
        let version = text(stored, "resourceVersion").parse().unwrap_or(u64::MAX);
        if custom.is_stored {
            if version <= custom.since {
                decode::conform(custom, &mut object);
            }
            return object;
        }
        if let Some(storage) = self
            .storage_of(kind)
            .filter(|storage| version <= storage.since)
        {
            decode::conform(&storage, &mut object);
        }
        // Another version takes fields away, and adds no defaults.
        operator_schema::prune(&custom.schema, &mut object);
        object
    }

    /// A custom object in its version of storage, which has the last word on what is kept.
    pub(crate) fn to_stored_version(&self, kind: &Kind, object: &mut Value) {
        let is_stored = kind.custom.as_ref().is_none_or(|custom| custom.is_stored);
        if !is_stored && let Some(storage) = self.storage_of(kind) {
            decode::conform(&storage, object);
        }
    }

    /// The version in which objects of a custom kind are stored.
    fn storage_of(&self, kind: &Kind) -> Option<Arc<Custom>> {
        let mut versions = self
            .registry
            .all()
            .filter(|other| other.is(&kind.group, &kind.plural));
        versions.find_map(|version| version.custom.clone().filter(|custom| custom.is_stored))
    }

    pub(crate) fn before_create(
        &mut self,
        request: &Request<'_>,
        object: &mut Value,
    ) -> Result<()> {
        let kind = request.kind;
        if kind.is("", "namespaces") {
            namespace::prepare(object);
        }
        if crd::is_definition(kind) {
            crd::prepare(object);
        }
        if kind.is("", "services") && request.path.subresource.is_none() {
            if !request.call.is_dry_run() {
                address::check_owner(kind, object)?;
            }
            self.allocate(None, object)?;
        }
        if kind.is("", "persistentvolumeclaims") {
            defaults::admit_claim(object);
        }
        if kind.is("", "pods") {
            defaults::admit_pod(object);
        }
        if kind.is("batch", "jobs") {
            defaults::admit_job(object);
        }
        if kind.is("apps", "daemonsets") {
            defaults::count_templates(&Value::Null, object);
        }
        if kind.is("apps", "statefulsets") {
            defaults::without_alpha(None, object);
        }
        Ok(())
    }

    pub(crate) fn before_update(
        &mut self,
        kind: &Kind,
        live: &Value,
        object: &mut Value,
    ) -> Result<()> {
        if crd::is_definition(kind) {
            crd::note_storage(object);
        }
        if kind.is("", "pods") {
            defaults::tolerate(&mut object["spec"]);
        }
        if kind.is("", "services") {
            self.allocate(Some(live), object)?;
        }
        if kind.is("apps", "daemonsets") {
            defaults::count_templates(live, object);
        }
        if kind.is("apps", "statefulsets") {
            defaults::without_alpha(Some(live), object);
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
            self.renamed = true;
        }
        self.unsettled |= key.plural == crd::PLURAL;
        if key.plural == "namespaces" && key.group.is_empty() {
            self.furnish_namespace(object);
        }
    }

    pub(crate) fn after_remove(&mut self, key: &Key) {
        if key.plural == crd::PLURAL && key.group == crd::GROUP {
            self.registry.custom.remove(&key.name);
            self.renamed = true;
        }
    }
}
