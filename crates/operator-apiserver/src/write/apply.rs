//! [Server-side apply] as a request: checks that the applied object has the kind and name of the path.
//!
//! [Server-side apply]: https://kubernetes.io/docs/reference/using-api/server-side-apply/

use serde_json::Value;

use super::normalize::normalize;
use super::patch::check_names;
use super::rule::{check_given_version, check_number};
use super::tracking::{blank, writer};
use super::{Base, Draft, Prepared, draft, last_applied, take_version};
use crate::access::rbac::authorize_create_on_apply;
use crate::admission::crd::check_crd;
use crate::apply::{
    Conflict, Managers, Operation, Refusal, Repeats, Writer, node, validate_typed, without_managers,
};
use crate::decode::DroppedFields;
use crate::decode::body::yaml;
use crate::go::{ANY_OBJECT, no_value_of};
use crate::kinds::strategy;
use crate::model::metadata::{self, name, text};
use crate::model::{Cause, Failure, Result, group_version};
use crate::request::Request;
use crate::store::{Conversions, State, stored};

/// The manager of fields that existed before the first apply.
const FIRST: &str = "before-first-apply";

pub(super) fn apply(state: &State, request: &Request<'_>) -> Result<Prepared> {
    let kind = request.kind;
    check_manager(request)?;
    let live = stored::live(state, request)?;
    let subresource = request.path.subresource.as_deref();
    if live.is_none() && subresource.is_some() && !strategy(kind).creates(subresource) {
        return Err(Failure::not_found(kind, &request.path.name));
    }
    if live.is_none() {
        check_crd(&state.store, kind, &request.path.name)?;
    }
    let mut draft = applied(state, request, live.as_ref())?;
    if kind.namespaced {
        let namespace = request.path.namespace.as_str();
        metadata::set(&mut draft.object, "namespace", namespace);
    }
    match live {
        Some(live) => {
            check_given_version(kind, &draft.object)?;
            Ok(Prepared::new(Base::Live(live), draft))
        }
        None => {
            check_number(&draft.object)?;
            let sent_version = take_version(&mut draft.object);
            Ok(Prepared::new(Base::Absent { sent_version }, draft))
        }
    }
}

/// Computes the result of an apply from the live object, if there is one.
pub(crate) fn applied(state: &State, request: &Request<'_>, live: Option<&Value>) -> Result<Draft> {
    let kind = request.kind;
    let mut applied = yaml(&request.call.body)?;
    let sent = applied.clone();
    check_applied(request, &applied)?;
    if let Some(what) = validate_typed(&applied, node(kind), Repeats::Refused) {
        return Err(Failure::without_reason(format!(
            "failed to create typed patch object {}: {what}",
            kind.printed(text(&applied, "namespace"), name(&applied))
        )));
    }
    if live.is_none() {
        authorize_create_on_apply(&state.store, request)?;
    }
    if applied.pointer("/metadata/creationTimestamp") == Some(&Value::Null) {
        metadata::set(&mut applied, "creationTimestamp", Value::Null);
    }
    let (mut object, managers) = merge(&state.conversions, request, live, &applied, &sent)?;
    // the real server does not decode an object again of which only the managers change
    let is_same = live.is_some_and(|live| without_managers(live) == without_managers(&object));
    let dropped = if is_same && state.conversions.converter(kind).is_some() {
        DroppedFields::default()
    } else {
        normalize(request, &mut object)?
    };
    let uid = text(&applied, "uid");
    if live.is_none() && !uid.is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(Failure::conflict(kind, &request.path.name, &why));
    }
    check_names(request, &mut object)?;
    Ok(Draft {
        object,
        managers,
        dropped,
    })
}

