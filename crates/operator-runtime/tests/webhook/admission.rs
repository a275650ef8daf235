//! Admission by an API server with real configurations, and the patches of `mutate`.

use std::sync::{Arc, Mutex};

use k8s_openapi::api::{core::v1::Pod, policy::v1::Eviction};
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use operator_runtime::{
    Controllers, Result, Settings, Setup,
    webhook::{AdmissionRequest, Operation, Validate, Verdict, Webhooks},
};
use operator_testing::Server;
use serde_json::{Value, json};

use crate::served::{Running, creation, patch, review, widget};

pub const CONFIGURATIONS: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: shop}
webhooks:
  - name: validate.widget.shop.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    timeoutSeconds: 2
    clientConfig: {service: {name: shop-webhook, namespace: default, path: /validate}}
    rules: [{operations: [CREATE, UPDATE, DELETE], apiGroups: [test.example.com], apiVersions: [v1], resources: [widgets]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: shop}
webhooks:
  - name: mutate.widget.shop.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: {service: {name: shop-webhook, namespace: default, path: /mutate}}
    rules: [{operations: [CREATE], apiGroups: [test.example.com], apiVersions: [v1], resources: [widgets]}]
  - name: mutate.pod.shop.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: {service: {name: shop-webhook, namespace: default, path: /mutate--pod}}
    rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]
";

async fn server() -> (Server, Running) {
    let server = Server::in_memory();
    server
        .install(include_str!("../support/crds.yaml"))
        .await
        .unwrap();
    server.install(CONFIGURATIONS).await.unwrap();
    let running = Running::serving(&server).await;
    (server, running)
}

pub fn widgets(client: Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("test.example.com", "v1", "Widget");
    Api::default_namespaced_with(client, &ApiResource::from_gvk(&kind))
}

pub async fn create(
    server: &Server,
    spec: Value,
) -> std::result::Result<DynamicObject, kube::core::Status> {
    let object = serde_json::from_value(widget(spec)).unwrap();
    let created = widgets(server.client())
        .create(&PostParams::default(), &object)
        .await;
    created.map_err(|error| match error {
        kube::Error::Api(status) => *status,
        error => panic!("{error}"),
    })
}

#[tokio::test]
async fn a_refusal_reaches_the_client_with_its_causes() {
    let (server, _running) = server().await;
    let status = create(&server, json!({"way": "invalid", "size": 3}))
        .await
        .unwrap_err();
    assert_eq!((status.code, &*status.reason), (422, "Invalid"));
    assert_eq!(
        status.message,
        "admission webhook \"validate.widget.shop.example.com\" denied the request: \
         Widget.test.example.com \"a\" is invalid: [spec.size: Invalid value: 4: must be odd, spec.color: Required value]"
    );
    let details = status.details.unwrap();
    assert_eq!(
        (&*details.group, &*details.kind, &*details.name),
        ("test.example.com", "Widget", "a")
    );
    let causes: Vec<_> = details
        .causes
        .iter()
        .map(|it| (&*it.reason, &*it.field, &*it.message))
        .collect();
    assert_eq!(
        causes,
        [
            (
                "FieldValueInvalid",
                "spec.size",
                "Invalid value: 4: must be odd"
            ),
            ("FieldValueRequired", "spec.color", "Required value"),
        ]
    );
    let status = create(&server, json!({"way": "deny"})).await.unwrap_err();
    assert_eq!((status.code, &*status.reason), (403, "Forbidden"));
    for (way, code) in [("fail", 500), ("panic", 500)] {
        assert_eq!(
            create(&server, json!({"way": way})).await.unwrap_err().code,
            code
        );
    }
}

#[tokio::test]
async fn warnings_reach_the_client() {
    let (server, _running) = server().await;
    let body = serde_json::to_vec(&widget(json!({"way": "warn"}))).unwrap();
    let request = http::Request::post("/apis/test.example.com/v1/namespaces/default/widgets")
        .header("content-type", "application/json");
    let request = request.body(kube::client::Body::from(body)).unwrap();
    let response = server.client().send(request).await.unwrap();
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers()["warning"], "299 - \"this is old\"");
}

#[tokio::test]
async fn a_custom_object_is_changed_and_keeps_what_its_type_does_not_have() {
    let (server, _running) = server().await;
    let created = create(&server, json!({"size": 1, "unknown": {"a": [1.5]}}))
        .await
        .unwrap();
    assert_eq!(
        created.data["spec"],
        json!({"size": 2, "unknown": {"a": [1.5]}})
    );
    let deleted = widgets(server.client())
        .delete("a", &DeleteParams::default())
        .await;
    deleted.unwrap();
}

#[tokio::test]
async fn a_pod_is_changed() {
    let (server, _running) = server().await;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
        "spec": {"containers": [
            {"name": "a", "image": "a"},
            {"name": "b", "image": "b", "ports": [{"containerPort": 80}]},
        ]},
    });
    let pod: Pod = serde_json::from_value(pod).unwrap();
    let pods: Api<Pod> = Api::default_namespaced(server.client());
    let created = pods.create(&PostParams::default(), &pod).await.unwrap();
    let containers = created.spec.unwrap().containers;
    assert_eq!(containers.len(), 1);
    assert_eq!(
        (
            &*containers[0].name,
            containers[0].ports.as_ref().unwrap().len()
        ),
        ("b", 1)
    );
}

