//! `PATCH` in its four forms: [JSON patch, merge patch, strategic merge patch and apply].
//!
//! [JSON patch, merge patch, strategic merge patch and apply]: https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply

mod apply;
mod json;
mod strategic;

use serde_json::Value;

pub(crate) use self::apply::check_manager;
pub(crate) use self::json::carry_out;

use crate::api::admit::check_given_version;
use crate::api::decode::{self, Lost};
use crate::api::json as body;
use crate::api::kind::{Kind, group_version};
use crate::api::metadata::{self, name, text};
use crate::api::status::{Cause, Failure, Result};
use crate::api::tracking::node;
use crate::api::write::Prepared;
use crate::api::{Request, State};

const JSON: &str = "application/json-patch+json";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

impl State {
    pub(crate) fn patch(&mut self, request: &Request<'_>) -> Result<Prepared> {
        let kind = request.kind;
        let content_type = request.call.content_type.as_str();
        if content_type == APPLY {
            return self.apply(request);
        }
        check_media(request)?;
        let live = self
            .live(request)?
            .ok_or_else(|| Failure::not_found(kind, &request.path.name))?;
        let (object, lost) = request.patched(&live)?;
        check_given_version(kind, &object)?;
        Ok(request.updated(live, object, lost))
    }
}

impl Request<'_> {
    /// What a patch other than an apply makes of an object of the request's kind.
    pub(crate) fn patched(&self, live: &Value) -> Result<(Value, Lost)> {
        let (kind, content_type) = (self.kind, self.call.content_type.as_str());
        let mut patch = body::patch(&self.call.body)?;
        let mut object = match content_type {
            JSON => json::patch(self, live, patch.clone())?,
            STRATEGIC => strategic::merge(live, &mut patch, node(kind))?,
            _ => merged(live, &patch)?,
        };
        if content_type != STRATEGIC
            && let Some(wrong) = body::unkind(&object)
        {
            let shown = body::sorted(&object).to_string();
            let wrong = format!("couldn't get version/kind; json parse error: {wrong}");
            return Err(Failure::invalid_patch(&shown, &wrong));
        }
        match content_type {
            // Go's type of the object is that of the live one, whatever the patch says.
            STRATEGIC => decode::name(kind, &mut object),
            _ if kind.custom.is_none()
                && object["apiVersion"].as_str().unwrap_or_default().is_empty() =>
            {
                return Err(self.unversioned(&object, &patch));
            }
            _ => identify(kind, &mut object)?,
        }
        let lost = self.settle_patched(&mut object, &patch)?;
        check_names(self, &mut object)?;
        Ok((object, lost))
    }

    /// What a built-in object is refused with that lost its version: it is decoded as Go's internal type of the kind, to whose JSON no
    /// field is known, so that it has no name.
    fn unversioned(&self, object: &Value, patch: &Value) -> Failure {
        let Kind { kind, group, .. } = self.kind;
        let found = object["kind"].as_str().unwrap_or_default();
        if !found.is_empty() && found != kind {
            return Failure::invalid_patch(
                &body::sorted(object).to_string(),
                &format!(
                    "no kind {found:?} is registered for the internal version of group {group:?} in scheme \"pkg/runtime/scheme.go:111\""
                ),
            );
        }
        let fields = object.as_object().into_iter().flatten();
        let unknown = fields
            .map(|(name, _)| name.as_str())
            .filter(|name| !["kind", "apiVersion"].contains(name));
        let mut unknown: Vec<String> = unknown
            .map(|name| format!("unknown field {name:?}"))
            .collect();
        unknown.sort();
        let told = self.tell_unknown(&unknown, object, patch);
        told.err()
            .unwrap_or_else(|| Failure::nameless(&self.path.name))
    }
}

/// Whether the kind has that sort of patch, other than an apply.
pub(crate) fn check_media(request: &Request<'_>) -> Result<()> {
    let is_custom = request.kind.custom.is_some();
    let content_type = request.call.content_type.as_str();
    if request.call.query.contains_key("force") {
        let why = "may not be specified for non-apply patch";
        let cause = Cause::forbidden("force", why);
        return Err(Failure::invalid_options("PatchOptions", vec![cause]));
    }
    match content_type {
        JSON | MERGE => Ok(()),
        STRATEGIC if !is_custom => Ok(()),
        _ if is_custom => Err(Failure::unsupported_media_type(&[JSON, MERGE, APPLY])),
        _ => Err(Failure::unsupported_patch()),
    }
}

/// A [merge patch](https://www.rfc-editor.org/rfc/rfc7386).
fn merged(live: &Value, patch: &Value) -> Result<Value> {
    if patch.is_null() {
        return Err(Failure::bad_request("Invalid JSON Patch"));
    }
    if !patch.is_object() {
        return Err(Failure::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            body::go_type(patch)
        )));
    }
    let mut object = live.clone();
    merge(&mut object, patch);
    Ok(object)
}

/// Merges as the Go library does it, which takes nulls away within lists as well.
fn merge(value: &mut Value, patch: &Value) {
    match (value, patch) {
        (Value::Object(fields), Value::Object(patch)) => {
            for (name, patch) in patch {
                match fields.get_mut(name) {
                    _ if patch.is_null() => drop(fields.shift_remove(name)),
                    Some(field) if !field.is_null() => merge(field, patch),
                    _ => drop(fields.insert(name.clone(), pruned(patch))),
                }
            }
        }
        (value @ Value::Object(_), patch) => *value = patch.clone(),
        (value, patch) => *value = pruned(patch),
    }
}

fn pruned(patch: &Value) -> Value {
    match patch {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(name, value)| (name.clone(), pruned(value)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(pruned).collect(),
        other => other.clone(),
    }
}

/// Whether a patched object is still of its kind.
fn identify(kind: &Kind, object: &mut Value) -> Result<()> {
    let found = |field: &str| object[field].as_str().unwrap_or_default();
    let version = found("apiVersion");
    if kind.custom.is_some() && found("kind").is_empty() {
        let shown = body::sorted(object).to_string();
        let wrong = format!("Object 'Kind' is missing in '{shown}'");
        return Err(Failure::invalid_patch(&shown, &wrong));
    }
    if kind.custom.is_some() && version.is_empty() {
        let wrong = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
        return Err(Failure::broken(wrong));
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
    match decode::misfit(kind, object) {
        Some(misfit) => {
            let shown = body::sorted(object).to_string();
            Err(Failure::invalid_patch(&shown, &misfit.why))
        }
        None => decode::identify(kind, object),
    }
}

/// Whether an object still has its place; one of the cluster has no namespace, whatever it says.
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
