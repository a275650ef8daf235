//! The controllers of workloads: what an operator sees of its children.

mod batch;

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

#[tokio::test(start_paused = true)]
async fn a_deployment_becomes_ready_after_the_delay() {
    let server = server();
    install(&server, deployment(3)).await;
    assert_eq!(counts(&server).await, "0/3/3");
    sleep(DELAY - Duration::from_millis(10)).await;
    assert_eq!(counts(&server).await, "0/3/3");
    sleep(Duration::from_millis(20)).await;
    assert_eq!(counts(&server).await, "3/3/3");
}

#[tokio::test(start_paused = true)]
async fn children_are_named_labelled_and_owned_as_real_ones() {
    let server = server();
    install(&server, deployment(2)).await;
    let deployment: Deployment = api(&server).get("web").await.unwrap();
    let sets = api::<ReplicaSet>(&server)
        .list(&ListParams::default())
        .await;
    let [set] = sets.unwrap().items.try_into().unwrap();
    let hash = set.labels()["pod-template-hash"].clone();
    assert_eq!(set.name_any(), format!("web-{hash}"));
    assert_eq!(set.owner_references()[0].uid, deployment.uid().unwrap());
    assert_eq!(set.annotations()["deployment.kubernetes.io/revision"], "1");
    assert_eq!(
        deployment.annotations()["deployment.kubernetes.io/revision"],
        "1"
    );
    for pod in pods(&server).await {
        assert_eq!(pod.labels()["pod-template-hash"], hash);
        assert_eq!(
            pod.metadata.generate_name.as_deref(),
            Some(&*format!("web-{hash}-"))
        );
        let owner = &pod.owner_references()[0];
        assert_eq!(
            (owner.kind.as_str(), owner.controller),
            ("ReplicaSet", Some(true))
        );
        assert_eq!(pod.spec.unwrap().node_name.as_deref(), Some("node"));
    }
    let nodes = Api::<Node>::all(server.client())
        .list(&ListParams::default())
        .await;
    assert_eq!(nodes.unwrap().items.len(), 1);
}

/// The condition as `status reason`.
async fn condition(server: &Server, type_: &str) -> String {
    let deployment: Deployment = api(server).get("web").await.unwrap();
    let conditions = deployment.status.unwrap().conditions.unwrap();
    let found = conditions
        .into_iter()
        .find(|condition| condition.type_ == type_);
    let found = found.unwrap();
    format!("{} {}", found.status, found.reason.unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn a_new_template_takes_over_without_a_gap() {
    let server = server();
    install(&server, deployment(3)).await;
    sleep(DELAY).await;
    assert_eq!(
        condition(&server, "Progressing").await,
        "True NewReplicaSetAvailable"
    );
    let api = api::<Deployment>(&server);
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}});
    patch(&api, "web", image).await;
    // maxSurge is 1 of 3, maxUnavailable none
    assert_eq!(counts(&server).await, "3/1/4");
    assert_eq!(
        condition(&server, "Progressing").await,
        "True ReplicaSetUpdated"
    );
    let begin = Instant::now();
    while counts(&server).await != "3/3/3" {
        assert_eq!(
            condition(&server, "Available").await,
            "True MinimumReplicasAvailable"
        );
        assert!(begin.elapsed() < 10 * DELAY, "{}", counts(&server).await);
        sleep(DELAY / 4).await;
    }
    // the last of the old pods stops
    sleep(DELAY).await;
    let images = pods(&server)
        .await
        .into_iter()
        .map(|pod| pod.spec.unwrap().containers[0].image.clone().unwrap());
    assert_eq!(images.collect::<Vec<_>>(), ["web:2"; 3]);
    assert_eq!(
        api.get("web").await.unwrap().annotations()["deployment.kubernetes.io/revision"],
        "2"
    );
    // back to the first, whose ReplicaSet is still there
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:1"}]}}}});
    patch(&api, "web", image).await;
    sleep(10 * DELAY).await;
    let sets = Api::<ReplicaSet>::default_namespaced(server.client());
    let mut sets = sets.list(&ListParams::default()).await.unwrap().items;
    sets.sort_by_key(|set| set.annotations()["deployment.kubernetes.io/revision"].clone());
    let shown = sets.iter().map(|set| {
        (
            set.spec.as_ref().unwrap().replicas,
            set.annotations()
                .get("deployment.kubernetes.io/revision-history")
                .map(String::as_str),
        )
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [(Some(0), None), (Some(3), Some("1"))]
    );
}

