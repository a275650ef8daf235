//! The style `declarative` with options, and beside another controller of its kind.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::{Api, ResourceExt, api::ObjectMeta};
use operator_runtime::{
    Action, Context, ControllerOptions, Controllers, Declarative, Desired, Observed, Reconciler,
    Result, Settings, Setup,
};

use crate::{
    controller::each::Calls,
    support::{Running, Widget, create, patch, server, until_quiet},
};

/// Returns a ServiceAccount for each Widget whose size is not 0, and reconciles it again after a minute.
#[derive(Default)]
struct Accounts(Calls);

impl Declarative for Accounts {
    type Resource = Widget;

    fn desired(&self, widget: &Widget, _observed: &Observed) -> Result<Desired<Widget>> {
        self.0.add(widget.name_any());
        let account = ServiceAccount {
            metadata: ObjectMeta {
                name: Some(widget.name_any()),
                ..ObjectMeta::default()
            },
            ..ServiceAccount::default()
        };
        let count = usize::from(widget.spec.size != 0);
        Ok(Desired::new().children(vec![account; count]))
    }

    fn options(&self) -> ControllerOptions<Widget> {
        ControllerOptions::default().resync(Duration::from_secs(60))
    }
}

/// Applies children of the same kinds.
struct Extra;

impl Reconciler for Extra {
    type Resource = Widget;

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context) -> Result<Action> {
        let metadata = cx.child_metadata(&*widget, format!("{}-extra", widget.name_any()));
        let account = ServiceAccount {
            metadata: metadata.clone(),
            ..ServiceAccount::default()
        };
        cx.apply(&account).await?;
        let map = ConfigMap {
            metadata,
            ..ConfigMap::default()
        };
        cx.apply(&map).await?;
        Ok(Action::await_change())
    }
}

#[tokio::test(start_paused = true)]
async fn a_declarative_controller_has_options() {
    let server = server().await;
    let accounts = Accounts::default();
    let seen = accounts.0.clone();
    let setup = async move |_: Setup| Ok(accounts);
    let controllers = Controllers::new()
        .add_declarative(setup, operator_runtime::Watches::owns::<ServiceAccount>);
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    create(&server, "a", "ok").await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let before = seen.of("a");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(seen.of("a"), before + 1);
}

#[tokio::test]
async fn children_of_another_controller_of_the_kind_are_not_pruned() {
    let server = server().await;
    let controllers = Controllers::new()
        .add_named(
            "extra",
            async |_: Setup| Ok(Extra),
            |watches| watches.owns::<ServiceAccount>().owns::<ConfigMap>(),
        )
        .add_declarative(
            async |_: Setup| Ok(Accounts::default()),
            |watches| watches.owns::<ServiceAccount>().owns::<ConfigMap>(),
        );
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    create(&server, "a", "ok").await;
    let accounts: Api<ServiceAccount> = Api::default_namespaced(server.client());
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    for name in ["a", "a-extra"] {
        server
            .eventually("both have their child", async || {
                accounts.get_opt(name).await.unwrap()
            })
            .await;
    }
    let settled = tokio::time::timeout(Duration::from_secs(20), until_quiet(&server));
    settled.await.expect("neither deletes what the other has");
    let uids = (
        accounts.get("a-extra").await.unwrap().uid(),
        maps.get("a-extra").await.unwrap().uid(),
    );
    patch(&server, "a", serde_json::json!({ "spec": { "size": 0 } })).await;
    server
        .eventually("its own child is pruned", async || {
            accounts.get_opt("a").await.unwrap().is_none().then_some(())
        })
        .await;
    until_quiet(&server).await;
    let after = (
        accounts.get("a-extra").await.unwrap().uid(),
        maps.get("a-extra").await.unwrap().uid(),
    );
    assert_eq!(after, uids);
}

#[tokio::test]
async fn an_unchanged_child_of_a_named_controller_is_neither_read_nor_written() {
    let server = server().await;
    let extra = async |_: Setup| Ok(Extra);
    let controllers = Controllers::new()
        .add_named("extra", extra, |watches| {
            watches
                .owns::<ServiceAccount>()
                .owns_with_content::<ConfigMap>()
        })
        .add_named(
            "accounts",
            async |_: Setup| Ok(Named),
            operator_runtime::Watches::owns::<ServiceAccount>,
        );
    let running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    create(&server, "a", "ok").await;
    let accounts: Api<ServiceAccount> = Api::default_namespaced(server.client());
    for name in ["a", "a-extra"] {
        server
            .eventually("both have their child", async || {
                accounts.get_opt(name).await.unwrap()
            })
            .await;
    }
    until_quiet(&server).await;
    let before = server.requests().len();
    let reconciled = async || {
        let of = async |controller: &str| {
            let line = format!(
                "controller_runtime_reconcile_total{{controller=\"{controller}\",result=\"success\"}}"
            );
            running.metric(&line).await.unwrap()
        };
        (of("extra").await, of("accounts").await)
    };
    let before_change = reconciled().await;
    let labels = serde_json::json!({ "metadata": { "labels": { "a": "b" } } });
    patch(&server, "a", labels).await;
    server
        .eventually("both reconcile it", async || {
            let (extra, accounts) = reconciled().await;
            (extra > before_change.0 && accounts > before_change.1).then_some(())
        })
        .await;
    until_quiet(&server).await;
    let requests = server.requests()[before..].to_vec();
    let requests = requests.iter().filter(|it| it.verb != "watch");
    let requests: Vec<_> = requests.map(|it| (it.verb, &*it.resource)).collect();
    assert_eq!(requests, [("patch", "widgets")]);
}

/// Applies a ServiceAccount for each Widget.
struct Named;

impl Reconciler for Named {
    type Resource = Widget;

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context) -> Result<Action> {
        let account = ServiceAccount {
            metadata: cx.child_metadata(&*widget, widget.name_any()),
            ..ServiceAccount::default()
        };
        cx.apply(&account).await?;
        Ok(Action::await_change())
    }
}
