//! Webhooks that the server in memory reaches over TLS, at an address of this machine.

use std::net::TcpListener;

use operator_testing::Server;
use rcgen::{BasicConstraints, CertificateParams, IsCa};
use serde_json::json;

use super::endpoint::signed_by_unknown;
use super::listener::{params, self_signed};
use super::*;

async fn post(server: &WebhookServer) -> Answer {
    send(&server.client(), "POST", WIDGETS_PATH, &widget(json!({}))).await
}

#[tokio::test]
async fn a_webhook_at_an_address_changes_an_object() {
    let server = WebhookServer::over_tls().await;
    server.install(WIDGETS).await;
    let rules = rule("CREATE", "widgets");
    install(&server, "Mutating", "paint", &rules, "").await;
    let paint = json!([{"op": "add", "path": "/spec/color", "value": "blue"}]);
    let asked = answer(&server, move |_, _| {
        let paint = paint.clone();
        async move { patch(&paint) }
    });
    let created = post(&server).await;
    assert_eq!(
        created.body["spec"]["color"],
        "blue",
        "{}",
        created.message()
    );
    assert_eq!(asked.paths(), ["/paint"]);
}

#[tokio::test]
async fn the_certificate_must_be_one_of_the_bundle() {
    let server = WebhookServer::over_tls().await;
    server.install(WIDGETS).await;
    let other = WebhookServer::over_tls().await;
    let rules = rule("CREATE", "widgets");
    let hook = hook("judge", &rules, "");
    let trusting = server.addressed(&configuration("Validating", "judge", &[hook]));
    let bundle = trusting["webhooks"][0]["clientConfig"]["caBundle"].clone();
    let mut distrusting = other.addressed(&trusting.to_string());
    distrusting["webhooks"][0]["clientConfig"]["caBundle"] = bundle;
    Server::install(&server, &distrusting.to_string())
        .await
        .unwrap();
    answer(&other, |_, _| async { allow() });
    let failed = post(&server).await;
    assert_eq!(failed.code, 500);
    assert!(
        failed.message().contains("certificate"),
        "{}",
        failed.message()
    );
}

#[tokio::test]
async fn the_bundle_may_be_the_certificate_itself() {
    let mut ca = params();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let mut expired = params();
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let foreign = CertificateParams::new(vec!["10.0.0.1".to_owned()]).unwrap();
    for (certified, refusal) in [
        (signed_by_unknown(params()), None),
        (self_signed(ca), None),
        (signed_by_unknown(expired), Some("expired")),
        (signed_by_unknown(foreign), Some("valid for")),
    ] {
        let server = WebhookServer::presenting(certified).await;
        server.install(WIDGETS).await;
        let asked = answer(&server, |_, _| async { allow() });
        install(
            &server,
            "Validating",
            "judge",
            &rule("CREATE", "widgets"),
            "",
        )
        .await;
        let answer = post(&server).await;
        match refusal {
            None => assert_eq!(
                (answer.code, asked.paths().len()),
                (201, 1),
                "{}",
                answer.message()
            ),
            Some(words) => assert!(
                answer.message().contains(words),
                "{words}: {}",
                answer.message()
            ),
        }
    }
}

/// A configuration that names a Service, with the certificate of the listener.
fn of_service(server: &WebhookServer, path: &str, name: &str) -> Value {
    let text = configuration(
        "Validating",
        path,
        &[hook(path, &rule("CREATE", "widgets"), "")],
    );
    let mut object = server.addressed(&text);
    let config = &mut object["webhooks"][0]["clientConfig"];
    let bundle = config["caBundle"].clone();
    let service = json!({"name": name, "namespace": "default", "path": format!("/{path}")});
    *config = json!({"service": service, "caBundle": bundle});
    object
}

#[tokio::test]
async fn a_service_is_called_at_its_address_by_its_name() {
    let server = WebhookServer::over_tls().await;
    server.install(WIDGETS).await;
    for name in ["hooks", "others"] {
        let host = format!("{name}.default.svc");
        let memory = server.service().unwrap();
        memory.call_webhooks_at(&host, server.address());
    }
    let asked = answer(&server, |_, _| async { allow() });
    let judge = of_service(&server, "judge", "hooks").to_string();
    Server::install(&server, &judge).await.unwrap();
    assert_eq!(post(&server).await.code, 201);
    assert_eq!(asked.paths(), ["/judge"]);

    // the certificate is not for this host name
    let other = of_service(&server, "other", "others").to_string();
    Server::install(&server, &other).await.unwrap();
    let failed = post(&server).await;
    assert_eq!(failed.code, 500);
    let message = failed.message();
    assert!(
        message.contains("https://others.default.svc:443/other"),
        "{message}"
    );
    assert!(message.contains("certificate"), "{message}");
}

#[tokio::test]
async fn a_request_fails_if_nobody_listens_at_the_address() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let server = server_in_memory().await;
    let rules = rule("CREATE", "widgets");
    let configuration = format!(
        "{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {{name: judge}},
           webhooks: [{{name: judge.example.com, admissionReviewVersions: [v1], sideEffects: None, rules: [{rules}],
             clientConfig: {{url: 'https://{free}/judge'}}}}]}}"
    );
    server.install(&configuration).await;
    let failed = post(&server).await;
    assert_eq!(failed.code, 500);
    let expected = format!("failed to call webhook: Post \"https://{free}/judge?timeout=10s\": ");
    assert!(failed.message().contains(&expected), "{}", failed.message());
    assert!(failed.message().contains("refused"), "{}", failed.message());
}
