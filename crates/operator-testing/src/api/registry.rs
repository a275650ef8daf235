//! The kinds that are served: the built-in ones, and those that CustomResourceDefinitions registered.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::api::builtin::builtin;
use crate::api::crd::{self, Registered};
use crate::api::defaults;
use crate::api::kind::{Definition, Kind, group_version};
use crate::api::metadata::{self, name};
use crate::api::status::Cause;
use crate::api::status::Result;
use crate::api::store::Key;
use crate::api::validate;
use crate::api::{Request, State, address, definition, namespace, priority};

/// All served kinds.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    /// By the name of the definition.
    custom: BTreeMap<String, Registered>,
}

impl Registry {
    pub fn all(&self) -> impl Iterator<Item = &Arc<Kind>> {
        let custom = self.custom.values();
        let custom = custom.flat_map(|registered| &registered.kinds);
        builtin().kinds.iter().chain(custom)
    }

    pub fn kind(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Kind>> {
        self.all()
            .find(|kind| kind.version == version && kind.is(group, plural))
            .cloned()
    }

    /// A kind by what an owner's `apiVersion` and `kind` say, which may be in small letters.
    pub fn by_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Kind>> {
        let (group, version) = group_version(api_version);
        let is_named = |known: &str| known == kind || known.to_lowercase() == kind;
        self.all()
            .find(|it| it.group == group && it.version == version && is_named(&it.kind))
            .cloned()
    }

    pub fn definition(&self, name: &str) -> Option<&Arc<Definition>> {
        Some(&self.custom.get(name)?.definition)
    }

    /// A kind by the place where its objects are stored, in the version that they are stored in if that is served.
    pub fn by_key(&self, key: &Key) -> Option<Arc<Kind>> {
        let of_key = || self.all().filter(|kind| kind.is(&key.group, &key.plural));
        let is_stored = |kind: &&Arc<Kind>| {
            let custom = kind.custom.as_ref();
            custom.is_none_or(|custom| custom.definition.storage == kind.api_version())
        };
        of_key()
            .find(is_stored)
            .or_else(|| of_key().next())
            .cloned()
    }
}

impl State {
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
            self.allocate(kind, None, object)?;
        }
        if kind.is(priority::GROUP, priority::PLURAL) {
            // It stays so, whatever becomes of the class.
            metadata::set(object, "generation", 1);
        }
        defaults::prepare(kind, &Value::Null, object);
        self.admit_by_plugins(request, object)?;
        if kind.is("", "pods") {
            defaults::begin_pod(object);
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

    /// What admission plugins add to a new object. They may see it twice: before webhooks, and after these changed it.
    pub(crate) fn admit_by_plugins(&self, request: &Request<'_>, object: &mut Value) -> Result<()> {
        match (request.kind.group.as_str(), request.kind.plural.as_str()) {
            ("", "persistentvolumeclaims") => defaults::admit_claim(object),
            ("", "persistentvolumes") => defaults::admit_volume(object),
            ("", "nodes") => defaults::admit_node(object),
            ("", "pods") => self.admit_pod(request, object)?,
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn before_update(
        &mut self,
        kind: &Kind,
        subresource: Option<&str>,
        live: &Value,
        object: &mut Value,
    ) -> Result<()> {
        if crd::is_definition(kind) && subresource.is_none() {
            crd::note_storage(object);
        }
        if subresource.is_none() {
            defaults::prepare(kind, live, object);
        }
        if kind.is("", "pods") {
            defaults::tolerate(&mut object["spec"]);
        }
        if kind.is("", "persistentvolumes") && subresource == Some("status") {
            defaults::date_phase(live, object);
        }
        if kind.is("", "services") {
            self.allocate(kind, Some(live), object)?;
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
            let before = self.registry.custom.remove(name(object));
            let before = before.map(|registered| registered.definition);
            let registered = crd::register(object, before.as_ref(), self.store.version());
            if let Some(registered) = registered {
                let name = name(object).to_owned();
                self.registry.custom.insert(name, registered);
            }
            self.renamed = true;
            self.affect_owned();
        }
        if key.plural == "namespaces" && key.group.is_empty() {
            self.furnish_namespace(object);
        }
    }

    pub(crate) fn after_remove(&mut self, key: &Key) {
        if key.plural == crd::PLURAL && key.group == crd::GROUP {
            self.registry.custom.remove(&key.name);
            self.renamed = true;
            self.affect_owned();
        }
        if let Some(namespace) = namespace::furnished_by(key).and_then(|it| self.store.find(&it)) {
            self.furnish_namespace(&namespace);
        }
    }
}
