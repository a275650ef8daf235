//! Requests for objects in another version than that of the webhook's type, and under a path with a version.

use operator_runtime::{
    Controllers, Result, Settings, Setup,
    webhook::{AdmissionRequest, Convert, Validate, Verdict, Webhooks},
};
use operator_testing::Server;
use serde_json::{Value, json};

use crate::served::{Running, Sizes, Widget, Widgets, creation, patch, review, webhooks, widget};

async fn running(webhooks: Webhooks) -> Running {
    let controllers = Controllers::new().webhooks(webhooks);
    let running = Running::start(
        Server::in_memory().client(),
        Settings::for_tests(),
        controllers,
    );
    running.until_served().await;
    running
}

fn in_version(version: &str, spec: Value) -> Value {
    let mut object = widget(spec);
    object["apiVersion"] = format!("test.example.com/{version}").into();
    object
}

fn review_in(version: &str, operation: &str, object: Value, old: Value) -> Value {
    let mut review = review(operation, object, old);
    for field in ["kind", "resource"] {
        review["request"][field]["version"] = version.into();
    }
    review
}

/// A review of the creation of a widget in `v2`.
fn creation_in_v2(spec: Value) -> Value {
    review_in("v2", "CREATE", in_version("v2", spec), Value::Null)
}

/// Warns about each request with what it has.
struct Echo;

impl Validate for Echo {
    type Resource = Widget;

    async fn validate(&self, request: &AdmissionRequest<Widget>) -> Result<Verdict> {
        let size = |object: &Option<Widget>| object.as_ref().map(|it| it.spec.size);
        let (kind, resource) = (&request.kind.version, &request.resource.version);
        let (size, old) = (size(&request.object), size(&request.old_object));
        Ok(Verdict::allow().warn(format!("{kind} {resource} {size:?} {old:?}")))
    }
}

#[tokio::test]
async fn a_webhook_gets_the_objects_in_the_version_of_its_type() {
    let echo = async |_: Setup| Ok(Echo);
    let running = running(
        Webhooks::new()
            .add(echo, |it| it.validates("/validate"))
            .convert(Sizes),
    )
    .await;
    let (object, old) = (
        in_version("v2", json!({"count": 2})),
        in_version("v2", json!({"count": 1})),
    );
    for (operation, object, old, sizes) in [
        ("CREATE", object.clone(), Value::Null, "Some(2) None"),
        ("UPDATE", object, old.clone(), "Some(2) Some(1)"),
        ("DELETE", Value::Null, old, "None Some(1)"),
    ] {
        let response = running
            .review("/validate", &review_in("v2", operation, object, old))
            .await;
        let warning = format!("v1 v1 {sizes}");
        assert_eq!(
            response["warnings"],
            json!([warning]),
            "{operation}: {response}"
        );
    }
}

#[tokio::test]
async fn a_change_is_made_in_the_version_of_the_request() {
    let running = running(webhooks()).await;
    let changed = running
        .review("/mutate", &creation_in_v2(json!({"count": 1, "way": "x"})))
        .await;
    assert_eq!(
        patch(&changed),
        json!([{"op": "replace", "path": "/spec/count", "value": 2}])
    );
    let same = running
        .review(
            "/mutate",
            &creation_in_v2(json!({"count": 1, "way": "keep"})),
        )
        .await;
    assert_eq!(same, json!({"uid": same["uid"], "allowed": true}));
}

/// Converts like [`Sizes`], but `v1` has no `spec.note`.
struct Lossy;

impl Convert for Lossy {
    fn crd(&self) -> &str {
        Sizes.crd()
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        let mut converted = Sizes.convert(object, api_version)?;
        converted["spec"]
            .as_object_mut()
            .ok_or("no spec")?
            .remove("note");
        Ok(converted)
    }
}

#[tokio::test]
async fn what_the_version_of_the_type_cannot_hold_stays() {
    let widgets = async |_: Setup| Ok(Widgets);
    let lossy = Webhooks::new().add(widgets, |it| it.validates("/validate").mutates("/mutate"));
    let running = running(lossy.convert(Lossy)).await;
    let changed = running
        .review("/mutate", &creation_in_v2(json!({"count": 1, "note": "n"})))
        .await;
    assert_eq!(
        patch(&changed),
        json!([{"op": "replace", "path": "/spec/count", "value": 2}])
    );
}

#[tokio::test]
async fn what_cannot_be_converted_is_refused() {
    let running = running(webhooks()).await;
    for path in ["/validate", "/mutate"] {
        let refused = running.review(path, &creation_in_v2(json!(1))).await;
        assert_eq!(refused["allowed"], false);
        let message = "the object cannot be converted to test.example.com/v1: spec is no object";
        assert_eq!(refused["status"]["message"], message);
    }
}

#[tokio::test]
async fn without_a_conversion_only_the_named_versions_are_read() {
    let widgets = async |_: Setup| Ok(Widgets);
    let registered =
        Webhooks::new().add(widgets, |it| it.validates("/validate").mutates("/mutate"));
    let crd = "widgets.test.example.com";
    let running = running(registered.without_conversion("Widget", crd, &["v1", "v2"])).await;
    let changed = running
        .review("/mutate", &creation_in_v2(json!({"size": 1})))
        .await;
    assert_eq!(
        patch(&changed),
        json!([{"op": "replace", "path": "/spec/size", "value": 2}])
    );
    let object = in_version("v3", json!({"size": 1}));
    let refused = running
        .review("/mutate", &review_in("v3", "CREATE", object, Value::Null))
        .await;
    let message = "the object cannot be converted to test.example.com/v1: \
                   widgets.test.example.com has no version \"test.example.com/v3\"; it has v1, v2";
    assert_eq!(refused["status"]["message"], message);
    assert_eq!(
        running.post("/convert", "").await.unwrap().0,
        404,
        "the API server converts"
    );
}

#[tokio::test]
async fn a_path_may_have_a_version() {
    let widgets = async |_: Setup| Ok(Widgets);
    let registered = Webhooks::new().add(widgets, |it| {
        it.validates("/validate")
            .mutates("/mutate-test-example-com-widget")
    });
    let running = running(registered).await;
    for (path, code) in [
        ("/mutate-test-example-com-widget", 200),
        ("/mutate-test-example-com-v1-widget", 200),
        ("/mutate-test-example-com-v1beta1-widget", 200),
        ("/mutate-test-example-com-v1-gadget", 404),
        ("/validate-test-example-com-v1-widget", 404),
        ("/widget", 404),
    ] {
        let (found, body) = running
            .post(path, creation(json!({"size": 1})))
            .await
            .unwrap();
        assert_eq!(found, code, "{path}: {body}");
    }
}
