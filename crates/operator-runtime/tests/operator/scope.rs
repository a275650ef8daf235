//! Namespaces, cluster scope, and kinds that are watched without being owned.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::support::{self, Calls, Fleet, FleetSpec, Running, Widget, WidgetSpec, server, widgets};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::{
    Api, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use operator_runtime::{
    Action, Changed, Context, Controllers, ObjectRef, Reconciler, Result, Settings, Setup, Store,
};
use serde_json::json;

async fn create_in(server: &operator_testing::Server, namespace: &str) -> Api<ConfigMap> {
    let metadata = ObjectMeta {
        name: Some(namespace.into()),
        ..ObjectMeta::default()
    };
    let namespaces: Api<Namespace> = Api::all(server.client());
    let made = Namespace {
        metadata,
        ..Namespace::default()
    };
    namespaces
        .create(&PostParams::default(), &made)
        .await
        .unwrap();
    let widgets: Api<Widget> = Api::namespaced(server.client(), namespace);
    let widget = Widget::new("a", WidgetSpec::default());
    widgets
        .create(&PostParams::default(), &widget)
        .await
        .unwrap();
    Api::namespaced(server.client(), namespace)
}

#[tokio::test]
async fn one_several_or_all_namespaces_are_watched() {
    let server = server().await;
    let children = [
        create_in(&server, "one").await,
        create_in(&server, "two").await,
        create_in(&server, "three").await,
    ];
    for (watched, expected) in [
        (&["one"][..], [true, false, false]),
        (&["one", "two"], [true, true, false]),
        (&[], [true, true, true]),
    ] {
        let calls = Arc::new(Calls::default());
        let mut settings = Settings::for_tests();
        settings.namespaces = watched.iter().map(ToString::to_string).collect();
        let running = Running::start(server.client(), settings, widgets::<false>(&calls)).await;
        let count = expected.iter().filter(|expected| **expected).count();
        server
            .eventually("they are reconciled", async || {
                (calls.finished() >= count).then_some(())
            })
            .await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        let mut made = [false; 3];
        for (made, children) in made.iter_mut().zip(&children) {
            *made = children.get_opt("a").await.unwrap().is_some();
        }
        assert_eq!(made, expected, "{watched:?}");
        // The deletion of a child is noticed in each watched namespace.
        for (index, children) in children
            .iter()
            .enumerate()
            .filter(|(index, _)| expected[*index])
        {
            let old = children.get("a").await.unwrap();
            children.delete("a", &Default::default()).await.unwrap();
            server
                .eventually(&format!("child {index} returns"), async || {
                    children
                        .get_opt("a")
                        .await
                        .unwrap()
                        .filter(|new| new.uid() != old.uid())
                })
                .await;
        }
        running.stop().await.unwrap();
    }
    let all_namespaces = server.requests().into_iter().filter(|request| {
        request.verb == "watch" && request.resource == "widgets" && request.namespace.is_empty()
    });
    assert!(all_namespaces.count() >= 1, "all are one watch");
}

#[tokio::test]
async fn children_outside_the_listed_namespaces_trigger_a_cluster_scoped_owner() {
    let server = server().await;
    let fleets = Fleets(Arc::default());
    let controllers = Controllers::new().add(
        async move |_: Setup| Ok(fleets),
        operator_runtime::Watches::owns::<ConfigMap>,
    );
    let mut settings = Settings::for_tests();
    settings.namespaces = vec!["elsewhere".into()];
    let _running = Running::start(server.client(), settings, controllers).await;
    let api: Api<Fleet> = Api::all(server.client());
    api.create(&PostParams::default(), &Fleet::new("fleet", FleetSpec {}))
        .await
        .unwrap();
    let children: Api<ConfigMap> = Api::default_namespaced(server.client());
    for _ in 0..2 {
        server
            .eventually("its child is there", async || {
                children.get_opt("fleet").await.unwrap()
            })
            .await;
        support::until_quiet(&server).await;
        let _ = children.delete("fleet", &Default::default()).await;
    }
}

/// Owns a ConfigMap, and remembers which Secrets changed.
struct Fleets(Arc<Mutex<Vec<String>>>);

impl Reconciler for Fleets {
    type Resource = Fleet;

