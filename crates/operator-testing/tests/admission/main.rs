//! Admission webhooks that a test answers for. As elsewhere, `OPERATOR_TEST_SERVER=assets` runs the same tests on a real server, which
//! reaches the webhooks over TLS; tests of what only the server in memory has always run in memory.

mod address;
mod condition;
mod conversion;
mod deletion;
mod endpoint;
mod failure;
mod listener;
mod mutation;
mod race;
mod validation;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use kube::Client;
use serde_json::{Value, json};

use self::endpoint::WebhookServer;

const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties: {size: {type: integer, maximum: 10}, color: {type: string}, taste: {type: string, default: sweet}}
            status: {type: object, properties: {ready: {type: boolean}}}
";

const WIDGETS_PATH: &str = "/apis/example.com/v1/namespaces/default/widgets";
const WIDGET_PATH: &str = "/apis/example.com/v1/namespaces/default/widgets/a";

/// The answer to a request of a client.
struct Answer {
    code: u16,
    body: Value,
    warnings: Vec<String>,
}

impl Answer {
    fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Answer {
    let media = match (method, body) {
        ("PATCH", Value::Array(_)) => "application/json-patch+json",
        ("PATCH", _) if path.contains("fieldManager=applier") => "application/apply-patch+yaml",
        ("PATCH", _) => "application/merge-patch+json",
        _ => "application/json",
    };
    let body = match body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media)
        .header("user-agent", "tester/1")
        .body(kube::client::Body::from(body))
        .unwrap();
    let response = client.send(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect_bytes().await.unwrap();
    let warnings = parts.headers.get_all("warning").iter();
    let warnings = warnings.map(|it| it.to_str().unwrap().to_owned());
    Answer {
        code: parts.status.as_u16(),
        body: serde_json::from_slice(&body).unwrap(),
        warnings: warnings.collect(),
    }
}

fn widget(spec: Value) -> Value {
    json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a"},
        "spec": spec,
    })
}

/// The calls of webhooks: the path of each, and the `request` of its review.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<(String, Value)>>>);

impl Asked {
    fn all(&self) -> Vec<(String, Value)> {
        self.0.lock().unwrap().clone()
    }

    fn paths(&self) -> Vec<String> {
        self.all().into_iter().map(|(path, _)| path).collect()
    }

    fn request(&self, number: usize) -> Value {
        self.all()[number].1.clone()
    }
}

/// Answers the webhooks of `hooks.default.svc` with `respond`, which gets the path of the webhook and the `request` of its review.
fn answer<F>(
    server: &WebhookServer,
    respond: impl Fn(String, Value) -> F + Clone + Send + Sync + 'static,
) -> Asked
where
    F: Future<Output = Value> + Send + 'static,
{
    let asked = Asked::default();
    let log = asked.clone();
    let service = tower::service_fn(move |request: Request<Bytes>| {
        let path = request.uri().path().to_owned();
        let review: Value = serde_json::from_slice(request.body()).unwrap();
        assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
        assert_eq!(review["kind"], "AdmissionReview");
        let review_request = review["request"].clone();
        log.0
            .lock()
            .unwrap()
            .push((path.clone(), review_request.clone()));
        let uid = review_request["uid"].clone();
        let response = respond(path, review_request);
        async move {
            let mut response = response.await;
            response["uid"] = uid;
            let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
            Ok::<_, std::io::Error>(Response::new(Bytes::from(answer.to_string())))
        }
    });
    server.serve(service);
    asked
}

fn allow() -> Value {
    json!({"allowed": true})
}

fn patch(operations: &Value) -> Value {
    use base64::Engine;
    let encoded = base64::engine::general_purpose::STANDARD.encode(operations.to_string());
    json!({"allowed": true, "patchType": "JSONPatch", "patch": encoded})
}

/// A webhook `NAME.example.com` for `/NAME`, with more fields.
fn hook(name: &str, rules: &str, more: &str) -> String {
    format!(
        "{{name: {name}.example.com, admissionReviewVersions: [v1], sideEffects: None, rules: [{rules}], {more}
           clientConfig: {{service: {{name: hooks, namespace: default, path: /{name}}}}}}}"
    )
}

fn rule(operations: &str, resources: &str) -> String {
    format!(
        "{{operations: [{operations}], apiGroups: ['*'], apiVersions: ['*'], resources: ['{resources}']}}"
    )
}

fn configuration(kind: &str, name: &str, hooks: &[String]) -> String {
    format!(
        "{{apiVersion: admissionregistration.k8s.io/v1, kind: {kind}WebhookConfiguration, metadata: {{name: {name}}}, webhooks: [{}]}}",
        hooks.join(",")
    )
}

/// A server in memory with widgets.
async fn server_in_memory() -> WebhookServer {
    let server = WebhookServer::in_memory();
    server.install(WIDGETS).await;
    server
}

/// A server with widgets.
async fn server() -> WebhookServer {
    let server = WebhookServer::start().await;
    server.install(WIDGETS).await;
    server
}

/// Installs one webhook, which mutates or validates.
async fn install(server: &WebhookServer, kind: &str, name: &str, rules: &str, more: &str) {
    let configuration = configuration(kind, name, &[hook(name, rules, more)]);
    server.install(&configuration).await;
}
