//! `PATCH` in its four forms: [JSON patch, merge patch, strategic merge patch and apply].
//!
//! [JSON patch, merge patch, strategic merge patch and apply]: https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply

use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::Value;

use super::admit::check_number;
use super::apply::{Conflict, Managers, Operation, undeclared};
use super::json;
use super::kind::{Kind, group_version};
use super::metadata::{self, name, text};
use super::status::{Cause, Failure, Result};
use super::write::{Draft, node, without_managers, writer};
use super::{Reply, Request, State, decode, last_applied, strategic};

/// The manager of what was there before the first apply.
const FIRST: &str = "before-first-apply";
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
        if request.call.query.contains_key("force") {
            let cause = Cause {
                reason: "FieldValueForbidden",
                message: "Forbidden: may not be specified for non-apply patch".into(),
                field: "force".into(),
            };
            return Err(Failure::invalid_options("PatchOptions", vec![cause]));
        }
        if content_type == STRATEGIC && kind.custom.is_some()
            || ![JSON, MERGE, STRATEGIC].contains(&content_type)
        {
            let accepted = &[JSON, MERGE, APPLY];
            return Err(match kind.custom {
                Some(_) => Failure::unsupported_media_type(accepted),
                None => Failure::unsupported_patch(),
            });
        }
        let live = self
            .live(request)
            .ok_or_else(|| Failure::not_found(kind, &request.path.name))?;
        let patch = json::patch(&request.call.body)?;
        let mut object = match content_type {
            JSON => {
                let is_lax = request.call.param("fieldValidation") == "Ignore";
                let unknown = match is_lax {
                    true => Vec::new(),
                    false => check_operations(&patch)?,
                };
                if is_lax && !patch.is_array() {
                    return Err(Failure::bad_request(format!(
                        "json: cannot unmarshal {} into Go value of type jsonpatch.Patch",
                        json::go_type(&patch)
                    )));
                }
                let object = json_patched(&live, patch, kind.custom.is_some())?;
                if request.call.param("fieldValidation") == "Strict" && !unknown.is_empty() {
                    let shown = last_applied::sorted(&object).to_string();
                    let wrong = format!("strict decoding error: {}", unknown.join(", "));
                    return Err(Failure::invalid_patch(&shown, &wrong));
                }
                unknown.iter().for_each(|text| request.call.warn(text));
                object
            }
            STRATEGIC => strategic::merge(&live, &patch, node(kind))?,
            _ if patch.is_null() => return Err(Failure::bad_request("Invalid JSON Patch")),
            _ if !patch.is_object() => {
                return Err(Failure::bad_request(format!(
                    "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                    json::go_type(&patch)
                )));
            }
            _ => {
                let mut object = live.clone();
                json_patch::merge(&mut object, &patch);
                object
            }
        };
        if let (Some(_), version) = (
            &kind.custom,
            object["apiVersion"].as_str().unwrap_or_default(),
        ) && version != kind.api_version()
        {
            let text = format!("Invalid value: {version:?}: must be {}", kind.api_version());
            let cause = Cause::invalid("apiVersion", text);
            let named = Kind {
                group: group_version(version).0.to_owned(),
                ..kind.clone()
            };
            return Err(Failure::invalid(&named, name(&object), vec![cause]));
        }
        decode::identify(kind, &mut object)?;
        request.settle(&mut object)?;
        if name(&object).is_empty() {
            return Err(Failure::nameless(&request.path.name));
        }
        if text(&object, "namespace") != text(&live, "namespace") {
            return Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if name(&object) != request.path.name {
            return Err(Failure::bad_request(format!(
                "the name of the object ({}) does not match the name on the URL ({})",
                name(&object),
                request.path.name
            )));
        }
        self.update(request, live, object)
    }

    /// [Server-side apply](https://kubernetes.io/docs/reference/using-api/server-side-apply/).
    fn apply(&mut self, request: &Request<'_>) -> Result<Reply> {
        let kind = request.kind;
        if request.call.param("fieldManager").is_empty() {
            let cause = Cause::required("fieldManager", "is required for apply patch");
            return Err(Failure::invalid_options("PatchOptions", vec![cause]));
        }
        let mut applied = json::yaml(&request.call.body)?;
        let sent = applied.clone();
        check_applied(request, &applied)?;
        if let Some(what) = undeclared(&applied, node(kind)) {
            return Err(Failure::internal(format!(
                "failed to create typed patch object ({}/{}; {}/{}, Kind={}): {what}",
                text(&applied, "namespace"),
                name(&applied),
                kind.group,
                kind.version,
                kind.kind
            )));
        }
        let live = self.live(request);
        if live.is_none() && request.path.subresource.is_some() {
            return Err(Failure::not_found(kind, &request.path.name));
        }
        let namespace = text(&applied, "namespace").to_owned();
        place_applied(request, &mut applied, live.is_some())?;
        if live.is_none() {
            self.authorize_create_on_apply(request)?;
            let uid = text(&applied, "uid");
            if !uid.is_empty() {
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(Failure::conflict(kind, &request.path.name, &why));
            }
        }
        let base = live.clone().unwrap_or_else(|| request.blank());
        let bare = without_managers(&base);
        let mut before = Managers::read(&base["metadata"]["managedFields"]).unwrap_or_default();
        let subresource = request.path.subresource.as_deref();
        if live.is_some() && before.0.is_empty() {
            // What was never tracked is from now on.
            let first = writer(kind, FIRST.to_owned(), Operation::Update, subresource);
            before = first.update(&request.blank(), &bare, &before);
        }
        let writer = request.writer(Operation::Apply);
        let minds_last = last_applied::is_minded(&writer.id.name, &base);
        let force = request.call.flag("force");
        let applied_to = writer.apply(&bare, &applied, &before, force);
        let (mut object, managers) = match applied_to {
            Err(found) if minds_last && last_applied::allows(&base, &found, node(kind)) => {
                writer.apply(&bare, &applied, &before, true)
            }
            other => other,
        }
        .map_err(conflict)?;
        if !namespace.is_empty() && namespace != request.path.namespace {
            return Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if minds_last {
            last_applied::update(&mut object, &sent);
        }
        request.settle(&mut object)?;
        let draft = Draft { object, managers };
        match live {
            Some(live) => self.admit_changed(request, live, draft),
            None => {
                let mut draft = draft;
                check_number(&draft.object)?;
                metadata::set(&mut draft.object, "resourceVersion", Value::Null);
                self.admit_new(request, draft)
            }
        }
    }
}

