//! Calls of [conversion webhooks], one object at a time as the real server makes them, and the checks of their answers.
//!
//! [conversion webhooks]: https://github.com/kubernetes/apiextensions-apiserver/blob/master/pkg/apiserver/conversion/webhook_converter.go

use std::time::Duration;

use serde_json::{Value, json};

use super::address::target;
use super::client::{post, url};
use crate::go;
use crate::kinds::rule::field::{annotations, labels};
use crate::model::kind::ConversionWebhook;
use crate::model::metadata::{self, name, text};
use crate::model::{Cause, Failure, Result, group_version};
use crate::store::conversion::Wanted;
use crate::store::endpoint::Endpoints;

/// The timeout of a call, in seconds.
const TIMEOUT: u64 = 30;

const GROUP: &str = "apiextensions.k8s.io";

/// Converts an object by its webhook.
pub(crate) async fn convert(wanted: &Wanted, endpoints: &Endpoints) -> Result<Value> {
    let webhook = &wanted.webhook;
    let config = &webhook.client_config;
    let Some(target) = target(url(config, TIMEOUT), config, endpoints) else {
        let what = format!("the conversion webhook of {}", webhook.crd);
        return Err(Failure::not_implemented(what));
    };
    let uid = metadata::uid();
    let version = review_version(webhook).map_err(Failure::without_reason)?;
    let review = json!({
        "kind": "ConversionReview",
        "apiVersion": format!("{GROUP}/{version}"),
        "request": {
            "uid": uid,
            "desiredAPIVersion": wanted.api_version,
            "objects": [wanted.object],
        },
    });
    let answer = post(
        target,
        "kube-apiserver",
        Duration::from_secs(TIMEOUT),
        &review,
    )
    .await;
    let converted = answer.and_then(|answer| read(version, &uid, answer));
    let failure = |why: String| {
        Failure::without_reason(format!(
            "conversion webhook for {} {why}",
            shown(&wanted.object)
        ))
    };
    let converted = converted.map_err(|why| failure(format!("failed: {why}")))?;
    if let Some(why) = converted.iter().find_map(undecodable) {
        return Err(Failure::without_reason(why));
    }
    accept(wanted, converted).map_err(failure)
}

/// The first version of ConversionReview that the webhook and the server support.
fn review_version(webhook: &ConversionWebhook) -> Result<&str, &'static str> {
    webhook
        .review_versions
        .iter()
        .map(String::as_str)
        .find(|version| matches!(*version, "v1" | "v1beta1"))
        .ok_or("no supported conversion review versions")
}

/// The objects of an answer.
fn read(version: &str, uid: &str, mut review: Value) -> Result<Vec<Value>, String> {
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let expected = format!("{GROUP}/{version}, Kind=ConversionReview");
    let (group, found) = (string(&review["apiVersion"]), string(&review["kind"]));
    let group = if group.contains('/') {
        group
    } else {
        format!("/{group}")
    };
    let found = format!("{group}, Kind={found}");
    let response = &review["response"];
    if version == "v1" && found != expected {
        return Err(format!(
            "expected webhook response of {expected}, got {found}"
        ));
    }
    if response.is_null() {
        return Err("no response provided".into());
    }
    let found = string(&response["uid"]);
    if version == "v1" && found != uid {
        return Err(format!("expected response.uid={uid:?}, got {found:?}"));
    }
    let result = &response["result"];
    match (
        string(&result["status"]).as_str(),
        string(&result["message"]),
    ) {
        ("Success", _) => {}
        (status, message) if message.is_empty() => {
            return Err(format!(
                "response.result.status was '{status}', not 'Success'"
            ));
        }
        (_, message) => return Err(message),
    }
    match review["response"]["convertedObjects"].take() {
        Value::Array(objects) => Ok(objects),
        _ => Ok(Vec::new()),
    }
}