/// Merges the applied object into the live one, and determines the owners of its fields.
fn merge(
    conversions: &Conversions,
    request: &Request<'_>,
    live: Option<&Value>,
    applied: &Value,
    sent: &Value,
) -> Result<(Value, Managers)> {
    let kind = request.kind;
    let printed = |object: &Value| kind.printed(text(object, "namespace"), name(object));
    let base = live.cloned().unwrap_or_else(|| blank(request));
    let bare = without_managers(&base);
    let mut before = Managers::read(&base["metadata"]["managedFields"]).unwrap_or_default();
    let subresource = request.path.subresource.as_deref();
    if live.is_some() && before.0.is_empty() {
        // the first apply gives the existing fields a manager, if their values have the types of the schema
        let tracked = Writer {
            converter: conversions.converter(kind),
            ..writer(kind, FIRST.to_owned(), Operation::Update, subresource)
        }
        .update(&blank(request), &bare, &before);
        before = tracked.map_err(|what| {
            Failure::without_reason(format!(
                "failed to create manager for existing fields: failed to convert new object {} to smd typed: {what}",
                printed(&bare)
            ))
        })?;
    }
    if let Some(what) = validate_typed(&bare, node(kind), Repeats::Allowed) {
        return Err(Failure::without_reason(format!(
            "failed to create typed live object {}: {what}",
            printed(&bare)
        )));
    }
    let writer = draft::writer(conversions, request, Operation::Apply);
    let force = request.call.flag("force");
    let applied_to = writer.apply(&bare, applied, &before, force);
    let (mut object, managers) = match applied_to {
        Err(Refusal::Conflicts(found)) => match last_applied::disallowed(&writer, &bare, found) {
            open if open.is_empty() => writer.apply(&bare, applied, &before, true),
            open => Err(Refusal::Conflicts(open)),
        },
        other => other,
    }
    .map_err(|refusal| match refusal {
        Refusal::Conflicts(conflicts) => conflict(conflicts),
        Refusal::Failed(why) => Failure::without_reason(why),
    })?;
    last_applied::update(&writer, &mut object, sent);
    Ok((object, managers))
}

/// Checks that an apply names its field manager.
pub(crate) fn check_manager(request: &Request<'_>) -> Result<()> {
    if !request.call.param("fieldManager").is_empty() {
        return Ok(());
    }
    let cause = Cause::required("fieldManager", "is required for apply patch");
    Err(Failure::invalid_options("PatchOptions", vec![cause]))
}

/// Checks that the applied object is of the kind.
fn check_applied(request: &Request<'_>, applied: &Value) -> Result<()> {
    if !applied.is_object() && !applied.is_null() {
        let wrong = no_value_of(ANY_OBJECT, applied);
        return Err(Failure::bad_request(format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: {wrong}"
        )));
    }
    let found = |field: &str| applied[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (found("apiVersion"), found("kind"));
    if api_version != request.kind.api_version() || kind != request.kind.kind {
        let (group, version) = group_version(&api_version);
        let text = format!("invalid object type: {group}/{version}, Kind={kind}");
        return Err(Failure::bad_request(text));
    }
    if !applied["metadata"]["managedFields"].is_null() {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

fn conflict(conflicts: Vec<Conflict>) -> Failure {
    let path =
        |conflict: &Conflict| -> String { conflict.path.iter().map(ToString::to_string).collect() };
    let causes = conflicts
        .iter()
        .map(|conflict| Cause {
            reason: "FieldManagerConflict",
            message: format!("conflict with {}", conflict.manager.describe()),
            field: path(conflict),
        })
        .collect();
    let message = match conflicts.as_slice() {
        [one] => format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            one.manager.describe(),
            path(one)
        ),
        many => {
            let mut lines = Vec::new();
            let mut last = None;
            for conflict in many {
                if last != Some(&conflict.manager) {
                    lines.push(format!("conflicts with {}:", conflict.manager.describe()));
                    last = Some(&conflict.manager);
                }
                lines.push(format!("- {}", path(conflict)));
            }
            format!(
                "Apply failed with {} conflicts: {}",
                many.len(),
                lines.join("\n")
            )
        }
    };
    Failure::apply_conflict(message, causes)
}
