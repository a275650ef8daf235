//! The conversions by the webhook of `converted/servers.yaml`: `v1` has an address, the later versions have its two parts.

use serde_json::{Value, json};

/// The ConversionReview that answers another one.
pub fn convert(review: &Value) -> Value {
    let request = &review["request"];
    let to = request["desiredAPIVersion"].as_str().unwrap_or_default();
    let objects = request["objects"].as_array().into_iter().flatten();
    let objects: Vec<Value> = objects.map(|object| converted(object, to)).collect();
    json!({
        "apiVersion": review["apiVersion"],
        "kind": review["kind"],
        "response": {
            "uid": request["uid"],
            "result": {"status": "Success"},
            "convertedObjects": objects,
        },
    })
}

fn converted(object: &Value, to: &str) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = to.into();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return object;
    };
    if to.ends_with("/v1") {
        spec.remove("shape");
        if let (Some(host), Some(port)) = (spec.remove("host"), spec.remove("port")) {
            let (host, port) = (host.as_str(), port.as_str());
            let address = format!("{}:{}", host.unwrap_or_default(), port.unwrap_or_default());
            spec.insert("address".into(), address.into());
        }
        return object;
    }
    spec.remove("color");
    if let Some(address) = spec.remove("address") {
        let address = address.as_str().unwrap_or_default().to_owned();
        let (host, port) = address.split_once(':').unwrap_or((&address, ""));
        spec.insert("host".into(), host.into());
        spec.insert("port".into(), port.into());
    }
    object
}