/// The decoder's error for a converted value that is not an object with a kind.
fn undecodable(object: &Value) -> Option<String> {
    match object {
        Value::Null => Some("unexpected end of JSON input".to_owned()),
        Value::Object(_) if text_of(object, "kind").is_empty() => {
            Some(format!("Object 'Kind' is missing in '{object}'"))
        }
        Value::Object(_) => None,
        other => Some(go::no_value_of(go::ANY_OBJECT, other)),
    }
}

fn text_of<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// The type of a decoded value in Go.
fn unstructured(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Checks the converted object, and restores its metadata except for labels and annotations.
fn accept(wanted: &Wanted, mut objects: Vec<Value>) -> Result<Value, String> {
    let given = &wanted.object;
    let count = objects.len();
    let Some(mut converted) = objects.pop().filter(|_| count == 1) else {
        return Err(format!("returned {count} objects, expected 1"));
    };
    let api_version = converted["apiVersion"].as_str().unwrap_or_default();
    if api_version != wanted.api_version {
        return Err(format!(
            "returned invalid object at index 0: invalid groupVersion (expected {}, received {api_version})",
            wanted.api_version
        ));
    }
    if given["kind"] != converted["kind"] {
        let kind = |object: &Value| object["kind"].as_str().unwrap_or_default().to_owned();
        return Err(format!(
            "returned invalid object at index 0: invalid kind (expected {}, received {})",
            kind(given),
            kind(&converted)
        ));
    }
    for (what, before, after) in [
        ("name", name(given), name(&converted)),
        (
            "namespace",
            text(given, "namespace"),
            text(&converted, "namespace"),
        ),
        ("UID", text(given, "uid"), text(&converted, "uid")),
    ] {
        if before != after {
            return Err(format!(
                "returned invalid object: must have the same {what}: {before} != {after}"
            ));
        }
    }
    restore_metadata(given, &mut converted)
        .map_err(|why| format!("returned invalid metadata: {why}"))?;
    Ok(converted)
}

/// Restores the metadata of a converted object, except for its labels and annotations, which are checked.
fn restore_metadata(given: &Value, converted: &mut Value) -> Result<(), String> {
    let answered = match converted.get("metadata") {
        None => return Err("missing metadata in converted object".into()),
        Some(Value::Object(answered)) => answered.clone(),
        Some(other) => {
            let type_ = unstructured(other);
            return Err(format!(
                "invalid metadata of type {type_} in converted object"
            ));
        }
    };
    converted["metadata"] = given["metadata"].clone();
    let check_labels: fn(&str, &Value, &mut Vec<Cause>) = labels;
    for (field, place, check) in [
        ("labels", "metadata.labels", check_labels),
        // the real server omits the `s`
        ("annotations", "metadata.annotation", annotations),
    ] {
        let value = match answered.get(field) {
            None | Some(Value::Null) => Value::Null,
            Some(Value::Object(entries)) => {
                if let Some((key, value)) = entries.iter().find(|(_, value)| !value.is_string()) {
                    let type_ = unstructured(value);
                    return Err(format!(
                        "metadata.{field}[{key}] must be a string, but is {type_} in converted object"
                    ));
                }
                Value::Object(entries.clone())
            }
            Some(other) => {
                let type_ = unstructured(other);
                return Err(format!(
                    "invalid metadata.{field} of type {type_} in converted object"
                ));
            }
        };
        let mut causes = Vec::new();
        if value != given["metadata"][field] {
            check(place, &value, &mut causes);
        }
        if let Some(cause) = causes.first() {
            return Err(format!("{}: {}", cause.field, cause.message));
        }
        metadata::set(converted, field, value);
    }
    Ok(())
}

/// The version and kind of an object, as Go prints them.
fn shown(object: &Value) -> String {
    let (group, version) = group_version(object["apiVersion"].as_str().unwrap_or_default());
    let kind = object["kind"].as_str().unwrap_or_default();
    format!("{group}/{version}, Kind={kind}")
}
