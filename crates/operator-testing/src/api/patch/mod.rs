//! `PATCH` in its four forms: [JSON patch, merge patch, strategic merge patch and apply].
//!
//! [JSON patch, merge patch, strategic merge patch and apply]: https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply

mod apply;
mod json;
mod strategic;

use serde_json::Value;

pub(crate) use self::apply::check_manager;

use super::admit::check_given_version;
use super::decode::{self, Lost};
use super::json as body;
use super::kind::{Kind, group_version};
use super::metadata::{name, text};
use super::status::{Cause, Failure, Result};
use super::tracking::node;
use super::{Reply, Request, State};

const JSON: &str = "application/json-patch+json";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

impl State {
    pub(crate) fn patch(&mut self, request: &Request<'_>) -> Result<Reply> {
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
        self.update(request, live, object, lost)
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
        match content_type {
            // Go's type of the object is that of the live one, whatever the patch says.
            STRATEGIC => decode::name(kind, &mut object),
            _ => identify(kind, &mut object)?,
        }
        let lost = self.settle_patched(&mut object, &patch)?;
        check_names(self, &object)?;
        Ok((object, lost))
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
    let version = object["apiVersion"].as_str().unwrap_or_default();
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

/// Whether an object still has its place.
pub(crate) fn check_names(request: &Request<'_>, object: &Value) -> Result<()> {
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
