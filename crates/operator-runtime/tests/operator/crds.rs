//! The leader applies the CRDs of the operator at its start, and never an older one over a newer one.

use crate::support::*;

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::coordination::v1::Lease,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd,
};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use operator_runtime::{Controllers, Fatal, Settings};
use operator_testing::Server;
use serde_json::{Value, json};
use tokio::time::timeout;

pub const NAME: &str = "widgets.test.example.com";

/// The CRD of the Widgets, with these further fields of the root.
pub fn crd(fields: &[&str]) -> Value {
    let mut properties = json!({
        "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
    });
    for field in fields {
        properties[field] = json!({ "type": "string" });
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": NAME },
        "spec": {
            "group": "test.example.com", "scope": "Namespaced",
            "names": { "kind": "Widget", "plural": "widgets", "singular": "widget" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": properties } },
            }],
        },
    })
}

pub fn controllers(version: &str, crd: &Value) -> Controllers {
    let crds = json!([crd]).to_string();
    widgets::<false>(&Arc::new(Calls::default())).ensure_crds(version, &crds)
}

async fn start(server: &Server, version: &str, crd: &Value) -> Running {
    let controllers = controllers(version, crd);
    Running::start(server.client(), Settings::for_tests(), controllers).await
}

/// Runs the operator until it is ready, and stops it.
pub async fn run(server: &Server, version: &str, crd: &Value) {
    let running = start(server, version, crd).await;
    until_ready(server, &running).await;
    running.stop().await.unwrap();
}

async fn until_ready(server: &Server, running: &Running) {
    server
        .eventually("it works", async || {
            (running.page("/readyz").await.0 == 200).then_some(())
        })
        .await;
}

pub async fn install(server: &Server, crd: &Value) {
    server.install(&crd.to_string()).await.unwrap();
}

pub async fn installed(server: &Server) -> Value {
    let api: Api<Crd> = Api::all(server.client());
    serde_json::to_value(api.get(NAME).await.unwrap()).unwrap()
}

/// The names of the installed CRD's fields, without those that [`crd`] always adds.
pub async fn fields(server: &Server) -> Vec<String> {
    let crd = installed(server).await;
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let names = schema["properties"].as_object().unwrap().keys().cloned();
    names
        .filter(|name| !["spec", "status"].contains(&name.as_str()))
        .collect()
}

/// The verbs of the requests about CRDs.
fn verbs(server: &Server) -> Vec<&'static str> {
    let requests = server.requests();
    requests
        .iter()
        .filter(|request| request.resource == "customresourcedefinitions")
        .map(|request| request.verb)
        .collect()
}

/// The error with which the operator ends.
async fn error_of(running: &mut Running) -> Fatal {
    let ended = timeout(Duration::from_secs(30), running.ended()).await;
    ended.expect("it ends").unwrap_err()
}

#[tokio::test]
async fn an_absent_crd_is_created_and_an_equal_one_is_not_written() {
    let server = Server::start().await.unwrap();
    let own = crd(&["a"]);
    let running = start(&server, "0.1.0", &own).await;
    until_ready(&server, &running).await;
    create(&server, "a", "ok").await;
    ready(&server, "a").await;
    running.stop().await.unwrap();
    let created = installed(&server).await;
    let annotation = &created["metadata"]["annotations"]["widget-operator/crd-version"];
    assert_eq!(annotation, "0.1.0");

    let before = server.requests().len();
    for version in ["0.1.0", "0.2.0"] {
        run(&server, version, &own).await;
    }
    let requests = server.requests();
    let writes: Vec<_> = requests
        .iter()
        .skip(before)
        .filter(|request| request.resource == "customresourcedefinitions" && request.is_write())
        .collect();
    assert!(writes.is_empty(), "{writes:?}");
}

#[tokio::test]
async fn an_older_crd_is_updated_and_a_newer_one_is_left() {
    let server = Server::start().await.unwrap();
    install(&server, &crd(&["a"])).await;
    run(&server, "0.1.0", &crd(&["a", "b"])).await;
    assert_eq!(fields(&server).await, ["a", "b"]);
    // A rollback to an operator whose version is not known does not remove the field.
    run(&server, "unknown", &crd(&["a"])).await;
    assert_eq!(fields(&server).await, ["a", "b"]);
    // A later version removes a field on purpose; the earlier one does not bring it back.
    run(&server, "0.2.0", &crd(&["a"])).await;
    assert_eq!(fields(&server).await, ["a"]);
    run(&server, "0.1.0", &crd(&["a", "b"])).await;
    assert_eq!(fields(&server).await, ["a"]);
}

#[tokio::test]
async fn a_crd_that_another_has_extended_is_left() {
    let server = Server::start().await.unwrap();
    run(&server, "0.1.0", &crd(&["a"])).await;
    let api: Api<Crd> = Api::all(server.client());
    let extended = json!({ "spec": { "versions": crd(&["a", "b"])["spec"]["versions"] } });
    let parameters = PatchParams::default();
    api.patch(NAME, &parameters, &Patch::Merge(extended))
        .await
        .unwrap();
    run(&server, "0.2.0", &crd(&["a"])).await;
    assert_eq!(fields(&server).await, ["a", "b"]);
}

