//! Webhooks that do not answer, or not with a verdict.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::*;

const CALLING: &str = "Internal error occurred: failed calling webhook \"judge.example.com\": ";
const URL: &str = "https://hooks.default.svc:443/judge?timeout=";

async fn post(server: &WebhookServer) -> Answer {
    send(&server.client(), "POST", WIDGETS_PATH, &widget(json!({}))).await
}

/// Installs the validating webhook `judge`, which answers with `respond`.
async fn judge<F>(
    server: &WebhookServer,
    more: &str,
    respond: impl Fn() -> F + Clone + Send + Sync + 'static,
) where
    F: Future<Output = Result<Response<Bytes>, &'static str>> + Send + 'static,
{
    let rules = rule("CREATE", "widgets");
    install(server, "Validating", "judge", &rules, more).await;
    server.serve(tower::service_fn(move |_: Request<Bytes>| respond()));
}

fn respond(code: u16, body: &str) -> Response<Bytes> {
    let body = Bytes::copy_from_slice(body.as_bytes());
    Response::builder().status(code).body(body).unwrap()
}

#[tokio::test]
async fn a_failure_rejects_the_request_by_default() {
    let server = server_in_memory().await;
    judge(&server, "", || async { Err("connection refused") }).await;
    let failed = post(&server).await;
    assert_eq!(failed.code, 500);
    assert_eq!(failed.body["reason"], "InternalError");
    let expected =
        format!("{CALLING}failed to call webhook: Post \"{URL}10s\": connection refused");
    assert_eq!(failed.message(), expected);
}

#[tokio::test]
async fn failures_are_ignored_by_failure_policy() {
    let server = server().await;
    let refuse = || async { Err("connection refused") };
    judge(&server, "failurePolicy: Ignore,", refuse).await;
    assert_eq!(post(&server).await.code, 201);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_has_its_timeout() {
    let late = || async {
        sleep(Duration::from_secs(8)).await;
        Ok(respond(200, "{}"))
    };
    let server = server_in_memory().await;
    judge(&server, "timeoutSeconds: 7,", late).await;
    let start = Instant::now();
    let failed = post(&server).await;
    assert_eq!(start.elapsed().as_secs(), 7);
    assert_eq!(failed.code, 500);
    let expected =
        format!("{CALLING}failed to call webhook: Post \"{URL}7s\": context deadline exceeded");
    assert_eq!(failed.message(), expected);
}

#[tokio::test(start_paused = true)]
async fn validating_webhooks_are_called_concurrently() {
    let server = server_in_memory().await;
    let rules = rule("CREATE", "widgets");
    let hooks = ["a", "b", "c"].map(|name| hook(name, &rules, ""));
    let all = configuration("Validating", "all", &hooks);
    server.install(&all).await;
    answer(&server, |_, _| async {
        sleep(Duration::from_secs(3)).await;
        allow()
    });
    let start = Instant::now();
    assert_eq!(post(&server).await.code, 201);
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test]
async fn an_invalid_review_is_a_failure() {
    let server = server().await;
    for (code, body, why) in [
        (
            500,
            "sorry",
            "failed to call webhook: an error on the server (\"sorry\") has prevented the request from succeeding",
        ),
        (
            404,
            "",
            "failed to call webhook: the server could not find the requested resource",
        ),
        (
            200,
            r#"{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}"#,
            "received invalid webhook response: webhook response was absent",
        ),
    ] {
        judge(&server, "", move || async move { Ok(respond(code, body)) }).await;
        let failed = post(&server).await;
        assert_eq!(failed.code, 500);
        assert_eq!(failed.message(), format!("{CALLING}{why}"));
    }
    let foreign = r#"{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {"uid": "b"}}"#;
    judge(&server, "", || async { Ok(respond(200, foreign)) }).await;
    let failed = post(&server).await;
    let why = "received invalid webhook response: expected response.uid=";
    assert!(failed.message().starts_with(&format!("{CALLING}{why}")));
}

#[tokio::test]
async fn a_validating_webhook_must_not_mutate_the_object() {
    let server = server().await;
    install(
        &server,
        "Validating",
        "judge",
        &rule("CREATE", "widgets"),
        "",
    )
    .await;
    answer(&server, |_, _| async { patch(&json!([])) });
    let expected = format!(
        "{CALLING}received invalid webhook response: validating webhook may not return response.patch"
    );
    assert_eq!(post(&server).await.message(), expected);
}

#[tokio::test]
async fn a_request_is_rejected_with_the_name_of_its_unregistered_webhook() {
    let server = server_with_unregistered_hook().await;
    let refused = post(&server).await;
    assert_eq!(refused.code, 501);
    assert_eq!(
        refused.message(),
        "operator-testing does not implement the admission webhook judge.example.com"
    );
}

async fn server_with_unregistered_hook() -> WebhookServer {
    let server = server_in_memory().await;
    install(
        &server,
        "Validating",
        "judge",
        &rule("CREATE", "widgets"),
        "",
    )
    .await;
    server
}

#[tokio::test]
async fn a_url_matches_a_host_with_or_without_its_port() {
    for (host, is_reached) in [
        ("judge.example.com", true),
        ("judge.example.com:8443", true),
        ("judge.example.com:443", false),
    ] {
        let server = server_in_memory().await;
        let hooks = hook("judge", &rule("CREATE", "widgets"), "");
        let (start, _) = hooks.split_once("clientConfig").unwrap();
        let hooks = format!("{start} clientConfig: {{url: 'https://judge.example.com:8443/x'}}}}");
        let all = configuration("Validating", "judge", &[hooks]);
        server.install(&all).await;
        let service = tower::service_fn(|request: Request<Bytes>| async move {
            let url = "https://judge.example.com:8443/x?timeout=10s";
            assert_eq!(request.uri().to_string(), url);
            Err::<Response<Bytes>, _>("reached")
        });
        server.answer_webhooks(host, service);
        assert_eq!(
            post(&server).await.message().ends_with("reached"),
            is_reached
        );
    }
}

#[tokio::test]
async fn controllers_cannot_call_webhooks_and_report_it() {
    let server = server_in_memory().await;
    let _same = server
        .service()
        .unwrap()
        .with_workloads(operator_testing::Workloads::default());
    install(&server, "Mutating", "inject", &rule("CREATE", "pods"), "").await;
    answer(&server, |_, _| async { allow() });
    let labels = json!({"app": "a"});
    let template = json!({
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    });
    let set = json!({
        "metadata": {"name": "a"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    });
    let client = server.client();
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    let created = send(&client, "POST", sets, &set).await;
    assert_eq!(created.code, 201, "{}", created.body);
    let events = "/api/v1/namespaces/default/events";
    let listed = send(&client, "GET", events, &Value::Null).await;
    let event = &listed.body["items"][0];
    assert_eq!(event["reason"], "FailedCreate");
    let expected = "operator-testing does not implement the admission webhook inject.example.com for requests of controllers";
    let message = event["message"].as_str().unwrap();
    assert!(message.contains(expected), "{message}");
}
