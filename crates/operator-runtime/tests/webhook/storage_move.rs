//! A release moves the storage version of a kind while clients write objects in both versions: first the CRD changes, then the
//! configurations of webhooks, and then the operator, whose webhooks now have the types of the other version. No write is refused, not even
//! when the configurations of the former release come back. In memory and on a real API server.

use std::time::Duration;

use kube::{
    Api, Client, CustomResource,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use operator_runtime::{
    Result, Setup,
    webhook::{AdmissionRequest, Mutate, Validate, Verdict, Webhooks},
};
use operator_testing::Server;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    sync::oneshot,
    task::{JoinHandle, JoinSet},
    time::{MissedTickBehavior, interval, sleep},
};

use crate::{
    renewal::{Endpoints, Replica, service},
    served::{Sizes, webhooks},
};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "test.example.com",
    version = "v2",
    kind = "Widget",
    namespaced,
    schema = "disabled"
)]
struct WidgetSpec {
    count: i32,
}

/// The webhooks of the next release. Those of the former one are in [`webhooks`]; both add one in each write.
struct Counts;

impl Validate for Counts {
    type Resource = Widget;

    async fn validate(&self, _: &AdmissionRequest<Widget>) -> Result<Verdict> {
        Ok(Verdict::allow())
    }
}

impl Mutate for Counts {
    type Resource = Widget;

    async fn mutate(&self, widget: &mut Widget, _: &AdmissionRequest<Widget>) -> Result<Verdict> {
        widget.spec.count += 1;
        Ok(Verdict::allow())
    }
}

/// The CRD with this storage version.
fn crd(storage: &str, url: &str) -> String {
    let version = |name: &str| {
        let spec = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        json!({
            "name": name, "served": true, "storage": name == storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        })
    };
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.test.example.com"},
        "spec": {
            "group": "test.example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
            "versions": [version("v1"), version("v2")],
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"], "clientConfig": {"url": format!("{url}/convert")},
            }},
        },
    });
    crd.to_string()
}

/// The configurations of webhooks that get the objects in this version.
fn configurations(version: &str, url: &str) -> String {
    let configuration = |kind: &str, name: &str| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "shop"},
            "webhooks": [{
                "name": format!("{name}.widget.shop.example.com"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"url": format!("{url}/{name}")},
                "rules": [{
                    "operations": ["CREATE", "UPDATE"], "apiGroups": ["test.example.com"], "apiVersions": [version],
                    "resources": ["widgets"],
                }],
            }],
        })
    };
    let validating = configuration("ValidatingWebhookConfiguration", "validate");
    let mutating = configuration("MutatingWebhookConfiguration", "mutate");
    format!("{validating}\n---\n{mutating}")
}

fn widgets(client: &Client, version: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("test.example.com", version, "Widget");
    Api::default_namespaced_with(client.clone(), &ApiResource::from_gvk(&kind))
}

/// Creates an object in one version, changes it in the other one, and deletes it.
async fn write(client: Client, number: usize) -> anyhow::Result<()> {
    let mut versions = [("v1", "size"), ("v2", "count")];
    versions.rotate_left(number % 2);
    let [(first, field), (second, other)] = versions;
    let name = format!("widget-{number}");
    let object = json!({
        "apiVersion": format!("test.example.com/{first}"), "kind": "Widget", "metadata": {"name": name}, "spec": {field: 1},
    });
    let object = serde_json::from_value(object)?;
    let created = widgets(&client, first)
        .create(&PostParams::default(), &object)
        .await?;
    check(&created, json!({field: 2}))?;
    let labelled = Patch::Merge(json!({"metadata": {"labels": {"changed": "true"}}}));
    let changed = widgets(&client, second)
        .patch(&name, &PatchParams::default(), &labelled)
        .await?;
    check(&changed, json!({other: 3}))?;
    widgets(&client, first)
        .delete(&name, &DeleteParams::default())
        .await?;
    Ok(())
}

fn check(object: &DynamicObject, spec: Value) -> anyhow::Result<()> {
    anyhow::ensure!(
        object.data["spec"] == spec,
        "expected {spec}, got {}",
        object.data
    );
    Ok(())
}

/// Clients that write until they are stopped. Returns how many, and what failed.
fn load(client: Client, mut stopped: oneshot::Receiver<()>) -> JoinHandle<(usize, Vec<String>)> {
    tokio::spawn(async move {
        let mut ticks = interval(Duration::from_millis(40));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut writes = JoinSet::new();
        loop {
            tokio::select! {
                _ = &mut stopped => break,
                _ = ticks.tick() => drop(writes.spawn(write(client.clone(), writes.len()))),
            }
        }
        let count = writes.len();
        let failures = writes
            .join_all()
            .await
            .into_iter()
            .filter_map(anyhow::Result::err);
        (count, failures.map(|error| format!("{error:#}")).collect())
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_is_refused_while_the_storage_version_moves() {
    let server = Server::start().await.unwrap();
    let endpoints = Endpoints::default();
    let url = service(endpoints.clone()).await;
    server.install(&crd("v1", &url)).await.unwrap();
    server.install(&configurations("v1", &url)).await.unwrap();
    let former = Replica::start(&server, &url, &endpoints, webhooks()).await;
    // A real API server reads the configurations with a delay.
    server
        .eventually("the webhooks are called", async || {
            let written = write(server.client(), 0).await;
            if written.is_err() {
                let widgets = widgets(&server.client(), "v1");
                let _ = widgets.delete("widget-0", &DeleteParams::default()).await;
            }
            written.ok()
        })
        .await;

    let (stop, stopped) = oneshot::channel();
    let load = load(server.client(), stopped);
    // longer than a real API server takes to use a change
    let settle = || sleep(Duration::from_secs(2));
    settle().await;
    server.install(&crd("v2", &url)).await.unwrap();
    settle().await;
    server.install(&configurations("v2", &url)).await.unwrap();
    settle().await;
    let counts = async |_: Setup| Ok(Counts);
    let counts = Webhooks::new().add(counts, |it| it.validates("/validate").mutates("/mutate"));
    let next = Replica::start(&server, &url, &endpoints, counts.convert(Sizes)).await;
    former.stop(&endpoints).await;
    settle().await;
    server.install(&configurations("v1", &url)).await.unwrap();
    settle().await;
    stop.send(()).unwrap();
    let (count, failures) = load.await.unwrap();

    assert_eq!(failures, [""; 0], "of {count}");
    // a tick in 40 ms, so there were several in each phase even on a busy machine
    assert!(count > 50, "{count} objects");
    next.stop(&Endpoints::default()).await;
}