/// Whether what is applied is an object of the kind.
fn check_applied(request: &Request<'_>, applied: &Value) -> Result<()> {
    if !applied.is_object() && !applied.is_null() {
        let text = format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            json::go_type(applied)
        );
        return Err(Failure::bad_request(text));
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

/// What is applied is at the place of the path; the name of an object that exists may be left out.
fn place_applied(request: &Request<'_>, applied: &mut Value, exists: bool) -> Result<()> {
    let (expected, found) = (&request.path.name, name(applied));
    if found.is_empty() && !exists {
        return Err(Failure::nameless(expected));
    }
    if applied["metadata"]["name"] == "" {
        return Err(Failure::nameless(expected));
    }
    if !found.is_empty() && found != expected {
        return Err(Failure::bad_request(format!(
            "the name of the object ({found}) does not match the name on the URL ({expected})"
        )));
    }
    metadata::set(applied, "name", request.path.name.as_str());
    if request.kind.namespaced {
        metadata::set(applied, "namespace", request.path.namespace.as_str());
    }
    if applied["metadata"]["creationTimestamp"].is_null() {
        metadata::set(applied, "creationTimestamp", Value::Null);
    }
    Ok(())
}

/// The object with the operations carried out. In a custom object nothing is left of a value that is none; a built-in one has null there.
pub(crate) fn json_patched(live: &Value, patch: Value, is_custom: bool) -> Result<Value> {
    if !patch.is_array() {
        return Err(Failure::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
            json::go_type(&patch)
        )));
    }
    let refused =
        || Failure::unprocessable("the server rejected our request due to an error in our request");
    let valueless = without_values(&patch);
    let patch = with_values(patch);
    let mut patch: Patch = serde_json::from_value(patch).map_err(|_| refused())?;
    let mut object = live.clone();
    for (at, operation) in patch.0.drain(..).enumerate() {
        let place = operation.path().to_buf();
        // To the API server, a path that is absent has the value null.
        if let PatchOperation::Test(test) = &operation
            && test.value.is_null()
            && object.pointer(test.path.as_str()).is_none()
        {
            continue;
        }
        // To it, there is a null where an object has nothing.
        if let PatchOperation::Copy(copy) = &operation
            && object.pointer(copy.from.as_str()).is_none()
            && is_in_object(&object, &copy.from)
        {
            let add = AddOperation {
                path: copy.path.clone(),
                value: Value::Null,
            };
            json_patch::patch(&mut object, &[PatchOperation::Add(add)]).map_err(|_| refused())?;
            if is_custom {
                remove_null(&mut object, &place);
            }
            continue;
        }
        // To it, replacing a field that is absent adds it.
        let operation = match operation {
            PatchOperation::Replace(replace)
                if object.pointer(replace.path.as_str()).is_none()
                    && is_in_object(&object, &replace.path) =>
            {
                PatchOperation::Add(AddOperation {
                    path: replace.path,
                    value: replace.value,
                })
            }
            other => other,
        };
        json_patch::patch(&mut object, &[operation]).map_err(|_| refused())?;
        if is_custom && valueless.contains(&at) {
            remove_null(&mut object, &place);
        }
    }
    Ok(object)
}

