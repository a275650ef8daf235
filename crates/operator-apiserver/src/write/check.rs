//! The third stage of a write: sets the server's fields in an object, and validates it before it is stored.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::prepare::{before_create, before_update};
use super::rule::{self, check_changed, check_version, immutable};
use super::tracking::blank;
use super::{Base, Checked, Draft, Prepared};
use crate::access::escalation::check_escalation;
use crate::access::owner::check_owners;
use crate::admission::namespace::check_namespace;
use crate::admission::pod_security::check_pod_security;
use crate::admission::priority::check_default_class;
use crate::apply::{Managers, without_managers};
use crate::decode::{self, body};
use crate::kinds::reset::{desired, reset};
use crate::kinds::resource::{JOBS, RBAC, VOLUME_CLAIMS};
use crate::kinds::{job, strategy, warning};
use crate::model::metadata::{self, name, text};
use crate::model::{Kind, Result};
use crate::request::Request;
use crate::store::{State, Store};

/// The number of generated names to try before the request fails because they exist.
const ATTEMPTS: usize = 8;

/// Runs the third stage.
pub(crate) fn check_prepared(
    state: &mut State,
    request: &Request<'_>,
    prepared: Prepared,
) -> Result<Checked> {
    match prepared.base {
        Base::Live(live) => check_update(state, request, live, prepared.draft),
        base => check_new(state, request, base, prepared.draft, prepared.is_mutated),
    }
}

/// Sets the server's fields in a new object, and validates it.
fn check_new(
    state: &mut State,
    request: &Request<'_>,
    base: Base,
    draft: Draft,
    is_mutated: bool,
) -> Result<Checked> {
    let kind = request.kind;
    let Draft {
        mut object,
        managers,
        mut dropped,
    } = draft;
    generate_name(&state.store, request, &mut object);
    metadata::set(&mut object, "selfLink", Value::Null);
    check_escalation(&state.store, request, None, &object)?;
    let name = name(&object).to_owned();
    let key = request.key(&name);
    check_namespace(&state.store, kind, &key)?;
    let meta = &mut object;
    metadata::set(meta, "uid", metadata::uid());
    metadata::set(meta, "creationTimestamp", metadata::now());
    if strategy(kind).has_generation {
        metadata::set(meta, "generation", 1);
    }
    metadata::set(meta, "managedFields", managers.write_or_null());
    if kind.has_status()
        && !strategy(kind).keeps_initial_status
        && let Some(fields) = object.as_object_mut()
    {
        fields.shift_remove("status");
        if let Some(status) = blank(request).get("status") {
            fields.insert("status".into(), status.clone());
        }
    }
    without_empty_rules(kind, &mut object);
    before_create(state, request, &mut object)?;
    // an object that a webhook changed was decoded again, so its labels are separate maps
    if kind.is(JOBS) && !is_mutated {
        share_labels(request, &mut object);
    }
    let whole = decode::as_validated(kind, &object, dropped.sent.as_ref());
    rule::check(kind, &whole)?;
    check_owners(state, request, None, &object)?;
    let warnings = warning::warnings(kind, None, &object);
    warnings.iter().for_each(|text| request.call.warn(text));
    check_pod_security(&state.store, request, None, &object)?;
    check_default_class(&state.store, kind, true, &object)?;
    // the real server stores more of a new claim than it returns
    dropped.stores_unknown_fields |= kind.is(VOLUME_CLAIMS);
    Ok(Checked {
        key,
        base,
        object,
        dropped,
        has_empty_rules: false,
    })
}

/// Generates an unused name for an object that has only a prefix.
fn generate_name(store: &Store, request: &Request<'_>, object: &mut Value) {
    let prefix = text(object, "generateName").to_owned();
    if !name(object).is_empty() || prefix.is_empty() {
        return;
    }
    let mut names = (0..ATTEMPTS).map(|_| metadata::generated(&prefix));
    let is_free = |name: &String| store.find(&request.key(name)).is_none();
    let name = names
        .find(is_free)
        .unwrap_or_else(|| metadata::generated(&prefix));
    metadata::set(object, "name", name);
}