    async fn reconcile(&self, fleet: Arc<Fleet>, cx: &Context) -> Result<Action> {
        let child = ConfigMap {
            metadata: cx.child_metadata(&*fleet, fleet.name_any()),
            ..ConfigMap::default()
        };
        cx.apply(&child).await?;
        cx.update_status(&*fleet, &json!({ "seen": self.0.lock().unwrap().len() }))
            .await?;
        Ok(Action::await_change())
    }

    fn parents(&self, changed: &Changed, cache: &Store<Fleet>) -> Vec<ObjectRef<Fleet>> {
        assert_eq!(
            (changed.group.as_str(), changed.kind.as_str()),
            ("", "Secret")
        );
        self.0
            .lock()
            .unwrap()
            .push(changed.metadata.name.clone().unwrap_or_default());
        cache
            .state()
            .iter()
            .map(|fleet| ObjectRef::from_obj(&**fleet))
            .collect()
    }
}

#[tokio::test]
async fn a_cluster_scoped_owner_has_children_and_is_triggered_by_watched_kinds() {
    let server = server().await;
    let seen = Arc::new(Mutex::new(vec![]));
    let fleets = Fleets(seen.clone());
    let controllers = Controllers::new().add(
        async move |_: Setup| Ok(fleets),
        |c| c.owns::<ConfigMap>().watches::<Secret>(),
    );
    let running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    let api: Api<Fleet> = Api::all(server.client());
    api.create(&PostParams::default(), &Fleet::new("fleet", FleetSpec {}))
        .await
        .unwrap();
    let children: Api<ConfigMap> = Api::default_namespaced(server.client());
    let child = server
        .eventually("its child is there", async || {
            children.get_opt("fleet").await.unwrap()
        })
        .await;
    assert_eq!(child.owner_references()[0].kind, "Fleet");
    children.delete("fleet", &Default::default()).await.unwrap();
    server
        .eventually("its child returns", async || {
            children.get_opt("fleet").await.unwrap()
        })
        .await;

    let metadata = ObjectMeta {
        name: Some("key".into()),
        ..ObjectMeta::default()
    };
    let secret = Secret {
        metadata,
        ..Secret::default()
    };
    let secrets: Api<Secret> = Api::default_namespaced(server.client());
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    server
        .eventually("the secret is seen", async || {
            seen.lock()
                .unwrap()
                .contains(&"key".to_owned())
                .then_some(())
        })
        .await;
    let before = running
        .metric(r#"controller_runtime_reconcile_total{controller="fleet",result="success"}"#)
        .await;
    let label = Patch::Merge(json!({ "metadata": { "labels": { "a": "b" } } }));
    secrets
        .patch("key", &PatchParams::default(), &label)
        .await
        .unwrap();
    server
        .eventually("the fleet is reconciled", async || {
            let now = running
                .metric(
                    r#"controller_runtime_reconcile_total{controller="fleet",result="success"}"#,
                )
                .await;
            (now > before).then_some(())
        })
        .await;
}

/// Records the changes of all watched Widgets and ConfigMaps.
struct Counting(Arc<Mutex<Vec<String>>>);

impl Reconciler for Counting {
    type Resource = Fleet;

    async fn reconcile(&self, _fleet: Arc<Fleet>, _cx: &Context) -> Result<Action> {
        Ok(Action::await_change())
    }

    fn parents(&self, changed: &Changed, _cache: &Store<Fleet>) -> Vec<ObjectRef<Fleet>> {
        let name = changed.metadata.name.as_deref().unwrap_or_default();
        let mut seen = self.0.lock().unwrap();
        seen.push(format!("{} {name}", changed.kind));
        vec![]
    }
}

#[tokio::test]
async fn controllers_that_watch_the_same_kind_share_one_watch() {
    let server = server().await;
    support::create(&server, "early", "ok").await;
    let seen = Arc::new(Mutex::new(vec![]));
    let (counting, calls) = (Counting(seen.clone()), Arc::new(Calls::default()));
    let setup = async move |_: Setup| Ok(counting);
    // the first controller reconciles Widgets and owns ConfigMaps; the other one owns and watches ConfigMaps, and watches Widgets
    let controllers = widgets::<false>(&calls).add(setup, |c| {
        c.owns::<ConfigMap>().watches::<ConfigMap>().watches_named(
            "test.example.com",
            "v1",
            "Widget",
            "widgets",
        )
    });
    let running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    for name in ["early", "late"] {
        if name == "late" {
            support::create(&server, name, "ok").await;
        }
        support::ready(&server, name).await;
        server
            .eventually("all hear of it", async || {
                let seen = seen.lock().unwrap();
                let has = |kind: &str| seen.contains(&format!("{kind} {name}"));
                (has("Widget") && has("ConfigMap")).then_some(())
            })
            .await;
    }
    let children: Api<ConfigMap> = Api::default_namespaced(server.client());
    let old = children.get("late").await.unwrap();
    children.delete("late", &Default::default()).await.unwrap();
    server
        .eventually("the owner hears of it as well", async || {
            let new = children.get_opt("late").await.unwrap();
            new.filter(|new| new.uid() != old.uid())
        })
        .await;
    running.stop().await.unwrap();
    let mut watches: Vec<String> = server
        .requests()
        .into_iter()
        .filter(|request| request.verb == "watch")
        .map(|request| request.resource)
        .collect();
    watches.sort();
    assert_eq!(watches, ["configmaps", "fleets", "widgets"]);
}

/// Another kind with the name `Widget`.
mod other {
    use super::*;

    #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize)]
    #[kube(
        group = "other.example.com",
        version = "v1",
        kind = "Widget",
        namespaced,
        schema = "disabled"
    )]
    pub struct WidgetSpec {}

    pub struct Failing;

    impl Reconciler for Failing {
        type Resource = Widget;

        async fn reconcile(&self, _widget: Arc<Widget>, _cx: &Context) -> Result<Action> {
            Err(anyhow::anyhow!("always fails").into())
        }
    }
}

