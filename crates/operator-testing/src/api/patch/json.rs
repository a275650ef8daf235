//! [JSON patches](https://www.rfc-editor.org/rfc/rfc6902), applied as in the API server's library.

use std::borrow::Cow;

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation, RemoveOperation};
use operator_schema::pointer;
use serde_json::Value;

use crate::api::go::{self, go_type};
use crate::api::model::failure::{Failure, Result};

/// The maximum number of operations in a patch.
const MOST: usize = 10_000;
/// The maximum number of bytes that a patch may copy, because each copy could double the size.
const MOST_COPIED: usize = 3 * 1024 * 1024;

/// Applies the operations to an object. An operation without a value uses null.
pub(crate) fn apply_operations(live: &Value, patch: Value) -> Result<Value> {
    if patch.is_null() {
        return Ok(live.clone());
    }
    if !patch.is_array() {
        return Err(Failure::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
            go_type(&patch)
        )));
    }
    let refused =
        || Failure::unprocessable("the server rejected our request due to an error in our request");
    let patch = with_values(patch);
    let operations = patch.as_array().map_or(0, Vec::len);
    if operations > MOST {
        return Err(Failure::too_many_operations(MOST, operations));
    }
    let mut object = live.clone();
    let mut copied = 0;
    for mut operation in patch.as_array().into_iter().flatten().cloned() {
        let op = operation["op"].as_str().unwrap_or_default().to_owned();
        let mut before = Cow::Borrowed(&object);
        if let ("move" | "copy", Some(from)) = (op.as_str(), operation["from"].as_str()) {
            let from = as_go_reads(&object, from, false).ok_or_else(refused)?;
            if op == "move" {
                let path = PointerBuf::parse(from.as_str()).map_err(|_| refused())?;
                let remove = PatchOperation::Remove(RemoveOperation { path });
                // A missing value is rejected below.
                let _gone = json_patch::patch(before.to_mut(), &[remove]);
            }
            operation["from"] = from.into();
        }
        // A replacement and a test may be of the whole object.
        let is_whole = matches!(op.as_str(), "replace" | "test") && operation["path"] == "";
        if is_whole
            && op == "replace"
            && !matches!(operation["value"], Value::Object(_) | Value::Array(_))
        {
            return Err(refused());
        }
        if let Some(path) = operation["path"].as_str().filter(|_| !is_whole) {
            let adds = matches!(op.as_str(), "add" | "copy" | "move");
            operation["path"] = as_go_reads(&before, path, adds).ok_or_else(refused)?.into();
        }
        let operation: PatchOperation = serde_json::from_value(operation).map_err(|_| refused())?;
        // To the API server, a path that is absent has the value null.
        if let PatchOperation::Test(test) = &operation
            && test.value.is_null()
            && object.pointer(test.path.as_str()).is_none()
            && is_in_object(&object, &test.path)
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
        if let PatchOperation::Copy(copy) = &operation {
            let source = object.pointer(copy.from.as_str());
            copied += source.map_or(0, |source| source.to_string().len());
            if copied > MOST_COPIED {
                return Err(refused());
            }
        }
        json_patch::patch(&mut object, &[operation]).map_err(|_| refused())?;
    }
    Ok(object)
}

/// Parses a path as the API server's library does: it ignores text before the first slash, and list indexes may have leading zeros, or
/// count from the end. Returns `None` for the whole object.
fn as_go_reads(object: &Value, path: &str, adds: bool) -> Option<String> {
    let (_, path) = path.split_once('/')?;
    let tokens: Vec<&str> = path.split('/').collect();
    let mut at = Some(object);
    let mut read = String::new();
    for (index, token) in tokens.iter().enumerate() {
        let name = pointer::unescape(token);
        let mut token = (*token).to_owned();
        if let Some(Value::Array(items)) = at {
            let is_new = adds && index + 1 == tokens.len();
            let count = i64::try_from(items.len()).ok()? + i64::from(is_new);
            if let Ok(place) = go::parse_int(&token) {
                token = if place < 0 { place + count } else { place }.to_string();
            }
            at = token
                .parse::<usize>()
                .ok()
                .and_then(|place| items.get(place));
        } else {
            at = at.and_then(|value| value.get(&*name));
        }
        read += &format!("/{token}");
    }
    Some(read)
}

/// Whether a path leads to an object field, which may be absent.
fn is_in_object(object: &Value, path: &json_patch::jsonptr::Pointer) -> bool {
    path.parent()
        .and_then(|parent| object.pointer(parent.as_str()))
        .is_some_and(Value::is_object)
}

/// Checks that the operations have Go's types, and returns their unknown fields.
pub(crate) fn check_operations(patch: &Value) -> Result<Vec<String>> {
    let mut unknown = Vec::new();
    let wrong = |value: &Value, place: &str| {
        Failure::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go {place}",
            go_type(value)
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

fn with_values(mut patch: Value) -> Value {
    let operations = patch.as_array_mut().into_iter().flatten();
    for fields in operations.filter_map(Value::as_object_mut) {
        fields.entry("value").or_insert(Value::Null);
    }
    patch
}
