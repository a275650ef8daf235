//! Bad input: the answer is an error that names the place, or a refusal, and nothing is allowed by accident.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use operator_testing::Server;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::served::{Running, creation, read, review, widget};

/// A value that is nested this deep.
fn nested(depth: usize) -> String {
    format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth))
}

/// A review whose object has this raw spec.
fn with_spec(spec: &str) -> String {
    creation(json!("SPEC"))
        .to_string()
        .replace("\"SPEC\"", spec)
}

fn without(field: &str) -> Value {
    let mut review = creation(json!({}));
    review["request"].as_object_mut().unwrap().remove(field);
    review
}

fn with(pointer: &str, value: Value) -> Value {
    let mut review = creation(json!({}));
    *review.pointer_mut(pointer).unwrap() = value;
    review
}

#[tokio::test]
async fn a_body_that_is_no_review_is_an_error_with_its_place() {
    let running = Running::serving(&Server::in_memory()).await;
    let cases = [
        (
            "no json".to_owned(),
            "the body is no JSON of a review: expected ident at line 1",
        ),
        (String::new(), "the body is no JSON of a review: EOF"),
        ("[]".to_owned(), r#"got "" and """#),
        ("{}".to_owned(), r#"got "" and """#),
        (format!("{} x", creation(json!({}))), "trailing characters"),
        (
            with("/apiVersion", json!("admission.k8s.io/v1beta1")).to_string(),
            r#"expected apiVersion "admission.k8s.io/v1" and kind "AdmissionReview", got "admission.k8s.io/v1beta1""#,
        ),
        (
            with("/kind", json!("ConversionReview")).to_string(),
            r#"and "ConversionReview""#,
        ),
        (
            with("/request", Value::Null).to_string(),
            "the review has no request",
        ),
        (
            with("/request", json!(3)).to_string(),
            "request: invalid type: integer `3`",
        ),
        (without("uid").to_string(), "missing field `uid`"),
        (without("kind").to_string(), "missing field `kind`"),
        (
            without("operation").to_string(),
            "missing field `operation`",
        ),
        (
            with("/request/operation", json!("PATCH")).to_string(),
            "request.operation: unknown variant `PATCH`",
        ),
        (
            with("/request/userInfo/groups", json!([1])).to_string(),
            "request.userInfo.groups[0]: invalid type",
        ),
        (nested(10_000), r#"got "" and """#),
        (
            with("/request/options", json!("DEEP"))
                .to_string()
                .replace("\"DEEP\"", &nested(10_000)),
            "recursion limit exceeded",
        ),
    ];
    for (body, expected) in cases {
        for path in ["/validate", "/mutate"] {
            let (code, message) = running.post(path, &body).await.unwrap();
            assert_eq!(code, 400, "{body:.80} {message}");
            assert!(message.contains(expected), "{expected} is not in {message}");
        }
    }
}

#[tokio::test]
async fn a_request_without_the_objects_of_its_operation_is_refused() {
    let running = Running::serving(&Server::in_memory()).await;
    let object = || widget(json!({}));
    for (operation, object, old, missing) in [
        ("CREATE", Value::Null, Value::Null, "object"),
        ("UPDATE", Value::Null, object(), "object"),
        ("UPDATE", object(), Value::Null, "oldObject"),
        ("DELETE", object(), Value::Null, "oldObject"),
        ("CONNECT", Value::Null, Value::Null, "object"),
    ] {
        for path in ["/validate", "/mutate"] {
            let response = running
                .review(path, &review(operation, object.clone(), old.clone()))
                .await;
            assert_eq!(response["allowed"], false, "{operation}");
            assert_eq!(response["status"]["code"], 400);
            let message = format!("the request has no {missing}");
            assert_eq!(response["status"]["message"], message, "{operation}");
        }
    }
}

#[tokio::test]
async fn an_object_of_another_kind_or_version_is_refused() {
    let running = Running::serving(&Server::in_memory()).await;
    for (pointer, value, found) in [
        (
            "/request/kind/kind",
            "Gadget",
            "the request is of test.example.com/v1 Gadget",
        ),
        (
            "/request/kind/version",
            "v2",
            "object is of test.example.com/v1 Widget",
        ),
        ("/request/kind/group", "", "the request is of v1 Widget"),
        (
            "/request/object/kind",
            "Gadget",
            "object is of test.example.com/v1 Gadget",
        ),
        ("/request/object/apiVersion", "v1", "object is of v1 Widget"),
    ] {
        // a request in another version is converted
        let version = if value == "v2" { "v2" } else { "v1" };
        for path in ["/validate", "/mutate"] {
            let response = running.review(path, &with(pointer, json!(value))).await;
            assert_eq!(response["allowed"], false, "{pointer}");
            let message =
                format!("this webhook decides on test.example.com/{version} Widget, but {found}");
            assert_eq!(response["status"]["message"], message);
        }
    }
}

#[tokio::test]
async fn an_object_that_cannot_be_decoded_is_refused_with_its_field() {
    let running = Running::serving(&Server::in_memory()).await;
    for path in ["/validate", "/mutate"] {
        let response = running
            .review(path, &creation(json!({"size": "big"})))
            .await;
        assert_eq!(response["allowed"], false);
        let status = &response["status"];
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&json!(422), &json!("Invalid"))
        );
        assert_eq!(
            status["message"],
            "object cannot be read: spec.size: invalid type: string \"big\", expected i32"
        );
        assert_eq!(status["details"]["causes"][0]["field"], "spec.size");
        let response = running
            .review(path, &with("/request/object", json!([])))
            .await;
        assert_eq!(response["allowed"], false);
    }
}

#[tokio::test]
async fn a_large_object_is_read_and_a_larger_review_is_not() {
    let running = Running::serving(&Server::in_memory()).await;
    let large = |bytes| creation(json!({"size": 1, "unknown": "x".repeat(bytes)}));
    for path in ["/validate", "/mutate"] {
        let response = running.review(path, &large(3 << 20)).await;
        assert_eq!(response["allowed"], true);
        let (code, message) = running.post(path, large(20 << 20)).await.unwrap();
        assert_eq!(
            (code, &*message),
            (413, "a review has at most 20971520 bytes")
        );
    }
}

#[tokio::test]
async fn a_deeply_nested_object_does_not_overflow_the_stack() {
    let running = Running::serving(&Server::in_memory()).await;
    let unknown = format!(r#"{{"unknown": {}}}"#, nested(10_000));
    let (code, body) = running
        .post("/validate", with_spec(&unknown))
        .await
        .unwrap();
    assert_eq!(code, 200);
    assert!(body.contains(r#""allowed":true"#), "skipped: {body}");
    for (path, spec) in [
        ("/mutate", unknown.clone()),
        ("/validate", nested(10_000).replacen("\"a\"", "\"size\"", 1)),
    ] {
        let (code, body) = running.post(path, with_spec(&spec)).await.unwrap();
        assert_eq!(code, 200);
        assert!(body.contains(r#""allowed":false"#), "{body}");
    }
}

#[tokio::test]
async fn other_methods_media_types_and_paths_are_errors() {
    let running = Running::serving(&Server::in_memory()).await;
    for (method, path, media, expected) in [
        (Method::GET, "/validate", "application/json", 405),
        (Method::PUT, "/convert", "application/json", 405),
        (Method::POST, "/validate", "text/plain", 415),
        (Method::POST, "/validate", "", 415),
        (
            Method::POST,
            "/validate",
            "application/json; charset=utf-8",
            200,
        ),
        (Method::POST, "/validate/", "application/json", 404),
        (Method::POST, "/", "application/json", 404),
    ] {
        let mut request = Request::builder().method(method).uri(path);
        if !media.is_empty() {
            request = request.header("content-type", media);
        }
        let body = Bytes::from(creation(json!({})).to_string());
        let request = request.body(body).unwrap();
        let response = running.service.clone().oneshot(request).await.unwrap();
        assert_eq!(read(response).0, expected, "{path} {media}");
    }
}

#[tokio::test(start_paused = true)]
async fn errors_panics_and_time_outs_of_a_webhook_refuse_the_request() {
    let running = Running::serving(&Server::in_memory()).await;
    for (way, code, message) in [
        ("fail", 500, "no luck"),
        ("panic", 500, "the webhook panicked: no luck at all"),
        ("hang", 504, "the webhook did not answer within 2s"),
    ] {
        let started = tokio::time::Instant::now();
        let response = running
            .review("/validate?timeout=2s", &creation(json!({"way": way})))
            .await;
        assert_eq!(response["allowed"], false);
        assert_eq!(response["status"]["code"], code);
        assert_eq!(response["status"]["message"], message);
        assert!(started.elapsed() < Duration::from_secs(3));
    }
}
