//! Prepares an object for storage: the strategy of its kind, and the fields that admission plugins set.

use serde_json::Value;

use crate::kinds::{claim, crd, custom, node, prepare, service, validate, volume};
use crate::model::failure::{Cause, Result};
use crate::model::kind::Kind;
use crate::request::resource::Request;
use crate::store::state::State;

impl State {
    pub(crate) fn before_create(
        &mut self,
        request: &Request<'_>,
        object: &mut Value,
    ) -> Result<()> {
        let kind = request.kind;
        if kind.is("", "services") && request.path.subresource.is_none() {
            if !request.call.is_dry_run() {
                service::check_owner(kind, object)?;
            }
            service::allocate(&mut self.allocated, kind, None, object)?;
        }
        prepare::begin(kind, object);
        self.admit_by_plugins(request, object)?;
        prepare::complete(kind, object);
        Ok(())
    }

    /// Applies the changes of admission plugins to a new object. They may run twice: before webhooks, and after webhooks changed the
    /// object.
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
        prepare::change(kind, subresource, live, object);
        if kind.is("", "services") {
            service::allocate(&mut self.allocated, kind, Some(live), object)?;
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
