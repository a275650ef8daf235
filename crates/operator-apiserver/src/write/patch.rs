//! The first stage of a `PATCH`: computes the new object from the live one.

use serde_json::Value;

use super::normalize::{normalize_patched, report_unknown};
use super::rule::check_given_version;
use super::{Prepared, apply, draft};
use crate::apply::node;
use crate::decode::{self, DroppedFields, body};
use crate::go::{no_value_of, sorted};
use crate::model::json::entries;
use crate::model::metadata::{self, name, text};
use crate::model::{Cause, Failure, Kind, Result, group_version};
use crate::patch::{
    APPLY, JSON, MERGE, STRATEGIC, apply_operations, check_operations, merge_strategically, merged,
};
use crate::request::Request;
use crate::store::{State, stored};

pub(crate) fn patch(state: &State, request: &Request<'_>) -> Result<Prepared> {
    let kind = request.kind;
    let content_type = request.call.content_type.as_str();
    if content_type == APPLY {
        return apply::apply(state, request);
    }
    check_media(request)?;
    let live = stored::live(state, request)?
        .ok_or_else(|| Failure::not_found(kind, &request.path.name))?;
    let (object, dropped) = patched(request, &live)?;
    check_given_version(kind, &object)?;
    Ok(draft::updated(
        &state.conversions,
        request,
        live,
        object,
        dropped,
    ))
}

/// Computes the result of a patch other than an apply, as an object of the request's kind.
pub(crate) fn patched(request: &Request<'_>, live: &Value) -> Result<(Value, DroppedFields)> {
    let (kind, content_type) = (request.kind, request.call.content_type.as_str());
    let mut patch = body::patch(&request.call.body)?;
    let mut object = match content_type {
        JSON => patched_by_operations(request, live, patch.clone())?,
        STRATEGIC => merge_strategically(live, &mut patch, node(kind))?,
        _ => merged(live, &patch)?,
    };
    if content_type != STRATEGIC
        && let Some(wrong) = body::kind_error(&object)
    {
        let shown = sorted(&object).to_string();
        let wrong = format!("couldn't get version/kind; json parse error: {wrong}");
        return Err(Failure::invalid_patch(&shown, &wrong));
    }
    match content_type {
        // the result is decoded as the Go type of the live object, whatever kind the patch names
        STRATEGIC => decode::set_type_meta(kind, &mut object),
        _ if kind.custom.is_none()
            && object["apiVersion"].as_str().unwrap_or_default().is_empty() =>
        {
            return Err(unversioned(request, &object, &patch));
        }
        _ => identify(kind, &mut object)?,
    }
    let dropped = normalize_patched(request, &mut object, &patch)?;
    check_names(request, &mut object)?;
    Ok((object, dropped))
}

/// The failure for a built-in object that dropped its `apiVersion`: it is decoded as Go's internal type of the kind, whose JSON has no
/// known fields, so that it has no name.
fn unversioned(request: &Request<'_>, object: &Value, patch: &Value) -> Failure {
    let Kind { kind, group, .. } = request.kind;
    let found = object["kind"].as_str().unwrap_or_default();
    if !found.is_empty() && found != kind {
        return Failure::invalid_patch(
            &sorted(object).to_string(),
            &format!(
                "no kind {found:?} is registered for the internal version of group {group:?} in scheme \"pkg/runtime/scheme.go:111\""
            ),
        );
    }
    let fields = entries(object);
    let mut unknown: Vec<String> = fields
        .map(|(name, _)| name.as_str())
        .filter(|name| !["kind", "apiVersion"].contains(name))
        .map(|name| format!("unknown field {name:?}"))
        .collect();
    unknown.sort();
    report_unknown(request, &unknown, object, patch)
        .err()
        .unwrap_or_else(|| Failure::nameless(&request.path.name))
}

/// Checks that the kind supports the format of a patch other than an apply.
pub(crate) fn check_media(request: &Request<'_>) -> Result<()> {
    let is_custom = request.kind.custom.is_some();
    let content_type = request.call.content_type.as_str();
    if request.call.query.contains_key("force") {
        let cause = Cause::forbidden("force", "may not be specified for non-apply patch");
        return Err(Failure::invalid_options("PatchOptions", vec![cause]));
    }
    match content_type {
        JSON | MERGE => Ok(()),
        STRATEGIC if !is_custom => Ok(()),
        _ if is_custom => Err(Failure::unsupported_media_type(&[JSON, MERGE, APPLY])),
        _ => Err(Failure::unsupported_patch()),
    }
}

/// Checks that a patched object is still of its kind.
fn identify(kind: &Kind, object: &mut Value) -> Result<()> {
    let found = |field: &str| object[field].as_str().unwrap_or_default();
    let version = found("apiVersion");
    if kind.custom.is_some() && found("kind").is_empty() {
        let shown = sorted(object).to_string();
        let wrong = format!("Object 'Kind' is missing in '{shown}'");
        return Err(Failure::invalid_patch(&shown, &wrong));
    }
    if kind.custom.is_some() && version.is_empty() {
        let wrong = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
        return Err(Failure::internal_error(wrong));
    }
    if kind.custom.is_some() && version != kind.api_version() {
        let text = format!("Invalid value: {version:?}: must be {}", kind.api_version());
        let cause = Cause::invalid("apiVersion", text);
        let named = Kind {
            group: group_version(version).0.to_owned(),
            ..kind.clone()
        };
        return Err(Failure::invalid(&named, name(object), vec![cause]));
    }
    match decode::kind_mismatch(kind, object) {
        Some(mismatch) => {
            let shown = sorted(object).to_string();
            Err(Failure::invalid_patch(&shown, &mismatch.why))
        }
        None => decode::identify(kind, object),
    }
}

/// Checks that an object still has its name and namespace; the namespace of a cluster-scoped object is ignored.
pub(crate) fn check_names(request: &Request<'_>, object: &mut Value) -> Result<()> {
    if !request.kind.namespaced {
        metadata::set(object, "namespace", Value::Null);
    }
    let (namespace, name) = (text(object, "namespace"), name(object));
    if !namespace.is_empty() && namespace != request.path.namespace {
        return Err(Failure::misplaced());
    }
    let expected = &request.path.name;
    if name.is_empty() {
        return Err(Failure::nameless(expected));
    }
    if name != expected {
        return Err(Failure::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({expected})"
        )));
    }
    Ok(())
}

/// Applies the patch of a request to the live object, and reports unknown fields.
pub(super) fn patched_by_operations(
    request: &Request<'_>,
    live: &Value,
    patch: Value,
) -> Result<Value> {
    let validation = request.call.param("fieldValidation");
    let unknown = match validation {
        "Ignore" if !patch.is_array() => {
            let wrong = no_value_of("jsonpatch.Patch", &patch);
            return Err(Failure::bad_request(wrong));
        }
        "Ignore" => Vec::new(),
        _ => check_operations(&patch)?,
    };
    let object = apply_operations(live, patch)?;
    if validation == "Strict" && !unknown.is_empty() {
        let shown = sorted(&object).to_string();
        let wrong = format!("strict decoding error: {}", unknown.join(", "));
        return Err(Failure::invalid_patch(&shown, &wrong));
    }
    unknown.iter().for_each(|text| request.call.warn(text));
    Ok(object)
}
