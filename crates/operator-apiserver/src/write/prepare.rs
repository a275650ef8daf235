//! Prepares an object for storage: the strategy of its kind, and the fields that admission plugins set.

use serde_json::Value;

use crate::admission::pod::admit_pod;
use crate::kinds::resource::PODS;
use crate::kinds::{custom, strategy};
use crate::model::{Cause, Kind, Result};
use crate::request::Request;
use crate::store::{State, Store};

/// Sets the fields of a new object that its kind and admission plugins set.
pub(crate) fn before_create(
    state: &mut State,
    request: &Request<'_>,
    object: &mut Value,
) -> Result<()> {
    let kind = request.kind;
    if request.path.subresource.is_none() {
        let dry_run = request.call.is_dry_run();
        (strategy(kind).allocate)(&mut state.allocations, (kind, dry_run), None, object)?;
    }
    (strategy(kind).prepare_for_create)(object);
    (strategy(kind).drop_disabled_fields)(&Value::Null, object);
    admit_by_plugins(&state.store, request, object)?;
    (strategy(kind).after_admission)(object);
    Ok(())
}

/// Applies the changes of admission plugins to a new object. They may run twice: before webhooks, and after webhooks changed the
/// object.
pub(crate) fn admit_by_plugins(
    store: &Store,
    request: &Request<'_>,
    object: &mut Value,
) -> Result<()> {
    (strategy(request.kind).admit)(object);
    if request.kind.is(PODS) {
        admit_pod(store, request, object)
    } else {
        Ok(())
    }
}

/// Sets the fields of a changed object that its kind sets.
pub(crate) fn before_update(
    state: &mut State,
    kind: &Kind,
    subresource: Option<&str>,
    live: &Value,
    object: &mut Value,
) -> Result<()> {
    if subresource.is_none() {
        (strategy(kind).drop_disabled_fields)(live, object);
    }
    (strategy(kind).prepare_for_update)(subresource, live, object);
    (strategy(kind).allocate)(&mut state.allocations, (kind, false), Some(live), object)
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
