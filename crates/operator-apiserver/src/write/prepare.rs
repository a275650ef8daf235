//! Prepares an object for storage: the strategy of its kind, and the fields that admission plugins set.

use serde_json::Value;

use crate::kinds::resource::{PODS, SERVICES};
use crate::kinds::{custom, service, strategy};
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
        if kind.is(SERVICES) && request.path.subresource.is_none() {
            if !request.call.is_dry_run() {
                service::check_owner(kind, object)?;
            }
            service::allocate(&mut self.allocated, kind, None, object)?;
        }
        (strategy(kind).prepare_for_create)(object);
        (strategy(kind).drop_disabled_fields)(&Value::Null, object);
        self.admit_by_plugins(request, object)?;
        (strategy(kind).after_admission)(object);
        Ok(())
    }

    /// Applies the changes of admission plugins to a new object. They may run twice: before webhooks, and after webhooks changed the
    /// object.
    pub(crate) fn admit_by_plugins(&self, request: &Request<'_>, object: &mut Value) -> Result<()> {
        (strategy(request.kind).admit)(object);
        match request.kind.is(PODS) {
            true => self.admit_pod(request, object),
            false => Ok(()),
        }
    }

    pub(crate) fn before_update(
        &mut self,
        kind: &Kind,
        subresource: Option<&str>,
        live: &Value,
        object: &mut Value,
    ) -> Result<()> {
        if subresource.is_none() {
            (strategy(kind).drop_disabled_fields)(live, object);
        }
        (strategy(kind).prepare_for_update)(subresource, live, object);
        if kind.is(SERVICES) {
            service::allocate(&mut self.allocated, kind, Some(live), object)?;
        }
        Ok(())
    }
}

/// The violations of the rules of a kind.
pub(crate) fn kind_violations(kind: &Kind, live: Option<&Value>, object: &Value) -> Vec<Cause> {
    if let Some(custom) = &kind.custom {
        return custom::violations(custom, live, object);
    }
    let mut causes = Vec::new();
    (strategy(kind).validate)(live, object, &mut causes);
    causes
}
