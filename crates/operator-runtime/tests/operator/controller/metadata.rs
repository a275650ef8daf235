//! Controllers that watch metadata only, and cluster-scoped kinds.

use std::sync::{Arc, Mutex};

use http::header::ACCEPT;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, PostParams},
    client::Body,
    core::PartialObjectMeta,
};
use operator_runtime::{
    Action, Context, ControllerOptions, Controllers, EventType, Reconciler, Result, Settings, Setup,
};
use operator_testing::{Request, Server};

use crate::{
    controller::each::{Each, add, create, label, pods, until, watches},
    support::{self, Fleet, FleetSpec, Running, event},
};

/// Gives each Pod a ConfigMap with its labels, reports that, and cleans up.
#[derive(Default)]
struct Metadata(Arc<Mutex<Vec<String>>>);

impl Reconciler for Metadata {
    type Resource = PartialObjectMeta<Pod>;
    const FINALIZER: Option<&'static str> = Some("widget-operator/metadata");

    async fn reconcile(&self, pod: Arc<PartialObjectMeta<Pod>>, cx: &Context) -> Result<Action> {
        let labels = ConfigMap {
            metadata: cx.child_metadata(&*pod, pod.name_any()),
            data: pod.metadata.labels.clone(),
            ..ConfigMap::default()
        };
        cx.apply(&labels).await?;
        cx.event(&*pod, EventType::Normal, "Labels", "written")
            .await;
        Ok(Action::await_change())
    }

    async fn cleanup(&self, pod: Arc<PartialObjectMeta<Pod>>, _cx: &Context) -> Result<()> {
        self.0.lock().unwrap().push(pod.name_any());
        Ok(())
    }
}

#[tokio::test]
async fn a_controller_of_metadata_has_children_events_and_a_finalizer() {
    let server = Server::start().await.unwrap();
    let accepted = Arc::new(Mutex::new(vec![]));
    let (pass, seen) = (server.client(), accepted.clone());
    let recording = tower::service_fn(move |request: http::Request<Body>| {
        let called = Request::of(&request);
        if called.resource == "pods" && ["list", "watch"].contains(&called.verb) {
            let accept = request.headers()[ACCEPT].to_str().unwrap().to_owned();
            seen.lock().unwrap().push(accept);
        }
        let pass = pass.clone();
        async move { pass.send(request).await }
    });
    let client = Client::new(recording, server.client().default_namespace());
    let metadata = Metadata::default();
    let cleaned = metadata.0.clone();
    let controllers = Controllers::new().add_named(
        "metadata",
        async move |_: Setup| Ok(metadata),
        operator_runtime::Watches::owns::<ConfigMap>,
    );
    let _running = Running::start(client, Settings::for_tests(), controllers).await;

    create(&server, "a", "web").await;
    let children: Api<ConfigMap> = Api::default_namespaced(server.client());
    let has_label = async |app: &str| {
        let what = format!("the child has {app}");
        let child = async || {
            let child = children.get_opt("a").await.unwrap()?;
            (child.data.as_ref()?["app"] == app).then_some(child)
        };
        server.eventually(&what, child).await
    };
    let child = has_label("web").await;
    let owner = &child.owner_references()[0];
    assert_eq!((&*owner.api_version, &*owner.kind), ("v1", "Pod"));
    assert_eq!(event(&server, "a", "Labels").await, "written");
    let pod = pods(&server).get("a").await.unwrap();
    assert_eq!(pod.finalizers(), ["widget-operator/metadata"]);
    assert_eq!(pod.spec.unwrap().containers[0].name, "main");

    children
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    has_label("web").await;
    label(&server, "a", "api").await;
    has_label("api").await;
    let now = DeleteParams::default().grace_period(0);
    pods(&server).delete("a", &now).await.unwrap();
    until(&server, "it is cleaned up", || {
        *cleaned.lock().unwrap() == ["a"]
    })
    .await;
    server
        .eventually("it is gone", async || {
            pods(&server)
                .get_opt("a")
                .await
                .unwrap()
                .is_none()
                .then_some(())
        })
        .await;

    let accepted = accepted.lock().unwrap();
    assert!(accepted.len() >= 2, "{accepted:?}");
    let is_partial = |accept: &String| accept.contains("as=PartialObjectMetadata");
    assert!(accepted.iter().all(is_partial), "{accepted:?}");
}

#[tokio::test]
async fn controllers_of_metadata_and_of_whole_objects_run_side_by_side() {
    let server = Server::start().await.unwrap();
    let whole = Each::<Pod> {
        on_reconcile: |pod| {
            assert!(pod.spec.is_some());
            Ok(Action::await_change())
        },
        ..Each::default()
    };
    let metadata = Each::<PartialObjectMeta<Pod>>::default();
    let calls = [whole.reconciled.clone(), metadata.reconciled.clone()];
    let controllers = add(Controllers::new(), "whole", whole);
    let controllers = add(controllers, "metadata", metadata);
    let running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    create(&server, "a", "web").await;
    for calls in calls {
        until(&server, "it is reconciled", || calls.of("a") > 0).await;
    }
    running.stop().await.unwrap();
    assert_eq!(watches(&server), ["pods", "pods"]);
}

/// Records the Fleets that it has cleaned up, and those that were deleted.
#[derive(Default)]
struct Fleets(Arc<Mutex<Vec<String>>>);

impl Reconciler for Fleets {
    type Resource = Fleet;
    const FINALIZER: Option<&'static str> = Some("widget-operator/fleets");

    async fn reconcile(&self, _: Arc<Fleet>, _: &Context) -> Result<Action> {
        Ok(Action::await_change())
    }

    async fn cleanup(&self, fleet: Arc<Fleet>, _: &Context) -> Result<()> {
        self.0.lock().unwrap().push(fleet.name_any());
        Ok(())
    }

    async fn deleted(&self, fleet: Arc<Fleet>, _: &Context) -> Result<()> {
        self.0
            .lock()
            .unwrap()
            .push(format!("{} is gone", fleet.name_any()));
        Ok(())
    }

    fn options(&self) -> ControllerOptions<Fleet> {
        ControllerOptions::default().labels("!paused")
    }
}

#[tokio::test]
async fn a_cluster_scoped_kind_has_a_finalizer_and_a_notice() {
    let server = support::server().await;
    let fleets = Fleets::default();
    let calls = fleets.0.clone();
    let controllers = add(Controllers::new(), "fleets", fleets);
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    let api: Api<Fleet> = Api::all(server.client());
    for name in ["a", "paused"] {
        let mut fleet = Fleet::new(name, FleetSpec {});
        if name == "paused" {
            fleet.labels_mut().insert("paused".into(), "true".into());
        }
        api.create(&PostParams::default(), &fleet).await.unwrap();
    }
    server
        .eventually("it has the finalizer", async || {
            let fleet = api.get("a").await.unwrap();
            (fleet.finalizers() == ["widget-operator/fleets"]).then_some(())
        })
        .await;
    api.delete("a", &DeleteParams::default()).await.unwrap();
    until(&server, "it is cleaned up and reported", || {
        *calls.lock().unwrap() == ["a", "a is gone"]
    })
    .await;
    assert!(api.get("paused").await.unwrap().finalizers().is_empty());
}
