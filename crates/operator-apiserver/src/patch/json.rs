//! [JSON patches](https://www.rfc-editor.org/rfc/rfc6902), applied as in the API server's library.

use std::borrow::Cow;

use json_patch::jsonptr::{Pointer, PointerBuf};
use json_patch::{AddOperation, PatchOperation, RemoveOperation};
use operator_schema::pointer;
use serde_json::Value;

use crate::go::{self, json_type, no_value_of};
use crate::model::json::items;
use crate::model::{Failure, Result};

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
        let wrong = no_value_of("[]handlers.jsonPatchOp", &patch);
        return Err(Failure::bad_request(format!(
            "error decoding patch: {wrong}"
        )));
    }
    let operations = patch.as_array().map_or(0, Vec::len);
    if operations > MOST {
        return Err(Failure::too_many_operations(MOST, operations));
    }
    let refused = "the server rejected our request due to an error in our request";
    apply_or_explain(live, patch).map_err(|_| Failure::unprocessable(refused))
}

/// Applies the operations of a list to an object. An error has the library's reason.
pub(crate) fn apply_or_explain(live: &Value, patch: Value) -> Result<Value, String> {
    let patch = with_values(patch);
    let mut object = live.clone();
    let mut copied = 0;
    for operation in items(&patch) {
        if step(&mut object, operation.clone(), &mut copied).is_none() {
            return Err(explain(&object, operation));
        }
    }
    Ok(object)
}

/// Applies one operation. Returns `None`, and changes nothing, if that is not possible.
fn step(object: &mut Value, operation: Value, copied: &mut usize) -> Option<()> {
    let Some(operation) = as_read(object, operation, copied)? else {
        return Some(());
    };
    json_patch::patch(object, &[operation]).ok()
}

/// Converts an operation, with the meaning that it has in the API server's library, to one of `json_patch`. `Some(None)` if there is
/// nothing to do.
fn as_read(
    object: &Value,
    mut operation: Value,
    copied: &mut usize,
) -> Option<Option<PatchOperation>> {
    let op = operation["op"].as_str().unwrap_or_default().to_owned();
    let mut before = Cow::Borrowed(object);
    if let ("move" | "copy", Some(from)) = (op.as_str(), operation["from"].as_str()) {
        let from = as_go_reads(object, from, false)?;
        if op == "move" {
            let path = PointerBuf::parse(from.as_str()).ok()?;
            let remove = PatchOperation::Remove(RemoveOperation { path });
            // A missing value is rejected below.
            let _gone = json_patch::patch(before.to_mut(), &[remove]);
        }
        operation["from"] = from.into();
    }
    // only `replace` and `test` accept the empty path, which is that of the whole object
    let is_whole = matches!(op.as_str(), "replace" | "test") && operation["path"] == "";
    if is_whole
        && op == "replace"
        && !matches!(operation["value"], Value::Object(_) | Value::Array(_))
    {
        return None;
    }
    if let Some(path) = operation["path"].as_str().filter(|_| !is_whole) {
        let adds = matches!(op.as_str(), "add" | "copy" | "move");
        operation["path"] = as_go_reads(&before, path, adds)?.into();
    }
    let operation: PatchOperation = serde_json::from_value(operation).ok()?;
    let is_field =
        |path| object.pointer(Pointer::as_str(path)).is_none() && is_in_object(object, path);
    let add = |path: &PointerBuf, value: Value| {
        let path = path.clone();
        PatchOperation::Add(AddOperation { path, value })
    };
    let operation = match operation {
        // in the API server's library, an absent field has the value null
        PatchOperation::Test(test) if test.value.is_null() && is_field(&test.path) => {
            return Some(None);
        }
        // it copies an absent field as null
        PatchOperation::Copy(copy) if is_field(&copy.from) => add(&copy.path, Value::Null),
        // if it replaces an absent field, it adds the field
        PatchOperation::Replace(replace) if is_field(&replace.path) => {
            add(&replace.path, replace.value)
        }
        other => other,
    };
    if let PatchOperation::Copy(copy) = &operation {
        let source = object.pointer(copy.from.as_str());
        *copied += source.map_or(0, |source| source.to_string().len());
        if *copied > MOST_COPIED {
            return None;
        }
    }
    Some(Some(operation))
}

/// The reason why an operation does not apply, as the [library](https://github.com/evanphx/json-patch) gives it.
fn explain(object: &Value, operation: &Value) -> String {
    let text = |field: &str| operation[field].as_str().unwrap_or_default();
    let (path, from) = (text("path"), text("from"));
    let missing = |path: &str| {
        let parent = path
            .rsplit_once('/')
            .and_then(|(parent, _)| object.pointer(parent));
        !parent.is_some_and(|parent| parent.is_object() || parent.is_array())
    };
    let unusable = |path: &str, what: &str| {
        let (parent, key) = path.rsplit_once('/').unwrap_or_default();
        let key = pointer::unescape(key);
        match object.pointer(parent) {
            Some(Value::Array(_)) if go::parse_int(&key).is_ok() => {
                format!("Unable to access invalid index: {key}: invalid index referenced")
            }
            Some(Value::Array(_)) => format!("strconv.Atoi: parsing {key:?}: invalid syntax"),
            _ => format!("Unable to {what} nonexistent key: {key}: missing value"),
        }
    };
    let last = |path: &str| {
        path.rsplit('/')
            .next()
            .map(|key| pointer::unescape(key).into_owned())
    };
    match text("op") {
        op @ ("add" | "remove") if missing(path) => {
            format!("{op} operation does not apply: doc is missing path: {path:?}: missing value")
        }
        op @ ("add" | "remove") => {
            format!("error in {op} for path: '{path}': {}", unusable(path, op))
        }
        "replace" if missing(path) => {
            format!("replace operation does not apply: doc is missing path: {path}: missing value")
        }
        "replace" => {
            format!("replace operation does not apply: doc is missing key: {path}: missing value")
        }
        "test" if missing(path) => {
            format!("test operation does not apply: is missing path: {path}: missing value")
        }
        "test" => format!("testing value {path} failed: test failed"),
        op @ ("move" | "copy") if missing(from) => {
            format!(
                "{op} operation does not apply: doc is missing from path: {from}: missing value"
            )
        }
        "move" if object.pointer(from).is_none() => {
            let key = last(from).unwrap_or_default();
            format!(
                "error in move for path: '{key}': {}",
                unusable(from, "remove")
            )
        }
        op @ ("move" | "copy") if missing(path) => {
            format!(
                "{op} operation does not apply: doc is missing destination path: {path}: missing value"
            )
        }
        "move" => format!(
            "error in move for path: '{path}': {}",
            unusable(path, "add")
        ),
        "copy" => format!(
            "error while adding value during copy: {}",
            unusable(path, "add")
        ),
        "" => "Unexpected kind: unknown".to_owned(),
        other => format!("Unexpected kind: {other}"),
    }
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
fn is_in_object(object: &Value, path: &Pointer) -> bool {
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
            json_type(value)
        ))
    };
    let operations = items(patch);
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

/// Sets the absent values of operations to null.
fn with_values(mut patch: Value) -> Value {
    let operations = patch.as_array_mut().into_iter().flatten();
    for fields in operations.filter_map(Value::as_object_mut) {
        fields.entry("value").or_insert(Value::Null);
    }
    patch
}
