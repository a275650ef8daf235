//! Runs the stages of a write one after another.

use super::check::check_prepared;
use super::{Prepared, commit, draft, patch};
use crate::model::Result;
use crate::read::Reply;
use crate::request::Request;
use crate::store::State;

/// Runs all stages of a request that calls no webhook.
pub(crate) fn write_object(state: &mut State, request: &Request<'_>, verb: &str) -> Result<Reply> {
    let prepared = prepare(state, request, verb)?;
    finish(state, request, prepared)
}

/// Runs the stages after the first.
pub(crate) fn finish(
    state: &mut State,
    request: &Request<'_>,
    prepared: Prepared,
) -> Result<Reply> {
    let checked = check_prepared(state, request, prepared)?;
    commit::commit(state, request, checked)
}

/// The first stage: computes the new object from the request and the live object.
pub(crate) fn prepare(state: &State, request: &Request<'_>, verb: &str) -> Result<Prepared> {
    match verb {
        "create" => draft::create(state, request),
        "update" => draft::replace(state, request),
        _ => patch::patch(state, request),
    }
}