#[tokio::test]
async fn the_first_container_is_removed_alone() {
    let running = Running::serving(&Server::in_memory()).await;
    let container = |name: &str| json!({"name": name, "image": "a", "unknown": {"of": name}, "imagePullPolicy": "Sometimes"});
    let mut review = review(
        "CREATE",
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "creationTimestamp": null},
            "spec": {"unknown": 1, "containers": [container("a"), container("b"), container("c")]},
        }),
        Value::Null,
    );
    review["request"]["kind"] = json!({"group": "", "version": "v1", "kind": "Pod"});
    let response = running.review("/mutate--pod", &review).await;
    assert_eq!(response["allowed"], true);
    assert_eq!(
        patch(&response),
        json!([{"op": "remove", "path": "/spec/containers/0"}])
    );
}

#[tokio::test]
async fn a_patch_has_only_what_changed_and_is_absent_without_a_change() {
    let running = Running::serving(&Server::in_memory()).await;
    let changed = running
        .review("/mutate", &creation(json!({"size": 1, "way": "x"})))
        .await;
    assert_eq!(
        patch(&changed),
        json!([{"op": "replace", "path": "/spec/size", "value": 2}])
    );
    let added = running
        .review("/mutate", &creation(json!({"way": "x"})))
        .await;
    assert_eq!(
        patch(&added),
        json!([{"op": "add", "path": "/spec/size", "value": 1}])
    );
    let same = running
        .review("/mutate", &creation(json!({"way": "keep"})))
        .await;
    assert_eq!(same, json!({"uid": same["uid"], "allowed": true}));
    let denied = running
        .review("/mutate", &creation(json!({"way": "deny"})))
        .await;
    assert_eq!(
        (&denied["allowed"], denied.get("patch")),
        (&json!(false), None)
    );
}

#[tokio::test]
async fn on_a_deletion_the_old_object_is_decided_on_and_not_changed() {
    let running = Running::serving(&Server::in_memory()).await;
    let deletion = |way: &str| review("DELETE", Value::Null, widget(json!({"way": way})));
    let allowed = running.review("/validate", &deletion("ok")).await;
    assert_eq!(allowed["allowed"], true);
    let denied = running.review("/validate", &deletion("deny")).await;
    assert_eq!(denied["status"]["code"], 403);
    let kept = running.review("/mutate", &deletion("keep")).await;
    assert_eq!(kept["allowed"], true);
    let changed = running.review("/mutate", &deletion("x")).await;
    assert_eq!(
        (&changed["allowed"], &changed["status"]["message"]),
        (
            &json!(false),
            &json!("an object that is being deleted cannot be changed")
        )
    );
}

#[tokio::test]
async fn updates_of_an_object_that_is_being_deleted_are_allowed() {
    let running = Running::serving(&Server::in_memory()).await;
    let deny = || widget(json!({"way": "deny"}));
    let mut old = deny();
    let mut answers = vec![];
    for time in [Value::Null, "2026-01-01T00:00:00Z".into()] {
        old["metadata"]["deletionTimestamp"] = time;
        for path in ["/validate", "/mutate"] {
            for operation in ["UPDATE", "DELETE"] {
                let review = review(operation, deny(), old.clone());
                answers.push(running.review(path, &review).await["allowed"].clone());
            }
        }
    }
    let denied = [false; 4];
    let only_updates = [true, false, true, false];
    assert_eq!(json!(answers), json!([denied, only_updates].concat()));
}

/// Allows evictions, and keeps the requests.
#[derive(Clone, Default)]
struct Evictions(Arc<Mutex<Vec<AdmissionRequest<Eviction>>>>);

impl Validate for Evictions {
    type Resource = Eviction;

    async fn validate(&self, request: &AdmissionRequest<Eviction>) -> Result<Verdict> {
        self.0.lock().unwrap().push(request.clone());
        Ok(Verdict::allow())
    }
}

#[tokio::test]
async fn a_webhook_gets_the_request_as_it_was_made() {
    let evictions = Evictions::default();
    let webhook = evictions.clone();
    let setup = async move |_: Setup| Ok(webhook);
    let webhooks = Webhooks::new().add(setup, |it| it.validates("/validate"));
    let controllers = Controllers::new().webhooks(webhooks);
    let server = Server::in_memory();
    let running = Running::start(server.client(), Settings::for_tests(), controllers);
    running.until_served().await;
    let mut review = review(
        "CREATE",
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}, "deleteOptions": {"gracePeriodSeconds": 3}}),
        Value::Null,
    );
    let request = &mut review["request"];
    request["kind"] = json!({"group": "policy", "version": "v1", "kind": "Eviction"});
    request["resource"] = json!({"group": "", "version": "v1", "resource": "pods"});
    request["subResource"] = "eviction".into();
    request["dryRun"] = true.into();
    request["options"] = json!({"kind": "CreateOptions"});
    request["userInfo"]["extra"] = json!({"scopes": ["x"]});
    assert_eq!(running.review("/validate", &review).await["allowed"], true);
    let request = evictions.0.lock().unwrap().pop().unwrap();
    assert_eq!(request.uid, review["request"]["uid"]);
    assert_eq!(
        (request.operation, request.dry_run),
        (Operation::Create, true)
    );
    assert_eq!(
        (&*request.name, request.namespace.as_deref()),
        ("a", Some("default"))
    );
    assert_eq!(request.sub_resource.as_deref(), Some("eviction"));
    assert_eq!(
        (&*request.kind.kind, &*request.resource.resource),
        ("Eviction", "pods")
    );
    assert_eq!(request.options, json!({"kind": "CreateOptions"}));
    let user = serde_json::to_value(&request.user).unwrap();
    assert_eq!(user, review["request"]["userInfo"]);
    assert_eq!(
        request
            .object
            .unwrap()
            .delete_options
            .unwrap()
            .grace_period_seconds,
        Some(3)
    );
    assert!(request.old_object.is_none());
}