#[tokio::test]
async fn two_kinds_with_the_same_name_are_distinguished() {
    let server = server().await;
    let widgets_of_other: Api<other::Widget> = Api::default_namespaced(server.client());
    let widget = other::Widget::new("a", other::WidgetSpec {});
    widgets_of_other
        .create(&PostParams::default(), &widget)
        .await
        .unwrap();
    // The list of the Widgets of `test.example.com` is never answered.
    let pass = server.client();
    let held = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let pass = pass.clone();
        async move {
            if request.uri().path().contains("/test.example.com/") {
                std::future::pending::<()>().await;
            }
            pass.send(request).await
        }
    });
    let client = kube::Client::new(held, server.client().default_namespace());
    let controllers = widgets::<false>(&Arc::new(Calls::default()))
        .add(async |_: Setup| Ok(other::Failing), |watches| watches);
    let running = Running::start(client, Settings::for_tests(), controllers).await;
    let failing = |group| {
        format!(
            r#"operator_failing_objects{{controller="widget.{group}",group="{group}",kind="Widget"}}"#
        )
    };
    server
        .eventually("the one that is listed fails", async || {
            let failing = running.metric(&failing("other.example.com")).await;
            (failing == Some(1.0)).then_some(())
        })
        .await;
    assert_eq!(
        running.metric(&failing("test.example.com")).await,
        Some(0.0)
    );
    let waits = "waiting for the lists of Widget.test.example.com";
    assert_eq!(running.page("/readyz").await, (503, waits.to_owned()));
}

#[tokio::test]
async fn a_relist_finds_a_child_that_was_deleted_during_a_gap() {
    let server = server().await;
    // Needs to disturb the watches, which only the server in memory can.
    let Some(service) = server.service() else {
        return;
    };
    let calls = Arc::new(Calls::default());
    let _running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<false>(&calls),
    )
    .await;
    support::create(&server, "a", "ok").await;
    support::ready(&server, "a").await;
    support::until_quiet(&server).await;
    service.expire_watches();
    let children: Api<ConfigMap> = Api::default_namespaced(server.client());
    let old = children.get("a").await.unwrap();
    children.delete("a", &Default::default()).await.unwrap();
    server
        .eventually("it returns", async || {
            children
                .get_opt("a")
                .await
                .unwrap()
                .filter(|new| new.uid() != old.uid())
        })
        .await;
}
