//! Converts a decoded body to its stored form, or rejects it with the message of the method's decoder.

use serde_json::Value;

use crate::decode::duplicate::duplicates;
use crate::decode::{self, DroppedFields, Normalized, body};
use crate::go::{self, Undecodable};
use crate::kinds::strategy;
use crate::model::json::entries;
use crate::model::metadata::{name, text};
use crate::model::{Failure, Kind, Result};
use crate::patch;
use crate::request::Request;

/// Checks types, sets defaults and prunes. Returns the dropped fields. With [`fieldValidation=Strict`] an unknown field is rejected
/// instead.
///
/// [`fieldValidation=Strict`]: https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation
pub(crate) fn normalize(request: &Request<'_>, object: &mut Value) -> Result<DroppedFields> {
    normalize_patched(request, object, &Value::Null)
}

/// Like [`normalize`], for the result of a patch.
pub(crate) fn normalize_patched(
    request: &Request<'_>,
    object: &mut Value,
    patch: &Value,
) -> Result<DroppedFields> {
    let mut sent = object.clone();
    let is_applied = request.call.content_type == patch::APPLY;
    let mut decoded = decode::normalize(request.kind, object);
    if decoded.is_err() && is_applied && request.kind.custom.is_some() {
        decode::drop_malformed(&mut sent);
        object.clone_from(&sent);
        decoded = decode::normalize(request.kind, object);
    }
    let Normalized {
        unknown: dropped,
        is_reduced,
        omits_empty,
    } = decoded.map_err(|wrong| undecodable(request, &sent, patch, wrong))?;
    if request.kind.custom.is_some() && is_applied {
        decode::keep_nulls(&sent, object);
    }
    let stores_unknown_fields = match request.kind.custom {
        // the real server does not decode applied objects
        Some(_) => is_applied && omits_empty,
        None => has_null_bytes(request, &sent, object),
    };
    let is_whole = matches!(request.call.method, http::Method::POST | http::Method::PUT)
        || request.call.content_type == patch::MERGE;
    let twice = if is_whole {
        duplicates(&request.call.body)
    } else {
        Vec::new()
    };
    // For a built-in kind, an unknown field is reported only once.
    let is_reported = |path: &&String| {
        request.kind.custom.is_some()
            || request.call.content_type == patch::MERGE
            || !dropped.contains(path)
    };
    let mut unknown: Vec<String> = twice
        .iter()
        .filter(is_reported)
        .map(|path| format!("duplicate field {path:?}"))
        .collect();
    if !is_applied {
        // Invalid fields of an apply are rejected by the schema for ownership, which has more fields.
        unknown.extend(dropped.iter().map(|path| format!("unknown field {path:?}")));
    }
    report_unknown(request, &unknown, &sent, patch)?;
    if is_applied && is_reduced {
        // the conversion from YAML to JSON removes the fraction of a whole number
        decode::round(&mut sent);
    }
    let sent = is_reduced.then_some(sent);
    Ok(DroppedFields {
        sent,
        stores_unknown_fields,
    })
}

/// Warns about unknown or duplicate fields, or rejects them, depending on the field validation that the client requests.
pub(crate) fn report_unknown(
    request: &Request<'_>,
    unknown: &[String],
    object: &Value,
    patch: &Value,
) -> Result<()> {
    match request.call.param("fieldValidation") {
        "Ignore" => {}
        "Strict" if !unknown.is_empty() => {
            let wrong = format!("strict decoding error: {}", unknown.join(", "));
            return Err(match request.call.method {
                http::Method::PATCH => {
                    Failure::invalid_patch(&shown(request, object, patch), &wrong)
                }
                _ => undecoded(request, &wrong),
            });
        }
        _ => unknown.iter().for_each(|text| request.call.warn(text)),
    }
    Ok(())
}

/// Removes nulls of an apply from a custom object to be stored, which its schema permits in untyped values. The real server keeps them
/// until the object is read. Returns whether there was one.
pub(crate) fn drop_applied_nulls(request: &Request<'_>, object: &mut Value) -> bool {
    let Some(custom) = &request.kind.custom else {
        return false;
    };
    if request.call.content_type != patch::APPLY {
        return false;
    }
    let kept = object.clone();
    operator_schema::apply_defaults(&custom.schema, object);
    *object != kept
}

/// Whether a value of bytes was sent as null, and not set by another field, such as `stringData`.
fn has_null_bytes(request: &Request<'_>, sent: &Value, object: &Value) -> bool {
    let Some(field) = strategy(request.kind).bytes else {
        return false;
    };
    let mut sent = entries(&sent[field]);
    sent.any(|(key, value)| value.is_null() && object[field][key] == "")
}

fn undecoded(request: &Request<'_>, wrong: &str) -> Failure {
    let Kind { kind, version, .. } = request.kind;
    Failure::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: {wrong}"
    ))
}

/// The failure for an object whose fields have wrong types.
fn undecodable(
    request: &Request<'_>,
    object: &Value,
    patch: &Value,
    wrong: Undecodable,
) -> Failure {
    if request.call.method != http::Method::PATCH {
        return undecoded(request, &wrong.decoded);
    }
    match request.call.content_type.as_str() {
        patch::STRATEGIC => {
            Failure::invalid_patch(&shown(request, object, patch), &wrong.converted)
        }
        patch::APPLY => {
            let sent = body::yaml(&request.call.body).unwrap_or_default();
            let printed = request.kind.printed(text(&sent, "namespace"), name(&sent));
            let Kind {
                kind,
                group,
                version,
                ..
            } = request.kind;
            Failure::without_reason(format!(
                "failed to convert new object {printed} to proper version: unable to convert unstructured object to {group}/{version}, Kind={kind}: {}",
                wrong.converted
            ))
        }
        _ => Failure::invalid_patch(&shown(request, object, patch), &wrong.decoded),
    }
}

/// The object that the failure of a patch shows: a strategic patch itself, or else the result of the patch.
fn shown(request: &Request<'_>, object: &Value, patch: &Value) -> String {
    match request.call.content_type.as_str() {
        patch::STRATEGIC => go::printed(patch),
        _ => go::sorted(object).to_string(),
    }
}
