//! Reviews of conversions.

use operator_runtime::{
    Controllers, Fatal, Settings, Setup,
    conversion::{Conversion, Spoke},
    webhook::Webhooks,
};
use operator_testing::Server;
use serde_json::{Value, json};

use crate::served::{Running, Sizes, Widgets, webhooks, widget};

fn conversion(desired: &str, objects: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "705ab4f5", "desiredAPIVersion": desired, "objects": objects},
    })
}

#[tokio::test]
async fn objects_are_converted_in_order() {
    let running = Running::serving(&Server::in_memory()).await;
    let mut second = widget(json!({"size": 2, "unknown": null}));
    second["metadata"]["name"] = "b".into();
    let mut new = widget(json!({"count": 3}));
    new["apiVersion"] = "test.example.com/v2".into();
    let objects = json!([widget(json!({"size": 1})), second, new]);
    let review = conversion("test.example.com/v2", objects);
    let response = running.review("/convert", &review).await;
    assert_eq!(response["result"], json!({"status": "Success"}));
    let converted = response["convertedObjects"].as_array().unwrap();
    let specs: Vec<_> = converted.iter().map(|it| it["spec"].clone()).collect();
    assert_eq!(
        specs,
        [
            json!({"count": 1}),
            json!({"count": 2, "unknown": null}),
            json!({"count": 3})
        ]
    );
    for (object, name) in converted.iter().zip(["a", "b", "a"]) {
        assert_eq!(object["apiVersion"], "test.example.com/v2");
        assert_eq!(
            object["metadata"],
            json!({"name": name, "namespace": "default"})
        );
    }
    let nothing = running
        .review("/convert", &conversion("test.example.com/v2", json!([])))
        .await;
    assert_eq!(nothing["convertedObjects"], json!([]));
}

/// When a manager applies an object in another version than before, the API server converts a part of it: the fields that the manager no
/// longer applies.
#[tokio::test]
async fn a_part_of_an_object_without_metadata_gets_some() {
    let running = Running::serving(&Server::in_memory()).await;
    let part = json!({"apiVersion": "test.example.com/v1", "kind": "Widget", "spec": {"size": 1}});
    let review = conversion("test.example.com/v2", json!([part]));
    let response = running.review("/convert", &review).await;
    assert_eq!(response["result"]["status"], "Success", "{response}");
    let converted = &response["convertedObjects"][0];
    assert_eq!(converted["metadata"], json!({}));
    assert_eq!(converted["spec"], json!({"count": 1}));
}

#[tokio::test]
async fn a_failure_names_the_object_and_converts_none() {
    let running = Running::serving(&Server::in_memory()).await;
    let mut other = widget(json!({}));
    other["apiVersion"] = "other.example.com/v1".into();
    let mut gadget = other.clone();
    gadget["apiVersion"] = "other.example.com/v2".into();
    let good = || widget(json!({"size": 1}));
    let named = "test.example.com/v1 Widget default/a";
    for (desired, second, message) in [
        ("test.example.com/v3", good(), format!("objects[0]: {named}: test.example.com/v3 is not served")),
        ("test.example.com/v2", widget(json!(1)), format!("objects[1]: {named}: spec is no object")),
        ("test.example.com/v2", other, "objects[1]: other.example.com/v1 Widget default/a: cannot be converted from group \"other.example.com\" to \"test.example.com\"".into()),
        ("other.example.com/v1", gadget, format!("objects[0]: {named}: cannot be converted from group \"test.example.com\" to \"other.example.com\"")),
        ("test.example.com/v2", json!("x"), "objects[1]:   : cannot be converted from group \"\" to \"test.example.com\"".into()),
        ("test.example.com/v2", widget(json!({"panic": 1})), "the webhook panicked: no luck at all".into()),
    ] {
        let review = conversion(desired, json!([good(), second]));
        let response = running.review("/convert", &review).await;
        assert_eq!(response["result"], json!({"status": "Failure", "message": message}));
        assert_eq!(response["convertedObjects"], json!([]));
    }
    let (code, message) = running
        .post(
            "/convert",
            json!({"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "ConversionReview"}),
        )
        .await
        .unwrap();
    assert_eq!(code, 400, "{message}");
    let (code, message) = running
        .post("/convert", conversion("v1", json!(1)))
        .await
        .unwrap();
    assert_eq!(code, 400);
    assert!(
        message.contains("request.objects: invalid type"),
        "{message}"
    );
}

/// The mice of a farm, with an irregular plural.
fn mice() -> Conversion {
    let spoke = Spoke::new("v1").moved("spec.size", "spec.length");
    Conversion::new("mice.test.example.com", "v2").spoke(spoke)
}

#[tokio::test]
async fn a_kind_is_converted_by_its_own_rules_alone() {
    let mut mouse = widget(json!({"size": 1, "unknown": 1.5}));
    mouse["kind"] = "Mouse".into();
    let review = conversion("test.example.com/v2", json!([mouse]));
    for (webhooks, expected) in [
        (
            webhooks().convert_kind("Mouse", mice()),
            Ok(json!({"length": 1, "unknown": 1.5})),
        ),
        (
            webhooks().convert(mice()),
            Err("this operator does not convert the kind"),
        ),
        (webhooks(), Err("this operator does not convert the kind")),
    ] {
        let controllers = Controllers::new().webhooks(webhooks);
        let server = Server::in_memory();
        let running = Running::start(server.client(), Settings::for_tests(), controllers);
        running.until_served().await;
        let response = running.review("/convert", &review).await;
        match expected {
            Ok(spec) => assert_eq!(response["convertedObjects"][0]["spec"], spec),
            Err(message) => {
                let message = format!("objects[0]: test.example.com/v1 Mouse default/a: {message}");
                assert_eq!(response["result"]["message"], message);
            }
        }
    }
}

#[tokio::test]
async fn two_conversions_of_a_crd_or_two_webhooks_of_a_path_do_not_start() {
    let server = Server::in_memory();
    let run = async |webhooks: Webhooks| {
        let controllers = Controllers::new().webhooks(webhooks);
        let running = Running::start(server.client(), Settings::for_tests(), controllers);
        running.stop().await.unwrap_err()
    };
    let twice = run(webhooks().and(webhooks())).await;
    assert!(
        matches!(&twice, Fatal::TwoWebhooks { path } if path == "/validate"),
        "{twice}"
    );
    let twice = run(webhooks().convert(Sizes)).await;
    assert!(
        matches!(&twice, Fatal::TwoConversions { crd } if crd == "widgets.test.example.com"),
        "{twice}"
    );
    for path in ["validate", "/convert", "/validate?x"] {
        let setup = async |_: Setup| Ok(Widgets);
        let wrong = run(Webhooks::new().add(setup, |it| it.validates(path))).await;
        assert!(matches!(wrong, Fatal::WebhookPath { .. }), "{wrong}");
    }
}
