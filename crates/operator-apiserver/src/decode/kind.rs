//! Checks that a body is of the kind in the request's path.

use serde_json::Value;

use crate::model::builtin::builtin;
use crate::model::{Cause, Failure, Kind, Result, group_version, metadata};

/// The actual kind of a body, and the decoder's error about it.
pub(crate) struct KindMismatch {
    kind: String,
    version: String,
    /// The message of the decoder.
    pub why: String,
}

/// The mismatch if a body is not of the expected built-in kind. An absent `apiVersion` or `kind` counts as the expected one.
pub(crate) fn kind_mismatch(kind: &Kind, object: &Value) -> Option<KindMismatch> {
    let part = |name: &str, expected: String| match object[name].as_str().unwrap_or_default() {
        "" => expected,
        found => found.to_owned(),
    };
    let api_version = part("apiVersion", kind.api_version());
    let found = part("kind", kind.kind.clone());
    if kind.custom.is_some() || api_version == kind.api_version() && found == kind.kind {
        return None;
    }
    let version = group_version(&api_version).1;
    let mut kinds = builtin().kinds.iter();
    let single = found.strip_suffix("List").unwrap_or(&found);
    let is_known =
        kinds.any(|it| (it.kind == found || it.kind == single) && it.api_version() == api_version);
    let why = if is_known {
        format!(
            "converting ({version}.{found}) to ({}.{}): unknown conversion",
            go_package(&kind.group),
            kind.kind
        )
    } else {
        format!(
            "no kind {found:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )
    };
    Some(KindMismatch {
        version: version.to_owned(),
        kind: found,
        why,
    })
}

/// Sets the `apiVersion` and `kind` of an object.
pub(crate) fn set_type_meta(kind: &Kind, object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        for (field, value) in [
            ("kind", kind.kind.clone()),
            ("apiVersion", kind.api_version()),
        ] {
            fields.shift_remove(field);
            fields.shift_insert(0, field.into(), value.into());
        }
    }
}

/// Checks that a body is of the kind in the path. Sets `apiVersion` and `kind` of a built-in one if they are absent.
pub(crate) fn identify(kind: &Kind, object: &mut Value) -> Result<()> {
    if let Some(KindMismatch {
        kind: found,
        version,
        why,
    }) = kind_mismatch(kind, object)
    {
        return Err(Failure::bad_request(format!(
            "{found} in version {version:?} cannot be handled as a {}: {why}",
            kind.kind
        )));
    }
    if kind.custom.is_some() {
        return identify_custom(kind, object);
    }
    set_type_meta(kind, object);
    Ok(())
}

fn identify_custom(kind: &Kind, object: &Value) -> Result<()> {
    let found = |field: &str| object[field].as_str().unwrap_or_default();
    let (version, expected) = (found("apiVersion"), kind.api_version());
    if version != expected {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )));
    }
    match found("kind") {
        "" => Err(Failure::bad_request("Object 'Kind' is missing in the body")),
        found if found != kind.kind => {
            let text = format!("Invalid value: {found:?}: must be {}", kind.kind);
            let named = Kind {
                kind: found.to_owned(),
                ..kind.clone()
            };
            let causes = vec![Cause::invalid("kind", text)];
            Err(Failure::invalid(&named, metadata::name(object), causes))
        }
        _ => Ok(()),
    }
}

/// The name of the Go package with the internal types of a built-in group.
pub(crate) fn go_package(group: &str) -> &str {
    match group {
        "" | "events.k8s.io" => "core",
        group => group.split('.').next().unwrap_or_default(),
    }
}
