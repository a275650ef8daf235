//! Requests that need an unregistered webhook or an admission policy are rejected with its name, and never admitted. Only in memory: a real
//! server would call it.

use kube::Client;
use operator_testing::Server;
use serde_json::{Value, json};

const VALIDATING: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: judge}
webhooks:
  - name: judge.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: {url: 'https://judge.example.com'}
    namespaceSelector: {matchLabels: {judged: 'yes'}}
    rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}]
";

const POLICY: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: rule}
spec:
  matchConstraints:
    resourceRules: [{operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: [secrets]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: rule}
spec: {policyName: rule}
";

const CONVERTED: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://convert.example.com'}}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
    - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
";

/// The code and the message of the answer.
async fn ask(client: &Client, method: &str, path: &str, body: Value) -> (u16, String) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(body.to_string().into_bytes())
        .unwrap();
    match client.request::<Value>(request).await {
        Ok(_) => (200, String::new()),
        Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
        Err(error) => panic!("{error}"),
    }
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

#[tokio::test]
async fn an_unregistered_webhook_is_named() {
    let server = Server::in_memory();
    server.install(VALIDATING).await.unwrap();
    let client = server.client();
    let maps = "/api/v1/namespaces/default/configmaps";
    let (code, _) = ask(&client, "POST", maps, named("a")).await;
    assert_eq!(code, 200, "the namespace is not selected");
    server
        .install(
            "{apiVersion: v1, kind: Namespace, metadata: {name: court, labels: {judged: 'yes'}}}",
        )
        .await
        .unwrap();
    let maps = "/api/v1/namespaces/court/configmaps";
    let (code, message) = ask(&client, "POST", maps, named("a")).await;
    assert_eq!(code, 501);
    assert!(message.contains("judge.example.com"), "{message}");
    let secrets = "/api/v1/namespaces/court/secrets";
    assert_eq!(ask(&client, "POST", secrets, named("a")).await.0, 200);
    assert_eq!(ask(&client, "DELETE", maps, json!({})).await.0, 200);
}

#[tokio::test]
async fn a_bound_admission_policy_is_named() {
    for policy in [POLICY, &POLICY.replace("Validating", "Mutating")] {
        let server = Server::in_memory();
        server.install(policy).await.unwrap();
        let secrets = "/api/v1/namespaces/default/secrets";
        let (code, message) = ask(&server.client(), "POST", secrets, named("a")).await;
        assert_eq!(code, 501, "{policy}");
        assert!(message.contains("policy rule"), "{message}");
    }
}

#[tokio::test]
async fn a_conversion_webhook_is_named() {
    let server = Server::in_memory();
    server.install(CONVERTED).await.unwrap();
    let client = server.client();
    let thing = |version: &str| json!({"apiVersion": format!("example.com/{version}"), "kind": "Thing", "metadata": {"name": "a"}});
    let things = |version: &str| format!("/apis/example.com/{version}/namespaces/default/things");
    let stored = ask(&client, "POST", &things("v1"), thing("v1")).await;
    assert_eq!(stored.0, 200, "{}", stored.1);
    let (code, message) = ask(&client, "POST", &things("v2"), thing("v2")).await;
    assert_eq!(code, 501);
    assert!(message.contains("things.example.com"), "{message}");
}
