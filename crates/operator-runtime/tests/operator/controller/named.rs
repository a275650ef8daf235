//! Several controllers of one kind.

use std::sync::Arc;

use http::{Request, Response, StatusCode};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
    client::Body,
};
use operator_runtime::{
    Action, Context, Controllers, EventType, Reconciler, Result, Settings, Setup,
};
use operator_testing::Server;
use serde_json::json;

use crate::{
    controller::each::{Each, add, create, pod, pods, until, watches},
    support::{OPERATOR, Running, event},
};

/// Labels each Pod with its own name, and cleans up.
struct Labels<const FIRST: bool>(String);

impl<const FIRST: bool> Reconciler for Labels<FIRST> {
    type Resource = Pod;
    const FINALIZER: Option<&'static str> = Some(if FIRST {
        "widget-operator/first"
    } else {
        "widget-operator/second"
    });

    async fn reconcile(&self, pod: Arc<Pod>, cx: &Context) -> Result<Action> {
        let label = Patch::Apply(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "labels": { &self.0: "seen" } }
        }));
        let pods: Api<Pod> = Api::namespaced(cx.client(), &pod.namespace().unwrap());
        let parameters = PatchParams::apply(cx.field_manager());
        pods.patch(&pod.name_any(), &parameters, &label).await?;
        let note = format!("labeled by {}", self.0);
        cx.event(&*pod, EventType::Normal, "Labeled", note).await;
        Ok(Action::await_change())
    }
}

async fn setup<const FIRST: bool>(setup: Setup) -> Result<Labels<FIRST>> {
    Ok(Labels(setup.controller().to_owned()))
}

#[tokio::test]
async fn named_controllers_of_one_kind_share_a_watch_and_have_finalizers_of_their_own() {
    let server = Server::start().await.unwrap();
    create(&server, "a", "web").await;
    let third = Each::<Pod>::default();
    let seen = third.reconciled.clone();
    let controllers = Controllers::new()
        .add_named("first", setup::<true>, |watches| watches)
        .add_named("second", setup::<false>, |watches| watches)
        .add(async move |_: Setup| Ok(third), |watches| watches);
    let running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    create(&server, "b", "web").await;
    let api = pods(&server);
    for name in ["a", "b"] {
        let pod = server
            .eventually("both have labeled it", async || {
                let pod = api.get(name).await.unwrap();
                let labels = pod.labels();
                (labels.contains_key("first") && labels.contains_key("second")).then_some(pod)
            })
            .await;
        let mut finalizers = pod.finalizers().to_vec();
        finalizers.sort();
        assert_eq!(
            finalizers,
            ["widget-operator/first", "widget-operator/second"]
        );
        let managers = pod.metadata.managed_fields.iter().flatten();
        let managers: Vec<_> = managers.filter_map(|it| it.manager.as_deref()).collect();
        for manager in ["first", "second"] {
            let manager = format!("{OPERATOR}-{manager}");
            assert!(managers.contains(&&*manager), "{managers:?}");
        }
        until(&server, "the unnamed one has it", || seen.of(name) > 0).await;
    }
    assert!(
        event(&server, "a", "Labeled")
            .await
            .starts_with("labeled by ")
    );

    api.delete("a", &DeleteParams::default().grace_period(0))
        .await
        .unwrap();
    server
        .eventually("both have let it go", async || {
            api.get_opt("a").await.unwrap().is_none().then_some(())
        })
        .await;
    running.stop().await.unwrap();
    assert_eq!(watches(&server), ["pods"]);
    let lists = server.requests();
    let lists = lists
        .iter()
        .filter(|request| request.verb == "list" && request.resource == "pods");
    assert_eq!(lists.count(), 1, "one cache");
}

