//! Webhooks of the tests, an operator that serves them, and requests to it.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, CustomResource};
use operator_runtime::{
    Controllers, Fatal, Operator, Result, Settings, Setup, ShutdownHandle,
    webhook::{AdmissionRequest, Convert, Mutate, Validate, Verdict, WebhookService, Webhooks},
};
use operator_testing::Server;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tower::ServiceExt;

pub const HOST: &str = "shop-webhook.default.svc";

#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize)]
#[kube(
    group = "test.example.com",
    version = "v1",
    kind = "Widget",
    namespaced,
    schema = "disabled"
)]
pub struct WidgetSpec {
    /// What the webhook does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<String>,
    #[serde(default)]
    pub size: i32,
}

/// Decides as the object says.
pub struct Widgets;

impl Validate for Widgets {
    type Resource = Widget;

    async fn validate(&self, request: &AdmissionRequest<Widget>) -> Result<Verdict> {
        let Some(widget) = request.object.as_ref().or(request.old_object.as_ref()) else {
            return Ok(Verdict::deny("no object"));
        };
        let verdict = Verdict::allow();
        Ok(match widget.spec.way.as_deref() {
            Some("deny") => Verdict::deny("not today"),
            Some("invalid") => verdict
                .invalid("spec.size", widget.spec.size, "must be odd")
                .required("spec.color", "")
                .warn("this is old"),
            Some("warn") => verdict.warn("this is old"),
            Some("fail") => return Err(anyhow::anyhow!("no luck").into()),
            Some("panic") => panic!("no luck at all"),
            Some("hang") => std::future::pending().await,
            Some("slow") => {
                tokio::time::sleep(Duration::from_millis(500)).await;
                verdict
            }
            _ => verdict,
        })
    }
}

impl Mutate for Widgets {
    type Resource = Widget;

    async fn mutate(
        &self,
        widget: &mut Widget,
        request: &AdmissionRequest<Widget>,
    ) -> Result<Verdict> {
        assert!(request.object.is_none());
        match widget.spec.way.as_deref() {
            Some("deny") => {
                widget.spec.size = 9;
                return Ok(Verdict::deny("not today"));
            }
            Some("keep") => {}
            _ => widget.spec.size += 1,
        }
        Ok(Verdict::allow())
    }
}

/// Removes the first container of a pod.
pub struct Pods;

impl Mutate for Pods {
    type Resource = Pod;

    async fn mutate(&self, pod: &mut Pod, _: &AdmissionRequest<Pod>) -> Result<Verdict> {
        let containers = pod.spec.as_mut().map(|spec| &mut spec.containers);
        if let Some(containers) = containers.filter(|it| it.len() > 1) {
            containers.remove(0);
        }
        Ok(Verdict::allow())
    }
}

/// Converts by renaming `spec.size` to `spec.count`.
pub struct Sizes;

impl Convert for Sizes {
    fn crd(&self) -> &'static str {
        "widgets.test.example.com"
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        let fields = match api_version {
            "test.example.com/v1" => ("count", "size"),
            "test.example.com/v2" => ("size", "count"),
            other => return Err(format!("{other} is not served")),
        };
        let mut object = object.clone();
        let spec = object["spec"].as_object_mut().ok_or("spec is no object")?;
        assert!(!spec.contains_key("panic"), "no luck at all");
        if let Some(size) = spec.remove(fields.0) {
            spec.insert(fields.1.into(), size);
        }
        object["apiVersion"] = api_version.into();
        Ok(object)
    }
}

pub fn webhooks() -> Webhooks {
    let widgets = async |_: Setup| Ok(Widgets);
    let pods = async |_: Setup| Ok(Pods);
    Webhooks::new()
        .add(widgets, |it| it.validates("/validate").mutates("/mutate"))
        .add(pods, |it| it.mutates("/mutate--pod"))
        .convert(Sizes)
}

/// An operator in a task of its own.
pub struct Running {
    pub service: WebhookService,
    pub handle: ShutdownHandle,
    pub task: JoinHandle<anyhow::Result<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Running {
    pub fn start(client: Client, settings: Settings, controllers: Controllers) -> Self {
        let operator = Operator::new("shop", settings, client).register(controllers);
        let (service, handle) = (operator.webhook_service(), operator.shutdown_handle());
        let task = tokio::spawn(operator.run());
        Self {
            service,
            handle,
            task,
        }
    }

    /// An operator with the webhooks of this module and without controllers, once it serves.
    pub async fn serving(server: &Server) -> Self {
        let controllers = Controllers::new().webhooks(webhooks());
        let running = Self::start(server.client(), Settings::for_tests(), controllers);
        running.until_served().await;
        server.answer_webhooks(HOST, running.service.clone());
        running
    }

    /// Waits until the webhooks are set up.
    pub async fn until_served(&self) {
        while !matches!(self.post("/validate", "").await, Ok((400, _))) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub async fn stop(mut self) -> Result<(), Fatal> {
        self.handle.shutdown();
        let ended = (&mut self.task).await.unwrap();
        ended.map_err(|error| error.downcast().unwrap())
    }

    pub async fn post(&self, uri: &str, body: impl ToString) -> Result<(u16, String), String> {
        post(&self.service, uri, body.to_string()).await
    }

    /// The response of an answered review.
    pub async fn review(&self, uri: &str, review: &Value) -> Value {
        let (code, body) = self.post(uri, review).await.unwrap();
        assert_eq!(code, 200, "{body}");
        let mut answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(answer["apiVersion"], review["apiVersion"]);
        assert_eq!(answer["kind"], review["kind"]);
        assert_eq!(answer["response"]["uid"], review["request"]["uid"]);
        answer["response"].take()
    }
}

pub async fn post(
    service: &WebhookService,
    uri: &str,
    body: String,
) -> Result<(u16, String), String> {
    let request = Request::post(uri).header("content-type", "application/json");
    let request = request.body(Bytes::from(body)).unwrap();
    let response = service.clone().oneshot(request).await;
    response.map(read).map_err(|error| error.to_string())
}

pub fn read(response: Response<Bytes>) -> (u16, String) {
    let body = String::from_utf8(response.body().to_vec()).unwrap();
    (response.status().as_u16(), body)
}

pub fn widget(spec: Value) -> Value {
    json!({
        "apiVersion": "test.example.com/v1", "kind": "Widget",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": spec,
    })
}

/// A review of a request for a widget.
pub fn review(operation: &str, object: Value, old: Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "test.example.com", "version": "v1", "kind": "Widget"},
            "resource": {"group": "test.example.com", "version": "v1", "resource": "widgets"},
            "name": "a", "namespace": "default", "operation": operation,
            "userInfo": {"username": "ann", "groups": ["system:authenticated"]},
            "object": object, "oldObject": old, "dryRun": false, "options": null,
        },
    })
}

pub fn creation(spec: Value) -> Value {
    review("CREATE", widget(spec), Value::Null)
}

/// The operations of the patch in a response.
pub fn patch(response: &Value) -> Value {
    use base64::{Engine, engine::general_purpose::STANDARD};
    assert_eq!(response["patchType"], "JSONPatch", "{response}");
    let patch = STANDARD
        .decode(response["patch"].as_str().unwrap())
        .unwrap();
    serde_json::from_slice(&patch).unwrap()
}
