//! What the strategy of a kind does with an object before it is stored, and what admission plugins add to it.

use serde_json::Value;

use crate::api::model::cause::Cause;
use crate::api::model::failure::Result;
use crate::api::model::kind::Kind;
use crate::api::model::metadata;
use crate::api::request::resource::Request;
use crate::api::resource::workload::{daemon_set, stateful_set};
use crate::api::resource::{
    claim, crd, custom, job, namespace, node, pod, prepare, priority_class, service, validate,
    volume,
};
use crate::api::store::state::State;

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
        if crd::is_crd(kind) {
            crd::prepare(object);
        }
        if kind.is("", "services") && request.path.subresource.is_none() {
            if !request.call.is_dry_run() {
                service::check_owner(kind, object)?;
            }
            service::allocate(&mut self.allocated, kind, None, object)?;
        }
        if kind.is(priority_class::GROUP, priority_class::PLURAL) {
            // It stays so, whatever becomes of the class.
            metadata::set(object, "generation", 1);
        }
        prepare::prepare(kind, &Value::Null, object);
        self.admit_by_plugins(request, object)?;
        if kind.is("", "pods") {
            pod::begin(object);
        }
        if kind.is("batch", "jobs") {
            job::admit_job(object);
        }
        if kind.is("apps", "daemonsets") {
            daemon_set::count_templates(&Value::Null, object);
        }
        if kind.is("apps", "statefulsets") {
            stateful_set::without_alpha(None, object);
        }
        Ok(())
    }

    /// What admission plugins add to a new object. They may see it twice: before webhooks, and after these changed it.
    pub(crate) fn admit_by_plugins(&self, request: &Request<'_>, object: &mut Value) -> Result<()> {
        match (request.kind.group.as_str(), request.kind.plural.as_str()) {
            ("", "persistentvolumeclaims") => claim::admit(object),
            ("", "persistentvolumes") => volume::admit(object),
            ("", "nodes") => node::admit(object),
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
        if crd::is_crd(kind) && subresource.is_none() {
            crd::note_storage(object);
        }
        if subresource.is_none() {
            prepare::prepare(kind, live, object);
        }
        if kind.is("", "pods") {
            pod::tolerate(&mut object["spec"]);
        }
        if kind.is("", "persistentvolumes") && subresource == Some("status") {
            volume::date_phase(live, object);
        }
        if kind.is("", "services") {
            service::allocate(&mut self.allocated, kind, Some(live), object)?;
        }
        if kind.is("apps", "daemonsets") {
            daemon_set::count_templates(live, object);
        }
        if kind.is("apps", "statefulsets") {
            stateful_set::without_alpha(Some(live), object);
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
            Some(custom) => custom::violations(custom, live, object),
            None if crd::is_crd(kind) => crd::violations(live, object),
            None => validate::violations(kind, live, object),
        }
    }
}