/// Sets the server's fields in a changed object, and validates it.
fn check_update(
    state: &mut State,
    request: &Request<'_>,
    live: Value,
    draft: Draft,
) -> Result<Checked> {
    let kind = request.kind;
    let Draft {
        mut object,
        managers,
        mut dropped,
    } = draft;
    metadata::set(&mut object, "selfLink", Value::Null);
    check_escalation(&state.store, request, Some(&live), &object)?;
    check_version(kind, &live, &object)?;
    let subresource = request.path.subresource.as_deref();
    reset(kind, subresource, &live, &mut object);
    let has_empty_rules = without_empty_rules(kind, &mut object);
    let causes = immutable(&live, &object);
    for field in [
        "uid",
        "creationTimestamp",
        "generation",
        "resourceVersion",
        "namespace",
        "name",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        metadata::set(&mut object, field, live["metadata"][field].clone());
    }
    before_update(state, kind, subresource, &live, &mut object)?;
    let is_status = subresource == Some("status");
    let counted = match kind.custom {
        // to the real server, `1.0` differs from `1` until the object is stored
        Some(_) => decode::as_validated(kind, &object, dropped.sent.as_ref()),
        None => Cow::Borrowed(&object),
    };
    if strategy(kind).has_generation
        && !is_status
        && desired(kind, &live) != desired(kind, &counted)
    {
        let generation = live["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
        metadata::set(&mut object, "generation", generation);
    }
    let mut managers = managers;
    let before = Managers::read(&live["metadata"]["managedFields"]).unwrap_or_default();
    if without_managers(&live) == without_managers(&object) && managers.is_same(&before) {
        managers = before;
    }
    metadata::set(&mut object, "managedFields", managers.write_or_null());
    if let Some(Value::Object(sent)) = &mut dropped.sent {
        // the other fields are those of the live object
        sent.retain(|name, _| match subresource {
            Some("status") => matches!(name.as_str(), "metadata" | "status"),
            _ => name != "status" || !kind.has_status(),
        });
    }
    let whole = decode::as_validated(kind, &object, dropped.sent.as_ref());
    check_changed(kind, subresource, &live, &whole, causes)?;
    check_owners(state, request, Some(&live), &object)?;
    let warnings = warning::warnings(kind, Some(&live), &object);
    warnings.iter().for_each(|text| request.call.warn(text));
    check_pod_security(&state.store, request, Some(&live), &object)?;
    check_default_class(&state.store, kind, false, &object)?;
    let key = request.key(name(&live));
    Ok(Checked {
        key,
        base: Base::Live(live),
        object,
        dropped,
        has_empty_rules,
    })
}

/// Gives a Job without labels those of its template. In the real server, both are then the same map, to which the labels of the selector
/// were added.
fn share_labels(request: &Request<'_>, job: &mut Value) {
    // An apply may be in YAML.
    let body = &request.call.body;
    let sent: Value = serde_json::from_slice(body)
        .or_else(|_| body::yaml(body))
        .unwrap_or_default();
    let labels = sent["metadata"]["labels"].as_object();
    let is_bare = labels.is_none_or(serde_json::Map::is_empty);
    if is_bare && job["metadata"]["labels"].is_object() {
        job["metadata"]["labels"] = job["spec"]["template"]["metadata"]["labels"].clone();
    }
    if request.call.is_dry_run() {
        job::label_job(job);
    }
}

/// Removes an empty list of rules, which is not stored. Returns whether there was one.
fn without_empty_rules(kind: &Kind, object: &mut Value) -> bool {
    let is_empty = kind.group == RBAC && object["rules"] == json!([]);
    if is_empty {
        object["rules"] = Value::Null;
    }
    is_empty
}