#[tokio::test]
async fn a_watch_that_fails_leaves_the_others_alive() {
    let server = Server::start().await.unwrap();
    let pass = server.client();
    let refusing = tower::service_fn(move |request: Request<Body>| {
        let pass = pass.clone();
        async move {
            if request.uri().path().ends_with("/deployments") {
                let status = json!({ "kind": "Status", "code": 403, "message": "not for you" });
                let body = Body::from(status.to_string().into_bytes());
                let response = Response::builder().status(StatusCode::FORBIDDEN);
                return Ok(response.body(body).unwrap());
            }
            pass.send(request).await
        }
    });
    let client = Client::new(refusing, server.client().default_namespace());
    let (deployments, of_pods) = (Each::<Deployment>::default(), Each::<Pod>::default());
    let seen = of_pods.reconciled.clone();
    let controllers = add(Controllers::new(), "deployments", deployments);
    let running = Running::start(
        client,
        Settings::for_tests(),
        add(controllers, "pods", of_pods),
    )
    .await;
    for name in ["a", "b"] {
        create(&server, name, "web").await;
        until(&server, "it is reconciled", || seen.of(name) > 0).await;
    }
    let errors =
        r#"operator_watch_errors_total{controller="deployments",group="apps",kind="Deployment"}"#;
    server
        .eventually("the failures are counted", async || {
            running.metric(errors).await.filter(|errors| *errors > 0.0)
        })
        .await;
    let waits = "waiting for the lists of Deployment.apps (deployments)";
    assert_eq!(running.page("/readyz").await, (503, waits.to_owned()));
}

#[tokio::test]
async fn two_controllers_of_one_name_are_refused() {
    let server = Server::start().await.unwrap();
    let controllers = add(Controllers::new(), "printer", Each::<Pod>::default());
    let controllers = add(controllers, "printer", Each::<Deployment>::default());
    let mut running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    assert_eq!(
        running.ended().await.unwrap_err().to_string(),
        "two controllers are named \"printer\"\nhelp: give one of them another name"
    );
}

#[tokio::test]
async fn controllers_that_select_or_reduce_differently_have_caches_of_their_own() {
    let server = Server::start().await.unwrap();
    fn without_spec(pod: &mut Pod) {
        pod.spec = None;
    }
    let mut controllers = Controllers::new();
    let mut seen = vec![];
    for (name, options) in [
        ("all", Default::default()),
        ("all-again", Default::default()),
        ("web", labels("app=web")),
        ("web-again", labels("app=web")),
        (
            "reduced",
            operator_runtime::ControllerOptions::default().reduce(without_spec),
        ),
        (
            "reduced-again",
            operator_runtime::ControllerOptions::default().reduce(without_spec),
        ),
        (
            "closure",
            operator_runtime::ControllerOptions::default().reduce(|pod: &mut Pod| pod.spec = None),
        ),
    ] {
        let each = Each::<Pod> {
            options,
            ..Each::default()
        };
        seen.push((name, each.reconciled.clone()));
        controllers = add(controllers, name, each);
    }
    let running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    create(&server, "mine", "web").await;
    create(&server, "other", "db").await;
    for (name, calls) in &seen {
        until(&server, name, || calls.of("mine") > 0).await;
        if name.starts_with("web") {
            assert_eq!(calls.names(), ["mine"]);
        } else {
            until(&server, name, || calls.of("other") > 0).await;
        }
    }
    running.stop().await.unwrap();
    assert_eq!(watches(&server), ["pods"; 4]);
}

fn labels(selector: &str) -> operator_runtime::ControllerOptions<Pod> {
    operator_runtime::ControllerOptions::default().labels(selector)
}

#[tokio::test]
async fn a_controller_that_watches_the_kind_of_a_selecting_one_hears_of_all_objects() {
    let server = Server::start().await.unwrap();
    let selecting = Each::<Pod> {
        options: labels("app=web"),
        ..Each::default()
    };
    let watching = Watching::default();
    let seen = watching.0.clone();
    let controllers = add(Controllers::new(), "web", selecting);
    let setup = async move |_: Setup| Ok(watching);
    let controllers = controllers.add(setup, operator_runtime::Watches::watches::<Pod>);
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    let created = pods(&server)
        .create(&Default::default(), &pod("a", "db"))
        .await;
    created.unwrap();
    until(&server, "it hears of it", || {
        seen.lock().unwrap().contains(&"a".to_owned())
    })
    .await;
}

#[derive(Default)]
struct Watching(Arc<std::sync::Mutex<Vec<String>>>);

impl Reconciler for Watching {
    type Resource = Deployment;

    async fn reconcile(&self, _: Arc<Deployment>, _: &Context) -> Result<Action> {
        Ok(Action::await_change())
    }

    fn parents(
        &self,
        changed: &operator_runtime::Changed,
        _: &operator_runtime::Store<Deployment>,
    ) -> Vec<operator_runtime::ObjectRef<Deployment>> {
        let name = changed.metadata.name.clone();
        self.0.lock().unwrap().extend(name);
        vec![]
    }
}
