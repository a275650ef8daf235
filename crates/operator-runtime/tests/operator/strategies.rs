//! Each update strategy of children, in each situation that a child can be in.

use crate::support::*;
use k8s_openapi::{
    api::core::v1::{
        ConfigMap, Container, EnvVar, Pod, PodSpec, ResourceRequirements, Service, ServicePort,
        ServiceSpec,
    },
    apimachinery::pkg::api::resource::Quantity,
};
use kube::{
    Api, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use operator_runtime::{
    Applied, Condition, Controllers, Declarative, Desired, Error, Observed, Result, Settings,
    Setup, Status, UpdateStrategy,
};
use operator_testing::{Request, Server};
use serde_json::json;

/// A pod with the image that the object's `way` names.
struct Pods;

fn pod(widget: &Widget, metadata: ObjectMeta) -> Pod {
    Pod {
        metadata,
        spec: Some(PodSpec {
            containers: vec![Container {
                name: "main".into(),
                image: widget.spec.way.clone(),
                // the API server drops the empty value
                env: Some(vec![EnvVar {
                    name: "EMPTY".into(),
                    value: Some(String::new()),
                    ..EnvVar::default()
                }]),
                resources: Some(ResourceRequirements {
                    limits: Some([("cpu".into(), Quantity("1000m".into()))].into()),
                    ..ResourceRequirements::default()
                }),
                ..Container::default()
            }],
            ..PodSpec::default()
        }),
        ..Pod::default()
    }
}

impl Declarative for Pods {
    type Resource = Widget;

    fn desired(&self, widget: &Widget, observed: &Observed) -> Result<Desired<Widget>> {
        let metadata = observed.child_metadata(widget, widget.name_any());
        Ok(Desired::new().child(pod(widget, metadata)))
    }

    fn status(
        &self,
        widget: &Widget,
        _observed: &Observed,
        result: Result<&Applied, &Error>,
    ) -> Result<Status<Widget>> {
        let ready = match result {
            Ok(applied) => Condition::new("Ready", true, "Applied", applied.waiting().join(", ")),
            Err(error) => Condition::new("Ready", false, "Failed", error.to_string()),
        };
        let mut status = widget.status.clone().unwrap_or_default();
        let generation = widget.metadata.generation;
        ready.set_in(status.conditions.get_or_insert_default(), generation)?;
        Ok(Status::new(status))
    }
}

fn pods(server: &Server) -> Api<Pod> {
    Api::default_namespaced(server.client())
}

async fn start(server: &Server, strategy: UpdateStrategy) -> Running {
    let controllers = Controllers::new().add_declarative(
        async |_: Setup| Ok(Pods),
        |watches| watches.owns::<Pod>().update(strategy),
    );
    Running::start(server.client(), Settings::for_tests(), controllers).await
}

fn image(pod: &Pod) -> &str {
    let spec = pod.spec.as_ref().unwrap();
    spec.containers[0].image.as_deref().unwrap()
}

/// The message of the condition, once it is about the current generation.
async fn message(server: &Server, name: &str, is_true: bool) -> String {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    server
        .eventually(&format!("{name} has a condition"), async || {
            let widget = api.get(name).await.unwrap();
            let condition = widget.status?.conditions?.pop()?;
            let is_current = condition.observed_generation == widget.metadata.generation;
            let is_wanted = condition.status == if is_true { "True" } else { "False" };
            (is_current && is_wanted).then_some(condition.message)
        })
        .await
}

/// The writes of pods, from the request with the number `from` on.
fn pod_writes(server: &Server, from: usize) -> Vec<String> {
    let requests: Vec<Request> = server.requests().split_off(from);
    let writes = writes(&requests);
    writes
        .into_iter()
        .filter(|write| write.contains("pods"))
        .collect()
}

use UpdateStrategy::{Apply, CreateOnly, OnDelete, Recreate, Replace};
const ALL: [UpdateStrategy; 5] = [Apply, Replace, Recreate, OnDelete, CreateOnly];

/// What a strategy has done to a pod.
#[derive(Debug, PartialEq)]
enum Done {
    /// It is the same object with the image that is now desired.
    Updated,
    /// It is another object, with that image.
    Recreated,
    /// Nothing was written, and no change is pending.
    Left,
    /// Nothing was written, and the child is reported as waiting.
    Waits,
}

async fn done(server: &Server, name: &str, before: &Pod, desired: &str, from: usize) -> Done {
    message(server, name, true).await;
    until_quiet(server).await;
    let message = message(server, name, true).await;
    let now = pods(server).get(name).await.unwrap();
    let is_same = now.uid() == before.uid();
    match (is_same, image(&now) == desired) {
        (false, true) => Done::Recreated,
        (true, true) if now.resource_version() != before.resource_version() => Done::Updated,
        (true, _) => {
            assert_eq!(pod_writes(server, from), [""; 0]);
            match message.as_str() {
                "" => Done::Left,
                waiting => {
                    assert_eq!(waiting, format!("v1/Pod {name}"));
                    Done::Waits
                }
            }
        }
        (false, false) => panic!("another pod has {}", image(&now)),
    }
}

#[tokio::test]
async fn an_absent_child_is_created_by_every_strategy() {
    for strategy in ALL {
        let server = server().await;
        let _running = start(&server, strategy).await;
        create(&server, "a", "one").await;
        assert_eq!(message(&server, "a", true).await, "");
        let created = pods(&server).get("a").await.unwrap();
        assert_eq!(image(&created), "one", "{strategy:?}");
        assert_eq!(created.metadata.owner_references.unwrap().len(), 1);
        let verb = if strategy == Apply { "patch" } else { "create" };
        assert_eq!(
            pod_writes(&server, 0),
            [format!("{verb} pods/")],
            "{strategy:?}"
        );
    }
}

#[tokio::test]
async fn an_equal_child_is_left_alone_also_after_a_restart() {
    for strategy in ALL {
        let server = server().await;
        let running = start(&server, strategy).await;
        create(&server, "a", "one").await;
        message(&server, "a", true).await;
        until_quiet(&server).await;
        let before = pods(&server).get("a").await.unwrap();
        let limits = before.spec.as_ref().unwrap().containers[0]
            .resources
            .clone();
        assert_eq!(
            limits.unwrap().limits.unwrap()["cpu"].0,
            "1",
            "it is stored otherwise"
        );
        running.stop().await.unwrap();

        // as an admission webhook or another controller does
        let sidecar = json!({ "metadata": { "labels": { "added": "x" } } });
        let by_another = PatchParams {
            field_manager: Some("another".into()),
            ..PatchParams::default()
        };
        pods(&server)
            .patch("a", &by_another, &Patch::Merge(sidecar))
            .await
            .unwrap();
        let from = server.requests().len();
        let running = start(&server, strategy).await;
        patch(&server, "a", json!({ "spec": { "size": 7 } })).await;
        message(&server, "a", true).await;
        until_quiet(&server).await;
        let now = pods(&server).get("a").await.unwrap();
        assert_eq!(now.uid(), before.uid(), "{strategy:?}");
        assert_eq!(now.labels()["added"], "x");
        // server-side apply may be sent once although nothing changes
        if strategy != Apply {
            assert_eq!(pod_writes(&server, from), [""; 0], "{strategy:?}");
        }
        running.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_child_that_should_change() {
    let expected = [
        Done::Updated,
        Done::Updated,
        Done::Recreated,
        Done::Waits,
        Done::Left,
    ];
    for (strategy, expected) in ALL.into_iter().zip(expected) {
        let server = server().await;
        let _running = start(&server, strategy).await;
        create(&server, "a", "one").await;
        message(&server, "a", true).await;
        until_quiet(&server).await;
        let (before, from) = (
            pods(&server).get("a").await.unwrap(),
            server.requests().len(),
        );
        set_way(&server, "a", "two").await;
        assert_eq!(
            done(&server, "a", &before, "two", from).await,
            expected,
            "{strategy:?}"
        );

        if expected == Done::Waits {
            pods(&server)
                .delete("a", &Default::default())
                .await
                .unwrap();
            server
                .eventually("the pod is recreated", async || {
                    let pod = pods(&server).get_opt("a").await.unwrap()?;
                    (image(&pod) == "two").then_some(())
                })
                .await;
        }
    }
}

#[tokio::test]
async fn a_child_that_another_has_changed() {
    let expected = [
        Done::Updated,
        Done::Updated,
        Done::Recreated,
        Done::Waits,
        Done::Left,
    ];
    for (strategy, expected) in ALL.into_iter().zip(expected) {
        let server = server().await;
        let _running = start(&server, strategy).await;
        create(&server, "a", "one").await;
        message(&server, "a", true).await;
        until_quiet(&server).await;
        let (before, from) = (
            pods(&server).get("a").await.unwrap(),
            server.requests().len(),
        );
        let change = json!({ "spec": { "containers": [{ "name": "main", "image": "changed" }] } });
        pods(&server)
            .patch("a", &PatchParams::default(), &Patch::Strategic(change))
            .await
            .unwrap();
        let from = from + 1;
        until_quiet(&server).await;
        assert_eq!(
            done(&server, "a", &before, "one", from).await,
            expected,
            "{strategy:?}"
        );
    }
}

#[tokio::test]
async fn a_child_that_is_being_deleted() {
    // server-side apply still changes it, because its fields may matter until it is gone
    let expected = [
        Done::Updated,
        Done::Waits,
        Done::Waits,
        Done::Waits,
        Done::Waits,
    ];
    for (strategy, expected) in ALL.into_iter().zip(expected) {
        let server = server().await;
        let _running = start(&server, strategy).await;
        create(&server, "a", "one").await;
        message(&server, "a", true).await;
        until_quiet(&server).await;
        let hold = json!({ "metadata": { "finalizers": ["example.com/hold"] } });
        pods(&server)
            .patch("a", &PatchParams::default(), &Patch::Merge(hold))
            .await
            .unwrap();
        pods(&server)
            .delete("a", &Default::default())
            .await
            .unwrap();
        until_quiet(&server).await;
        let (before, from) = (
            pods(&server).get("a").await.unwrap(),
            server.requests().len(),
        );
        set_way(&server, "a", "two").await;
        assert_eq!(
            done(&server, "a", &before, "two", from).await,
            expected,
            "{strategy:?}"
        );

        let release = json!({ "metadata": { "finalizers": null } });
        pods(&server)
            .patch("a", &PatchParams::default(), &Patch::Merge(release))
            .await
            .unwrap();
        server
            .eventually("the pod is recreated", async || {
                let pod = pods(&server).get_opt("a").await.unwrap()?;
                (pod.uid() != before.uid() && image(&pod) == "two").then_some(())
            })
            .await;
    }
}

#[tokio::test]
async fn a_child_is_not_deleted_for_one_that_the_server_refuses() {
    let server = server().await;
    let _running = start(&server, Recreate).await;
    create(&server, "a", "one").await;
    message(&server, "a", true).await;
    until_quiet(&server).await;
    let before = pods(&server).get("a").await.unwrap();
    set_way(&server, "a", " ").await;
    let message = message(&server, "a", false).await;
    assert!(message.contains("image"), "{message}");
    let now = pods(&server).get("a").await.unwrap();
    assert_eq!(now.resource_version(), before.resource_version());
}

#[tokio::test]
async fn a_name_that_another_has() {
    for strategy in ALL {
        let server = server().await;
        let widget = Widget::new(
            "a",
            WidgetSpec {
                way: Some("theirs".into()),
                size: 1,
            },
        );
        let metadata = ObjectMeta {
            name: Some("a".into()),
            ..ObjectMeta::default()
        };
        let theirs = pods(&server)
            .create(&PostParams::default(), &pod(&widget, metadata))
            .await
            .unwrap();
        let from = server.requests().len();
        let _running = start(&server, strategy).await;
        create(&server, "a", "one").await;
        let message = message(&server, "a", false).await;
        assert!(
            message.contains("controlled by nobody"),
            "{strategy:?}: {message}"
        );
        until_quiet(&server).await;
        assert_eq!(pod_writes(&server, from), [""; 0], "{strategy:?}");
        let now = pods(&server).get("a").await.unwrap();
        assert_eq!(
            now.resource_version(),
            theirs.resource_version(),
            "{strategy:?}"
        );
    }
}

#[tokio::test]
async fn a_replaced_service_keeps_what_the_server_has_allocated() {
    struct Services;
    impl Declarative for Services {
        type Resource = Widget;
        fn desired(&self, widget: &Widget, observed: &Observed) -> Result<Desired<Widget>> {
            let port = ServicePort {
                port: widget.spec.size,
                ..ServicePort::default()
            };
            Ok(Desired::new().child(Service {
                metadata: observed.child_metadata(widget, widget.name_any()),
                spec: Some(ServiceSpec {
                    ports: Some(vec![port]),
                    ..ServiceSpec::default()
                }),
                ..Service::default()
            }))
        }
    }
    let server = server().await;
    let controllers = Controllers::new().add_declarative(
        async |_: Setup| Ok(Services),
        |watches| watches.owns::<Service>().update(Replace),
    );
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    create(&server, "a", "ok").await;
    let services: Api<Service> = Api::default_namespaced(server.client());
    let before = server
        .eventually("the service", async || services.get_opt("a").await.unwrap())
        .await;
    until_quiet(&server).await;
    patch(&server, "a", json!({ "spec": { "size": 8080 } })).await;
    let after = server
        .eventually("the new port", async || {
            let service = services.get("a").await.unwrap();
            let ports = service.spec.as_ref()?.ports.as_ref()?;
            (ports.len() == 1 && ports[0].port == 8080).then_some(service)
        })
        .await;
    let ip = |service: &Service| service.spec.as_ref().unwrap().cluster_ip.clone().unwrap();
    assert_eq!((after.uid(), ip(&after)), (before.uid(), ip(&before)));
}

/// A ConfigMap with one entry.
struct Maps;

impl Declarative for Maps {
    type Resource = Widget;

    fn desired(&self, widget: &Widget, observed: &Observed) -> Result<Desired<Widget>> {
        let way = widget.spec.way.clone().unwrap_or_default();
        Ok(Desired::new().child(ConfigMap {
            metadata: observed.child_metadata(widget, widget.name_any()),
            data: Some([("way".into(), way)].into()),
            ..ConfigMap::default()
        }))
    }

    fn status(
        &self,
        _: &Widget,
        _: &Observed,
        _: Result<&Applied, &Error>,
    ) -> Result<Status<Widget>> {
        Ok(Status::unchanged())
    }
}

#[tokio::test]
async fn the_only_entry_of_a_map_is_restored() {
    for strategy in [Apply, Replace, Recreate] {
        let server = server().await;
        let controllers = Controllers::new().add_declarative(
            async |_: Setup| Ok(Maps),
            |watches| watches.owns::<ConfigMap>().update(strategy),
        );
        let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
        create(&server, "a", "one").await;
        until_quiet(&server).await;
        let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
        let change = Patch::Merge(json!({ "data": { "way": "changed" } }));
        let changed = maps.patch("a", &PatchParams::default(), &change).await;
        assert_eq!(changed.unwrap().data.unwrap()["way"], "changed");
        until_quiet(&server).await;
        let restored = maps.get("a").await.unwrap();
        assert_eq!(restored.data.unwrap()["way"], "one", "{strategy:?}");
    }
}

/// A ConfigMap, and a Service whose selector, which is atomic, has the `way` of the object.
struct Both;

impl Declarative for Both {
    type Resource = Widget;

    fn desired(&self, widget: &Widget, observed: &Observed) -> Result<Desired<Widget>> {
        let way = widget.spec.way.clone().unwrap_or_default();
        let port = ServicePort {
            port: 80,
            ..ServicePort::default()
        };
        Ok(Maps.desired(widget, observed)?.child(Service {
            metadata: observed.child_metadata(widget, widget.name_any()),
            spec: Some(ServiceSpec {
                selector: Some([("way".into(), way)].into()),
                ports: Some(vec![port]),
                ..ServiceSpec::default()
            }),
            ..Service::default()
        }))
    }
}

#[tokio::test]
async fn each_replacement_keeps_the_entries_of_others_but_not_in_an_atomic_map() {
    let server = server().await;
    let controllers = Controllers::new().add_declarative(
        async |_: Setup| Ok(Both),
        |watches| {
            let watches = watches.owns::<ConfigMap>().update(Replace);
            watches.owns::<Service>().update(Replace)
        },
    );
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    create(&server, "a", "one").await;
    until_quiet(&server).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let services: Api<Service> = Api::default_namespaced(server.client());
    let by_another = PatchParams {
        field_manager: Some("another".into()),
        ..PatchParams::default()
    };
    // the other writer takes the only entry of the operator as well
    let change = json!({ "data": { "way": "changed", "theirs": "x" } });
    maps.patch("a", &by_another, &Patch::Merge(change))
        .await
        .unwrap();
    let change = json!({
        "metadata": { "labels": { "theirs": "x" } },
        "spec": { "selector": { "theirs": "x" }, "ports": [{ "name": "theirs", "port": 81 }, { "name": "ours", "port": 80 }] },
    });
    services
        .patch("a", &by_another, &Patch::Strategic(change))
        .await
        .unwrap();
    for way in ["two", "three"] {
        set_way(&server, "a", way).await;
        until_quiet(&server).await;
        let data = maps.get("a").await.unwrap().data.unwrap();
        assert_eq!((&*data["way"], &*data["theirs"], data.len()), (way, "x", 2));
        let service = services.get("a").await.unwrap();
        assert_eq!(service.labels()["theirs"], "x");
        let spec = service.spec.unwrap();
        assert_eq!(
            spec.selector.unwrap(),
            [("way".to_owned(), way.to_owned())].into()
        );
        let ports: Vec<i32> = spec.ports.unwrap().iter().map(|port| port.port).collect();
        assert_eq!(ports, [80, 81]);
    }
}