/// A CRD with a conversion webhook that has this `clientConfig`.
pub fn converted(fields: &[&str], config: &Value) -> Value {
    let mut crd = crd(fields);
    crd["spec"]["conversion"] = json!({
        "strategy": "Webhook",
        "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": config },
    });
    crd
}

#[tokio::test]
async fn an_updated_crd_keeps_the_url_at_which_it_is_converted() {
    let server = Server::start().await.unwrap();
    let url = json!({ "url": "https://127.0.0.1:1/convert" });
    install(&server, &converted(&["a"], &url)).await;
    let service = json!({ "service": {
        "name": "widget-operator-webhook", "namespace": "widget-operator", "path": "/convert", "port": 443,
    } });
    run(&server, "0.1.0", &converted(&["a", "b"], &service)).await;
    assert_eq!(fields(&server).await, ["a", "b"]);
    let config = |crd: Value| crd["spec"]["conversion"]["webhook"]["clientConfig"].clone();
    assert_eq!(config(installed(&server).await), url);
    let before = installed(&server).await;
    run(&server, "0.1.0", &converted(&["a", "b"], &service)).await;
    assert_eq!(installed(&server).await, before, "it is not written again");
}

#[tokio::test]
async fn a_version_of_stored_objects_is_not_removed() {
    let server = Server::start().await.unwrap();
    run(&server, "0.1.0", &crd(&[])).await;
    let mut next = crd(&[]);
    next["spec"]["versions"][0]["name"] = "v2".into();
    let mut running = start(&server, "0.2.0", &next).await;
    let ended = error_of(&mut running).await;
    assert!(
        matches!(&ended, Fatal::StoredVersion { name, version } if name == NAME && version == "v1"),
        "{ended}"
    );
    let crd = installed(&server).await;
    assert_eq!(crd["spec"]["versions"][0]["name"], "v1");
}

#[tokio::test]
async fn names_that_another_crd_uses_are_an_error() {
    let server = Server::start().await.unwrap();
    let mut other = crd(&[]);
    other["metadata"]["name"] = "gadgets.test.example.com".into();
    other["spec"]["names"]["plural"] = "gadgets".into();
    other["spec"]["names"]["singular"] = "gadget".into();
    install(&server, &other).await;
    let mut running = start(&server, "0.1.0", &crd(&[])).await;
    let ended = error_of(&mut running).await;
    assert!(
        matches!(&ended, Fatal::CrdNames { name, .. } if name == NAME),
        "{ended}"
    );
    let message = ended.to_string();
    assert!(
        message.contains("\"WidgetList\" is already in use"),
        "{message}"
    );
}

#[tokio::test]
async fn a_standby_touches_no_crd() {
    let server = Server::start().await.unwrap();
    let leases: Api<Lease> = Api::default_namespaced(server.client());
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": OPERATOR },
        "spec": { "holderIdentity": "another", "leaseDurationSeconds": 3600 },
    });
    let lease = serde_json::from_value(lease).unwrap();
    leases.create(&PostParams::default(), &lease).await.unwrap();
    let mut settings = Settings::for_tests();
    settings.leader_election = true;
    let controllers = controllers("0.1.0", &crd(&[]));
    let running = Running::start(server.client(), settings, controllers).await;
    until_ready(&server, &running).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(verbs(&server).is_empty(), "{:?}", verbs(&server));
    let free = json!({ "spec": { "holderIdentity": null } });
    let parameters = PatchParams::default();
    leases
        .patch(OPERATOR, &parameters, &Patch::Merge(free))
        .await
        .unwrap();
    server
        .eventually("the new leader creates the CRD", async || {
            let api: Api<Crd> = Api::all(server.client());
            api.get_opt(NAME).await.unwrap()
        })
        .await;
}

#[tokio::test]
async fn without_permissions_it_waits_for_them() {
    let server = Server::start().await.unwrap();
    let user = "system:serviceaccount:default:widget-operator";
    let running = Running::start(
        server.client_as(user),
        Settings::for_tests(),
        controllers("0.1.0", &crd(&[])),
    )
    .await;
    server
        .eventually("it asks again", async || {
            (verbs(&server).len() >= 2).then_some(())
        })
        .await;
    assert_eq!(
        running.page("/readyz").await,
        (503, "waiting for the CRDs".into())
    );
    let rule = json!([
        { "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["create"] },
        { "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "resourceNames": [NAME], "verbs": ["get", "patch"] },
    ]);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "crds" }, "rules": rule,
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "crds" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "crds" },
        "subjects": [{ "kind": "ServiceAccount", "name": "widget-operator", "namespace": "default" }],
    });
    for object in [role, binding] {
        install(&server, &object).await;
    }
    server
        .eventually("the CRD is created", async || {
            let api: Api<Crd> = Api::all(server.client());
            api.get_opt(NAME).await.unwrap()
        })
        .await;
}
