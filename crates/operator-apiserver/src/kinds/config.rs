//! ConfigMaps and Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::resource::{CONFIG_MAPS, SECRETS};
use super::rule::field::too_long;
use super::rule::field::{immutable, invalid, is_empty, is_same, refuse, text};
use super::strategy::{Enqueue, Strategy};
use super::value::set_if_empty;
use crate::go::{self, read_json};
use crate::model::json::entries;
use crate::model::{Cause, name};

pub(crate) const CONFIG_MAP: Strategy = Strategy {
    validate: config_map,
    bytes: Some("binaryData"),
    enqueues: &[Enqueue::WaitingPods],
    cells: cells!(core::config_map),
    ..Strategy::of(CONFIG_MAPS)
};

pub(crate) const SECRET: Strategy = Strategy {
    set_defaults: set_secret_defaults,
    validate: secret,
    selectable_fields: Some(&[("type", "")]),
    bytes: Some("data"),
    enqueues: &[Enqueue::WaitingPods],
    cells: cells!(core::secret),
    ..Strategy::of(SECRETS)
};

fn config_map(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    if let Some(live) = frozen(live, object, causes) {
        if !is_same(&live["data"], &object["data"]) {
            causes.push(Cause::forbidden("data", FROZEN));
        }
        if live["binaryData"] != object["binaryData"] {
            causes.push(Cause::forbidden("binaryData", FROZEN));
        }
    }
    for (key, _) in entries(&object["data"]) {
        self::key("data", key, causes);
        if object["binaryData"].get(key).is_some() {
            let why = "duplicate of key present in binaryData";
            causes.push(invalid(format!("data[{key}]"), format!("{key:?}"), why));
        }
    }
    for (key, _) in entries(&object["binaryData"]) {
        self::key("binaryData", key, causes);
    }
    let text = |value: &Value| value.as_str().map_or(0, str::len);
    let bytes = sum(&object["binaryData"], decoded);
    size("[]", sum(&object["data"], text) + bytes, causes);
}

fn secret(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    if let Some(live) = live {
        immutable("", (live, object), "type", causes);
    }
    if let Some(live) = frozen(live, object, causes)
        && live["data"] != object["data"]
    {
        causes.push(Cause::forbidden("data", FROZEN));
    }
    for (key, _) in entries(&object["data"]) {
        self::key("data", key, causes);
    }
    size("data", sum(&object["data"], decoded), causes);
    let has = |key: &str| match text(object, "type") {
        "kubernetes.io/ssh-auth" => !is_empty(&object["data"][key]),
        _ => !object["data"][key].is_null(),
    };
    let needed: &[&str] = match text(object, "type") {
        "kubernetes.io/service-account-token" => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            if is_empty(&object["metadata"]["annotations"][ACCOUNT]) {
                let field = format!("metadata.annotations[{ACCOUNT}]");
                causes.push(Cause::required(field, ""));
            }
            &[]
        }
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            &["username", "password"]
        }
        _ => &[],
    };
    let missing = needed.iter().filter(|key| !has(key));
    causes.extend(missing.map(|key| Cause::required(format!("data[{key}]"), "")));
    for key in needed.iter().filter(|key| key.starts_with(".docker")) {
        let Some(found) = object["data"][*key].as_str() else {
            continue;
        };
        let found = STANDARD.decode(found).unwrap_or_default();
        let wrong = match read_json(&found) {
            Ok(Value::Object(_) | Value::Null) => continue,
            Ok(other) => go::no_value_of(go::ANY_OBJECT, &other),
            Err(wrong) => wrong,
        };
        let field = format!("data[{key}]");
        causes.push(invalid(field, "\"<secret contents redacted>\"", wrong));
    }
}

fn sum(data: &Value, size: impl Fn(&Value) -> usize) -> usize {
    entries(data).map(|(_, value)| size(value)).sum()
}

/// The number of bytes that a base64 string encodes.
fn decoded(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=');
    (text.len() / 4 * 3).saturating_sub(padding.count())
}

/// Checks that the data are not larger than a MiB.
fn size(field: &str, found: usize, causes: &mut Vec<Cause>) {
    const LIMIT: usize = 1024 * 1024;
    if found > LIMIT {
        causes.push(too_long(field, LIMIT));
    }
}

const FROZEN: &str = "field is immutable when `immutable` is set";

/// The live object, if it is immutable. An update that makes it mutable again is refused.
fn frozen<'a>(
    live: Option<&'a Value>,
    object: &Value,
    causes: &mut Vec<Cause>,
) -> Option<&'a Value> {
    let live = live.filter(|live| live["immutable"] == true)?;
    if object["immutable"] != true {
        causes.push(Cause::forbidden("immutable", FROZEN));
    }
    Some(live)
}

fn key(field: &str, key: &str, causes: &mut Vec<Cause>) {
    let wrong = name::bad_config_key(key);
    refuse(&format!("{field}[{key}]"), key, wrong, causes);
}

/// Sets the type of a Secret, and converts `stringData` to `data`.
fn set_secret_defaults(object: &mut Value) {
    set_if_empty(object, &[("type", json!("Opaque"))]);
    for (key, text) in object
        .as_object_mut()
        .and_then(|secret| secret.shift_remove("stringData"))
        .as_ref()
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let text = text.as_str().unwrap_or_default();
        object["data"][key.as_str()] = STANDARD.encode(text).into();
    }
}