#[tokio::test(start_paused = true)]
async fn recreate_waits_until_the_old_pods_are_gone() {
    let server = server();
    let mut web = deployment(2);
    web["spec"]["strategy"] = json!({"type": "Recreate"});
    install(&server, web).await;
    sleep(DELAY).await;
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}});
    patch(&api::<Deployment>(&server), "web", image).await;
    let images = pods(&server)
        .await
        .into_iter()
        .map(|pod| pod.spec.unwrap().containers[0].image.clone().unwrap());
    assert_eq!(images.collect::<Vec<_>>(), ["web:1"; 2]);
    assert_eq!(
        condition(&server, "Available").await,
        "False MinimumReplicasUnavailable"
    );
    sleep(DELAY).await;
    let images = pods(&server)
        .await
        .into_iter()
        .map(|pod| pod.spec.unwrap().containers[0].image.clone().unwrap());
    assert_eq!(images.collect::<Vec<_>>(), ["web:2"; 2]);
    sleep(DELAY).await;
    assert_eq!(counts(&server).await, "2/2/2");
}

#[tokio::test(start_paused = true)]
async fn a_deployment_is_scaled_and_its_pods_are_replaced() {
    let server = server();
    install(&server, deployment(1)).await;
    sleep(DELAY).await;
    let api = api::<Deployment>(&server);
    patch(&api, "web", json!({"spec": {"replicas": 3}})).await;
    assert_eq!(counts(&server).await, "1/3/3");
    sleep(DELAY).await;
    let lost = pods(&server).await[0].name_any();
    let pods_api = Api::<Pod>::default_namespaced(server.client());
    pods_api
        .delete(&lost, &DeleteParams::default())
        .await
        .unwrap();
    assert_eq!(counts(&server).await, "2/3/3");
    assert_eq!(
        pods(&server).await.len(),
        4,
        "the one that stops is still there"
    );
    sleep(DELAY).await;
    assert_eq!(counts(&server).await, "3/3/3");
    assert!(pods_api.get_opt(&lost).await.unwrap().is_none());
    patch(&api, "web", json!({"spec": {"replicas": 0}})).await;
    sleep(DELAY).await;
    assert_eq!(counts(&server).await, "0/0/0");
    assert_eq!(pods(&server).await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_deployment_made_goes_with_it() {
    for policy in [PropagationPolicy::Background, PropagationPolicy::Foreground] {
        let server = server();
        install(&server, deployment(2)).await;
        sleep(DELAY).await;
        let params = DeleteParams {
            propagation_policy: Some(policy),
            ..DeleteParams::default()
        };
        api::<Deployment>(&server)
            .delete("web", &params)
            .await
            .unwrap();
        sleep(DELAY).await;
        assert_eq!(pods(&server).await.len(), 0);
        assert!(
            api::<Deployment>(&server)
                .get_opt("web")
                .await
                .unwrap()
                .is_none()
        );
        let sets = api::<ReplicaSet>(&server)
            .list(&ListParams::default())
            .await;
        assert_eq!(sets.unwrap().items.len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_owner_orphaned_is_adopted_by_the_next() {
    let server = server();
    install(&server, deployment(2)).await;
    sleep(DELAY).await;
    let before = pods(&server).await;
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    api::<Deployment>(&server)
        .delete("web", &orphan)
        .await
        .unwrap();
    install(&server, deployment(2)).await;
    assert_eq!(counts(&server).await, "2/2/2");
    let names = |pods: &[Pod]| pods.iter().map(ResourceExt::name_any).collect::<Vec<_>>();
    assert_eq!(names(&pods(&server).await), names(&before));
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_each_state_at_its_time() {
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

/// The phase of the one pod, and why its container waits.
async fn state(server: &Server) -> String {
    let [pod] = pods(server).await.try_into().unwrap();
    let status = pod.status.unwrap();
    let containers = status.container_statuses.unwrap_or_default();
    let state = containers
        .first()
        .and_then(|container| container.state.clone());
    let reason = state
        .and_then(|state| state.waiting)
        .and_then(|waiting| waiting.reason);
    let phase = status.phase.unwrap();
    reason.map_or(phase.clone(), |reason| format!("{phase} {reason}"))
}

#[tokio::test(start_paused = true)]
async fn an_object_says_how_its_pods_fare() {
    for (outcome, expected) in [
        ("not-ready", "Running"),
        ("fails", "Running CrashLoopBackOff"),
        ("unschedulable", "Pending"),
    ] {
        let server = server();
        let mut web = deployment(1);
        web["spec"]["template"]["metadata"]["annotations"] =
            json!({"operator-testing/outcome": outcome});
        install(&server, web).await;
        sleep(DELAY).await;
        assert_eq!(state(&server).await, expected, "{outcome}");
        assert_eq!(counts(&server).await, "0/1/1", "{outcome}");
        sleep(Duration::from_secs(610)).await;
        assert_eq!(
            condition(&server, "Progressing").await,
            "False ProgressDeadlineExceeded"
        );
        // the same pod recovers
        let pod = pods(&server).await[0].name_any();
        let annotation = json!({"metadata": {"annotations": {"operator-testing/outcome": null}}});
        patch(&api::<Pod>(&server), &pod, annotation).await;
        sleep(2 * DELAY).await;
        assert_eq!(counts(&server).await, "1/1/1", "{outcome}");
        assert_eq!(
            condition(&server, "Progressing").await,
            "True NewReplicaSetAvailable"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_namespace_says_how_pods_fare_that_nobody_can_annotate() {
    let server = server();
    let namespaces = Api::<Namespace>::all(server.client());
    let outcome = |outcome: Value| json!({"metadata": {"annotations": {"operator-testing/outcome": outcome}}});
    install(&server, deployment(1)).await;
    sleep(DELAY).await;
    assert_eq!(counts(&server).await, "1/1/1");
    patch(&namespaces, "default", outcome("not-ready".into())).await;
    assert_eq!(counts(&server).await, "0/1/1");
    patch(&namespaces, "default", outcome(Value::Null)).await;
    sleep(DELAY).await;
    assert_eq!(counts(&server).await, "1/1/1");
}

#[tokio::test(start_paused = true)]
async fn an_image_of_no_host_cannot_be_pulled() {
    let server = server();
    let mut web = deployment(1);
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.invalid/web:1".into();
    install(&server, web).await;
    assert_eq!(state(&server).await, "Pending ContainerCreating");
    sleep(DELAY).await;
    assert_eq!(state(&server).await, "Pending ImagePullBackOff");
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:1"}]}}}});
    patch(&api::<Deployment>(&server), "web", image).await;
    sleep(4 * DELAY).await;
    assert_eq!(counts(&server).await, "1/1/1");
}

#[tokio::test(start_paused = true)]
async fn pods_are_available_after_the_seconds_that_are_asked_for() {
    let server = server();
    let mut web = deployment(1);
    web["spec"]["minReadySeconds"] = 30.into();
    install(&server, web).await;
    sleep(DELAY + Duration::from_secs(28)).await;
    assert_eq!(
        condition(&server, "Available").await,
        "False MinimumReplicasUnavailable"
    );
    sleep(Duration::from_secs(3)).await;
    assert_eq!(
        condition(&server, "Available").await,
        "True MinimumReplicasAvailable"
    );
}

#[tokio::test(start_paused = true)]
async fn a_fork_goes_on_by_itself() {
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
async fn without_a_node_pods_wait_for_the_test() {
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

/// `name phase` of each pod.
async fn members(server: &Server) -> Vec<String> {
    let pods = pods(server).await.into_iter();
    let shown = pods.map(|pod| {
        let name = pod.name_any();
        let leaving = if pod.metadata.deletion_timestamp.is_some() {
            " leaving"
        } else {
            ""
        };
        format!("{name} {}{leaving}", pod.status.unwrap().phase.unwrap())
    });
    shown.collect()
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
async fn the_pods_of_a_stateful_set_come_and_go_in_order() {
    let server = server();
    install(&server, stateful_set(3)).await;
    assert_eq!(members(&server).await, ["web-0 Pending"]);
    sleep(DELAY).await;
    assert_eq!(members(&server).await, ["web-0 Running", "web-1 Pending"]);
    sleep(2 * DELAY).await;
    let running = ["web-0 Running", "web-1 Running", "web-2 Running"];
    assert_eq!(members(&server).await, running);
    let claims: Api<PersistentVolumeClaim> = api(&server);
    let claims = async || claims.list(&ListParams::default()).await.unwrap().items;
    let names = |claims: Vec<PersistentVolumeClaim>| {
        claims.iter().map(ResourceExt::name_any).collect::<Vec<_>>()
    };
    assert_eq!(
        names(claims().await),
        ["data-web-0", "data-web-1", "data-web-2"]
    );
    let sets = api::<StatefulSet>(&server);
    let status = async || sets.get("web").await.unwrap().status.unwrap();
    let first = status().await;
    assert_eq!(
        (first.ready_replicas, first.current_revision.clone()),
        (Some(3), first.update_revision)
    );
    // a new template goes from the last to the first
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}});
    patch(&sets, "web", image).await;
    assert_eq!(
        members(&server).await,
        ["web-0 Running", "web-1 Running", "web-2 Running leaving"]
    );
    sleep(7 * DELAY).await;
    assert_eq!(members(&server).await, running);
    let second = status().await;
    assert_eq!(second.current_revision, second.update_revision);
    assert_ne!(second.current_revision, first.current_revision);
    patch(&sets, "web", json!({"spec": {"replicas": 1}})).await;
    assert_eq!(
        members(&server).await,
        ["web-0 Running", "web-1 Running", "web-2 Running leaving"]
    );
    sleep(3 * DELAY).await;
    assert_eq!(members(&server).await, ["web-0 Running"]);
    assert_eq!(claims().await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_in_parallel_makes_all_its_pods_at_once() {
    let server = server();
    let mut set = stateful_set(3);
    set["spec"]["podManagementPolicy"] = "Parallel".into();
    set["spec"]["persistentVolumeClaimRetentionPolicy"] =
        json!({"whenScaled": "Delete", "whenDeleted": "Delete"});
    install(&server, set).await;
    assert_eq!(members(&server).await.len(), 3);
    sleep(DELAY).await;
    let sets = api::<StatefulSet>(&server);
    patch(&sets, "web", json!({"spec": {"replicas": 1}})).await;
    sleep(DELAY).await;
    assert_eq!(members(&server).await, ["web-0 Running"]);
    let claims = api::<PersistentVolumeClaim>(&server);
    assert_eq!(
        claims
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    sets.delete("web", &DeleteParams::default()).await.unwrap();
    sleep(DELAY).await;
    assert_eq!(
        claims
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        0
    );
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_has_a_pod_on_each_node() {
    let server = server();
    let mut set = deployment(0);
    set["kind"] = "DaemonSet".into();
    set["spec"].as_object_mut().unwrap().remove("replicas");
    install(&server, set).await;
    sleep(DELAY).await;
    let sets = api::<DaemonSet>(&server);
    let status = async || {
        let status = sets.get("web").await.unwrap().status.unwrap();
        (
            status.number_ready,
            status.desired_number_scheduled,
            status.updated_number_scheduled,
        )
    };
    assert_eq!(status().await, (1, 1, Some(1)));
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "other"}});
    install(&server, node).await;
    assert_eq!(status().await, (1, 2, Some(2)));
    sleep(DELAY).await;
    assert_eq!(status().await, (2, 2, Some(2)));
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}});
    patch(&sets, "web", image).await;
    assert_eq!(status().await, (2, 2, None), "one stops");
    sleep(DELAY).await;
    assert_eq!(status().await, (1, 2, Some(1)));
    sleep(4 * DELAY).await;
    assert_eq!(status().await, (2, 2, Some(2)));
    patch(
        &sets,
        "web",
        json!({"spec": {"template": {"spec": {"nodeSelector": {"disk": "fast"}}}}}),
    )
    .await;
    sleep(DELAY).await;
    assert_eq!(status().await, (0, 0, None));
    assert_eq!(members(&server).await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_service_leads_to_the_pods_that_are_ready() {
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
        let conditions = conditions.filter_map(|endpoint| endpoint.conditions?.ready);
        conditions.filter(|ready| *ready).count()
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
async fn without_a_delay_all_is_done_at_the_next_request() {
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