/// Whether a path leads to a field of an object, which may be absent.
fn is_in_object(object: &Value, path: &json_patch::jsonptr::Pointer) -> bool {
    path.parent()
        .and_then(|parent| object.pointer(parent.as_str()))
        .is_some_and(Value::is_object)
}

/// Whether the operations have Go's types; tells the fields that they do not have.
fn check_operations(patch: &Value) -> Result<Vec<String>> {
    let mut unknown = Vec::new();
    let wrong = |value: &Value, place: &str| {
        Failure::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go {place}",
            json::go_type(value)
        ))
    };
    let operations = patch.as_array().into_iter().flatten();
    for (at, operation) in operations.enumerate().filter(|(_, it)| !it.is_null()) {
        let Some(fields) = operation.as_object() else {
            return Err(wrong(operation, "value of type handlers.jsonPatchOp"));
        };
        for (name, value) in fields {
            match name.as_str() {
                "op" | "from" | "path" if !value.is_string() && !value.is_null() => {
                    let place = format!("struct field jsonPatchOp.{name} of type string");
                    return Err(wrong(value, &place));
                }
                "op" | "from" | "path" | "value" => {}
                other => {
                    let path = format!("[{at}].{other}");
                    unknown.push(format!("json patch unknown field {path:?}"));
                }
            }
        }
    }
    Ok(unknown)
}

/// The operations that lack a value, which Go takes for nothing rather than null.
fn without_values(patch: &Value) -> Vec<usize> {
    let operations = patch.as_array().into_iter().flatten().enumerate();
    let lacking = operations.filter(|(_, it)| {
        matches!(it["op"].as_str(), Some("add" | "replace")) && it.get("value").is_none()
    });
    lacking.map(|(at, _)| at).collect()
}

fn with_values(mut patch: Value) -> Value {
    let operations = patch.as_array_mut().into_iter().flatten();
    for fields in operations.filter_map(Value::as_object_mut) {
        fields.entry("value").or_insert(Value::Null);
    }
    patch
}

/// Removes a field that is null; an item of a list stays.
fn remove_null(object: &mut Value, place: &json_patch::jsonptr::Pointer) {
    let parent = place
        .parent()
        .and_then(|it| object.pointer_mut(it.as_str()));
    if let (Some(Value::Object(fields)), Some(name)) = (parent, place.last()) {
        let name = name.decoded();
        if fields.get(&*name).is_some_and(Value::is_null) {
            fields.shift_remove(&*name);
        }
    }
}

fn conflict(conflicts: Vec<Conflict>) -> Failure {
    let path =
        |conflict: &Conflict| -> String { conflict.path.iter().map(ToString::to_string).collect() };
    let causes = conflicts.iter().map(|conflict| Cause {
        reason: "FieldManagerConflict",
        message: format!("conflict with {}", conflict.manager.describe()),
        field: path(conflict),
    });
    let causes = causes.collect();
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
