//! Serves a call for an object, a collection, or the status of an object.

use crate::model::{Failure, Result};
use crate::read::{Reply, page, watch};
use crate::request::Request;
use crate::store::State;
use crate::write::delete::{self, delete_collection};
use crate::write::stage::write_object;

pub(crate) fn serve_object(state: &mut State, request: &Request<'_>, verb: &str) -> Result<Reply> {
    match verb {
        "get" => page::get(state, request),
        "list" => page::list(state, request),
        "watch" => watch::watch(state, request),
        "create" | "update" | "patch" => write_object(state, request, verb),
        "delete" => delete::delete(state, request),
        "deletecollection" => delete_collection(state, request),
        _ => Err(Failure::method_not_allowed()),
    }
}
