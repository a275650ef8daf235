//! The `clientConfig`s that an object should have.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::super::{
    contents::Material,
    identity::Identity,
    injection::{Change, WebhookAddress},
};

fn identity(operator: &str) -> Identity {
    Identity::new(operator, &format!("{operator}-webhook"), "shop", &[]).unwrap()
}

fn address(url: Option<&str>) -> WebhookAddress {
    WebhookAddress {
        service: "op-webhook".into(),
        namespace: "shop".into(),
        url: url.map(str::to_owned),
        identity: identity("op"),
    }
}

/// A bundle of an operator, as in a `caBundle`.
fn bundle(operator: &str) -> Value {
    let identity = identity(operator);
    let lifetime = std::time::Duration::from_secs(3600);
    let authority = identity.create_authority(1_800_000_000, lifetime).unwrap();
    let serving = identity.issue(&authority, 1_800_000_000, lifetime).unwrap();
    let material = Material {
        authority,
        older: vec![],
        serving,
    };
    json!(ByteString(material.bundle().into_bytes()))
}

/// What a `clientConfig` is replaced with.
fn replacement(address: &WebhookAddress, config: Value) -> Option<Value> {
    let object = json!({ "spec": { "conversion": { "webhook": { "clientConfig": config } } } });
    match address.change(&object, &json!("bmV3")) {
        Change::Patch(patch) => {
            assert_eq!(patch[0]["op"], "test");
            assert_eq!(patch[0]["value"], config);
            assert_eq!(patch[1]["op"], "replace");
            assert_eq!(patch[1]["path"], "/spec/conversion/webhook/clientConfig");
            Some(patch[1]["value"].clone())
        }
        Change::None => Some(config),
        Change::NotOurs => None,
    }
}

fn service(path: &str) -> Value {
    json!({ "name": "op-webhook", "namespace": "shop", "path": path, "port": 8443 })
}

#[test]
fn a_service_keeps_everything_but_its_bundle() {
    let config = json!({ "service": service("/convert"), "caBundle": "b2xk" });
    let wanted = json!({ "service": service("/convert"), "caBundle": "bmV3" });
    let address = address(None);
    assert_eq!(replacement(&address, config), Some(wanted.clone()));
    let object = json!({ "webhooks": [{ "name": "a", "clientConfig": wanted }] });
    assert_eq!(address.change(&object, &json!("bmV3")), Change::None);
}

#[test]
fn each_change_tests_what_it_replaces() {
    let old = json!({ "service": service("/a") });
    let new = json!({ "service": service("/a"), "caBundle": "bmV3" });
    let object = json!({ "webhooks": [
        { "name": "first", "clientConfig": { "url": "https://example.com" } },
        { "name": "second", "clientConfig": old },
        { "name": "third", "clientConfig": new },
    ] });
    let patch = json!([
        { "op": "test", "path": "/webhooks/1/name", "value": "second" },
        { "op": "test", "path": "/webhooks/1/clientConfig", "value": old },
        { "op": "replace", "path": "/webhooks/1/clientConfig", "value": new },
    ]);
    assert_eq!(
        address(None).change(&object, &json!("bmV3")),
        Change::Patch(patch)
    );
}

#[test]
fn a_url_replaces_the_service_and_keeps_its_path() {
    let address = address(Some("https://127.0.0.1:9443/base"));
    let wanted = json!({ "url": "https://127.0.0.1:9443/base/convert", "caBundle": "bmV3" });
    let from_service = json!({ "service": service("/convert") });
    // The port of an earlier session.
    let from_url = json!({ "url": "https://127.0.0.1:1/convert", "caBundle": bundle("op") });
    for config in [from_service, from_url, wanted.clone()] {
        assert_eq!(replacement(&address, config), Some(wanted.clone()));
    }
    let no_path = json!({ "service": { "name": "op-webhook", "namespace": "shop" } });
    let wanted = json!({ "url": "https://127.0.0.1:9443/base", "caBundle": "bmV3" });
    assert_eq!(replacement(&address, no_path), Some(wanted));
}

#[test]
fn the_service_replaces_a_url_that_the_operator_wrote() {
    let url = json!({ "url": "https://127.0.0.1:1/convert", "caBundle": bundle("op") });
    let service = json!({
        "name": "op-webhook", "namespace": "shop", "path": "/convert",
    });
    let wanted = json!({ "service": service, "caBundle": "bmV3" });
    assert_eq!(replacement(&address(None), url), Some(wanted));
}

#[test]
fn what_others_serve_is_left_alone() {
    let address = address(Some("https://127.0.0.1:94"));
    for config in [
        json!({ "service": { "name": "other", "namespace": "shop" } }),
        json!({ "service": { "name": "op-webhook", "namespace": "other" } }),
        json!({ "url": "https://127.0.0.1:9443/convert" }),
        json!({ "url": "https://example.com/convert", "caBundle": bundle("other") }),
        json!({ "url": "https://example.com/convert", "caBundle": "bm8gUEVN" }),
        json!({ "url": 7, "caBundle": 7, "service": [] }),
        json!({}),
        json!(null),
    ] {
        assert_eq!(replacement(&address, config.clone()), None, "{config}");
    }
    for object in [
        json!({}),
        json!({ "webhooks": 7 }),
        json!({ "webhooks": [7] }),
        json!([]),
    ] {
        assert_eq!(
            address.change(&object, &json!("bmV3")),
            Change::NotOurs,
            "{object}"
        );
    }
}
