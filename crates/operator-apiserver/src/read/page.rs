//! `GET` of one object and of lists.

use std::sync::Arc;

use serde_json::{Value, json};

use super::list::List;
use super::reply::Reply;
use super::token::Token;
use super::version::{bad_version, parse_version, too_large};
use crate::model::{Failure, Key, Result};
use crate::request::selector::Selector;
use crate::request::{Call, Request};
use crate::store::stored::{self, Item, check_collection, check_stored};
use crate::store::{State, Store};

/// A page of a collection.
pub(crate) struct Page {
    pub metadata: Value,
    pub items: Vec<Item>,
}

/// How a collection is read, which determines the meaning of a version in the query without `resourceVersionMatch`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Reading {
    /// In pages, if the query has a limit.
    AsAsked,
    /// In pages, as the real server reads a collection that it deletes.
    Paged,
}

pub(crate) fn get(state: &State, request: &Request<'_>) -> Result<Reply> {
    let version = request.call.param("resourceVersion");
    if let Err(wrong) = parse_version(version) {
        return Err(Failure::without_reason(wrong));
    }
    stored::live(state, request)?
        .map(Reply::ok)
        .ok_or_else(|| Failure::not_found(request.kind, &request.path.name))
}

/// Lists the objects at the newest version, or at the version in the query; in pages if the query has a `limit`.
pub(crate) fn list(state: &State, request: &Request<'_>) -> Result<Reply> {
    let page = page(state, request, Reading::AsAsked)?;
    let list = List::new(request.kind, page.metadata, page.items);
    Ok(Reply::List(Box::new(list)))
}

/// The objects of a collection that the query selects.
pub(crate) fn page(state: &State, request: &Request<'_>, reading: Reading) -> Result<Page> {
    let (kind, call) = (request.kind, request.call);
    let selector = Selector::read(call, kind)?;
    let token = Token::read(call.param("continue"))?;
    if token.is_some() && !matches!(call.param("resourceVersion"), "" | "0") {
        let text = "specifying resource version is not allowed when using continue";
        return Err(Failure::bad_request(text));
    }
    let is_paged = reading == Reading::Paged || !call.param("limit").is_empty();
    // the real server reads pages of the newest version from etcd, and all else from its cache, which cannot hold such objects
    if !(is_paged && call.param("resourceVersion").is_empty()) {
        check_collection(&state.store, kind)?;
    }
    let limit: usize = match call.param("resourceVersion") {
        // If any version is acceptable, the real server answers from its cache, without pages.
        "0" => 0,
        _ => call.param("limit").parse().unwrap_or_default(),
    };
    let version = match &token {
        Some(token) => token.version.unwrap_or(state.store.version()),
        None => version_to_list(&state.store, call, limit > 0 || reading == Reading::Paged)?,
    };
    if version < state.store.horizon() {
        return Err(match token {
            Some(token) => Failure::expired("The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.")
                .with_token(token.at_newest().write()),
            None => {
                Failure::expired("The resourceVersion for the provided list is too old.")
            }
        });
    }
    let mut items = Vec::new();
    let mut last = None;
    let mut remaining = 0;
    let (resource, namespace) = (kind.stored_resource(), request.path.namespace.as_str());
    let past;
    let mut unread = None;
    let mut missing = 0;
    let objects: Vec<(&Key, &Arc<Value>)> = if version == state.store.version() {
        state.store.of_kind(resource, namespace).collect()
    } else {
        past = state.store.at_version(version, resource);
        let is_meant = |key: &Key| namespace.is_empty() || key.namespace == namespace;
        past.iter().filter(|(key, _)| is_meant(key)).collect()
    };
    for (key, stored) in objects {
        if token
            .as_ref()
            .is_some_and(|token| !token.is_before(key, namespace))
        {
            continue;
        }
        check_stored(kind, stored)?;
        if limit > 0 && items.len() + missing == limit && selector.is_empty() {
            // the item is only counted, and needs no conversion
            remaining += 1;
            continue;
        }
        let item = match stored::item(&state.conversions, kind, stored) {
            Ok(item) => item,
            // All missing conversions are collected before the request fails.
            Err(failure) => {
                missing += 1;
                unread.get_or_insert(failure);
                continue;
            }
        };
        if !selector.matches(item.object()) {
            continue;
        }
        if limit > 0 && items.len() == limit {
            remaining += 1;
        } else {
            items.push(item);
            last = Some(key);
        }
    }
    if let Some(failure) = unread {
        return Err(failure);
    }
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if let (Some(last), 1..) = (last, remaining) {
        metadata["continue"] = Token::after(version, last, namespace).write().into();
        if selector.is_empty() {
            metadata["remainingItemCount"] = remaining.into();
        }
    }
    Ok(Page { metadata, items })
}

/// The version to list. Without a match rule, only a list in pages reads exactly the version of the query.
fn version_to_list(store: &Store, call: &Call, is_paged: bool) -> Result<u64> {
    let newest = store.version();
    let wanted = match call.param("resourceVersion") {
        "" | "0" => return Ok(newest),
        text => parse_version(text).map_err(bad_version)?,
    };
    if wanted > newest {
        return Err(too_large(wanted, newest));
    }
    match call.param("resourceVersionMatch") {
        "Exact" => Ok(wanted),
        "" if is_paged => Ok(wanted),
        _ => Ok(newest),
    }
}
