//! The controllers of workloads: what an operator sees of its children.

mod batch;
mod fate;
mod needs;
mod rollout;
mod sets;

use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{Endpoints, Namespace, Node, PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PropagationPolicy};
use kube::api::{WatchEvent, WatchParams};
use operator_testing::{Server, Workloads};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

const DELAY: Duration = Duration::from_secs(1);

fn server() -> Server {
    Server::in_memory().with_workloads(Workloads::default().delay(DELAY))
}

fn api<K>(server: &Server) -> Api<K>
where
    K: kube::Resource<Scope = kube::core::NamespaceResourceScope>,
    K::DynamicType: Default,
{
    Api::default_namespaced(server.client())
}

fn deployment(replicas: i32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "web:1"}]},
            },
        },
    })
}

async fn install(server: &Server, object: Value) {
    server.install(&object.to_string()).await.unwrap();
}

async fn patch<K>(api: &Api<K>, name: &str, patch: Value)
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let params = PatchParams::default();
    api.patch(name, &params, &Patch::Merge(patch))
        .await
        .unwrap();
}

/// `ready/updated/all` of a Deployment.
async fn counts(server: &Server) -> String {
    let deployment: Deployment = api(server).get("web").await.unwrap();
    let status = deployment.status.unwrap_or_default();
    let number = |number: Option<i32>| number.unwrap_or(0);
    let (ready, updated) = (status.ready_replicas, status.updated_replicas);
    format!(
        "{}/{}/{}",
        number(ready),
        number(updated),
        number(status.replicas)
    )
}

async fn pods(server: &Server) -> Vec<Pod> {
    let pods = api::<Pod>(server).list(&ListParams::default()).await;
    pods.unwrap().items
}

/// The condition as `status reason`.
async fn condition(server: &Server, type_: &str) -> String {
    let deployment: Deployment = api(server).get("web").await.unwrap();
    let conditions = deployment.status.unwrap().conditions.unwrap();
    let found = conditions
        .into_iter()
        .find(|condition| condition.type_ == type_)
        .unwrap();
    format!("{} {}", found.status, found.reason.unwrap_or_default())
}

/// The phase of the one pod, and why its container waits.
async fn state(server: &Server) -> String {
    let [pod] = pods(server).await.try_into().unwrap();
    let status = pod.status.unwrap();
    let state = status
        .container_statuses
        .unwrap_or_default()
        .first()
        .and_then(|container| container.state.clone());
    let reason = state
        .and_then(|state| state.waiting)
        .and_then(|waiting| waiting.reason);
    let phase = status.phase.unwrap();
    reason.map_or(phase.clone(), |reason| format!("{phase} {reason}"))
}

/// `name phase` of each pod.
async fn members(server: &Server) -> Vec<String> {
    let pods = pods(server).await.into_iter();
    pods.map(|pod| {
        let name = pod.name_any();
        let leaving = if pod.metadata.deletion_timestamp.is_some() {
            " leaving"
        } else {
            ""
        };
        format!("{name} {}{leaving}", pod.status.unwrap().phase.unwrap())
    })
    .collect()
}

fn stateful_set(replicas: i32) -> Value {
    let mut set = deployment(replicas);
    set["kind"] = "StatefulSet".into();
    set["spec"]["serviceName"] = "web".into();
    set["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }]);
    set
}

#[tokio::test(start_paused = true)]
async fn a_watch_reports_each_state_at_its_time() {
    let server = server();
    install(&server, deployment(1)).await;
    let api = api::<Deployment>(&server);
    let web = api.get("web").await.unwrap();
    let begin = Instant::now();
    let watch = api
        .watch(&WatchParams::default(), &web.resource_version().unwrap())
        .await
        .unwrap();
    let mut watch = std::pin::pin!(watch);
    let mut next = async || loop {
        match watch.try_next().await.unwrap().unwrap() {
            WatchEvent::Modified(web) => return web,
            WatchEvent::Bookmark(_) => {}
            other => panic!("{other:?}"),
        }
    };
    let ready = next().await;
    assert_eq!(ready.status.unwrap().ready_replicas, Some(1));
    assert!(begin.elapsed() >= DELAY && begin.elapsed() < DELAY * 2);
    timeout(Duration::from_secs(200), next())
        .await
        .expect_err("at rest nothing changes");
}

#[tokio::test(start_paused = true)]
async fn a_fork_is_independent() {
    let server = server();
    install(&server, deployment(1)).await;
    let fork = server.service().unwrap().fork();
    let fork = kube::Client::new(fork, "default");
    sleep(DELAY).await;
    let web = Api::<Deployment>::default_namespaced(fork)
        .get("web")
        .await
        .unwrap();
    assert_eq!(web.status.unwrap().ready_replicas, Some(1));
}

#[tokio::test(start_paused = true)]
async fn without_a_node_pods_stay_pending() {
    let server = Server::in_memory().with_workloads(Workloads::default().without_node());
    install(&server, deployment(1)).await;
    sleep(Duration::from_secs(60)).await;
    let [pod] = pods(&server).await.try_into().unwrap();
    assert_eq!(pod.spec.as_ref().unwrap().node_name, None);
    let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    let api = api::<Pod>(&server);
    let params = PatchParams::default();
    api.patch_status(&pod.name_any(), &params, &Patch::Merge(ready))
        .await
        .unwrap();
    assert_eq!(counts(&server).await, "1/1/1");
}

#[tokio::test(start_paused = true)]
async fn a_service_has_endpoints_for_ready_pods() {
    let server = server();
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    install(&server, service).await;
    install(&server, deployment(2)).await;
    let slices = api::<EndpointSlice>(&server);
    let ready = async || {
        let slices = slices.list(&ListParams::default()).await.unwrap().items;
        let [slice] = slices.try_into().unwrap();
        assert_eq!(slice.labels()["kubernetes.io/service-name"], "web");
        let conditions = slice.endpoints.into_iter();
        conditions
            .filter_map(|endpoint| endpoint.conditions?.ready)
            .filter(|ready| *ready)
            .count()
    };
    assert_eq!(ready().await, 0);
    sleep(DELAY).await;
    assert_eq!(ready().await, 2);
    let endpoints = api::<Endpoints>(&server);
    let subset = endpoints
        .get("web")
        .await
        .unwrap()
        .subsets
        .unwrap()
        .remove(0);
    assert_eq!(subset.addresses.unwrap().len(), 2);
    assert_eq!(subset.ports.unwrap()[0].port, 8080);
    let services = api::<Service>(&server);
    services
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    assert!(endpoints.get_opt("web").await.unwrap().is_none());
    assert_eq!(
        slices
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        0
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_delay_workloads_are_ready_at_the_next_request() {
    let server = Server::in_memory().with_workloads(Workloads::default().delay(Duration::ZERO));
    install(&server, deployment(3)).await;
    assert_eq!(counts(&server).await, "3/3/3");
    let mut failing = deployment(1);
    failing["spec"]["template"]["metadata"]["annotations"] =
        json!({"operator-testing/outcome": "fails"});
    install(&server, failing).await;
    assert_eq!(
        condition(&server, "Available").await,
        "True MinimumReplicasAvailable"
    );
}
