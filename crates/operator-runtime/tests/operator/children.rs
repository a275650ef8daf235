//! Children are read from a cache: which requests this saves, and that an outdated cache does no harm.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::support::{
    Gate, OPERATOR, Running, Widget, Widgets, create, event, patch, ready, server, until_quiet,
};
use k8s_openapi::{
    api::core::v1::{ConfigMap, ResourceQuota, ResourceQuotaSpec, ServiceAccount},
    apimachinery::pkg::api::resource::Quantity,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
    client::Body,
};
use operator_runtime::{
    Action, Condition, Context, Controllers, Reconciler, Result, Settings, Setup, Watches,
};
use operator_testing::{Request, Server};
use serde_json::json;

/// Applies a ServiceAccount for each Widget, with its size.
struct Accounts;

impl Reconciler for Accounts {
    type Resource = Widget;

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context) -> Result<Action> {
        let size = [("size".to_owned(), widget.spec.size.to_string())];
        let account = ServiceAccount {
            metadata: ObjectMeta {
                annotations: Some(size.into()),
                ..cx.child_metadata(&*widget, widget.name_any())
            },
            ..ServiceAccount::default()
        };
        let account = cx.apply(&account).await?;
        assert_eq!(account.name_any(), widget.name_any());
        let generation = widget.metadata.generation;
        let mut status = widget.status.clone().unwrap_or_default();
        Condition::new("Ready", true, "Applied", "the child is there")
            .set_in(status.conditions.get_or_insert_default(), generation)?;
        cx.update_status(&*widget, &status).await?;
        Ok(Action::await_change())
    }
}

/// Applies a ResourceQuota for each Widget, with its size in a form that the API server normalizes.
struct Quotas;

impl Reconciler for Quotas {
    type Resource = Widget;

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context) -> Result<Action> {
        let cpu = Quantity(format!("{}000m", widget.spec.size));
        let quota = ResourceQuota {
            metadata: cx.child_metadata(&*widget, widget.name_any()),
            spec: Some(ResourceQuotaSpec {
                hard: Some([("cpu".to_owned(), cpu)].into()),
                ..ResourceQuotaSpec::default()
            }),
            ..ResourceQuota::default()
        };
        cx.apply(&quota).await?;
        Ok(Action::await_change())
    }
}

/// An operator that has applied the child of the Widget `first`, and the gate of its watch of ServiceAccounts.
async fn running(server: &Server) -> (Running, Gate) {
    let gate = Gate::new("/serviceaccounts", true);
    let accounts = Controllers::new().add(
        async |_: Setup| Ok(Accounts),
        Watches::owns::<ServiceAccount>,
    );
    let running = Running::start(gate.client(server), Settings::for_tests(), accounts).await;
    create(server, "first", "ok").await;
    ready(server, "first").await;
    until_quiet(server).await;
    (running, gate)
}

fn accounts(server: &Server) -> Api<ServiceAccount> {
    Api::default_namespaced(server.client())
}

/// Creates a ServiceAccount that no Widget controls.
async fn foreign(server: &Server, name: &str) -> ServiceAccount {
    let metadata = ObjectMeta {
        name: Some(name.into()),
        ..ObjectMeta::default()
    };
    let account = ServiceAccount {
        metadata,
        ..ServiceAccount::default()
    };
    let parameters = PostParams::default();
    accounts(server)
        .create(&parameters, &account)
        .await
        .unwrap()
}

/// The operator's requests for single ServiceAccounts: the verbs, with the codes of the responses.
fn asked(requests: &[Request]) -> Vec<(&'static str, u16)> {
    requests
        .iter()
        .filter(|request| {
            request.agent.starts_with(OPERATOR) && request.resource == "serviceaccounts"
        })
        .filter(|request| !request.name.is_empty())
        .map(|request| (request.verb, request.code))
        .collect()
}

async fn size(server: &Server, name: &str) -> BTreeMap<String, String> {
    let account = accounts(server).get(name).await.unwrap();
    account
        .metadata
        .annotations
        .unwrap_or_default()
        .into_iter()
        .filter(|(key, _)| key == "size")
        .collect()
}

#[tokio::test]
async fn a_child_is_never_read_and_an_unchanged_child_makes_no_requests() {
    let server = server().await;
    let (_running, _gate) = running(&server).await;
    let before = server.requests().len();
    create(&server, "a", "ok").await;
    ready(&server, "a").await;
    until_quiet(&server).await;
    assert_eq!(asked(&server.requests()[before..]), [("patch", 201)]);

    let before = server.requests().len();
    let noted = json!({ "metadata": { "annotations": { "note": "new" } } });
    patch(&server, "a", noted.clone()).await;
    let parameters = PatchParams::default();
    let api = accounts(&server);
    api.patch("a", &parameters, &Patch::Merge(noted))
        .await
        .unwrap();
    until_quiet(&server).await;
    let since = server.requests();
    let of_operator = since[before..]
        .iter()
        .filter(|request| request.agent.starts_with(OPERATOR));
    assert_eq!(of_operator.collect::<Vec<_>>(), [] as [&Request; 0]);

    let before = server.requests().len();
    let changed = json!({ "metadata": { "annotations": { "size": "9" } } });
    api.patch("a", &parameters, &Patch::Merge(changed))
        .await
        .unwrap();
    server
        .eventually("the child is as it should be", async || {
            (size(&server, "a").await["size"] == "1").then_some(())
        })
        .await;
    assert_eq!(asked(&server.requests()[before..]), [("patch", 200)]);
}

/// How often an operator reads a ConfigMap while it applies one, and is then triggered without a change of the spec.
async fn config_maps_read(owned: fn(Watches) -> Watches) -> usize {
    let server = server().await;
    let setup = async |_: Setup| Ok(Widgets::<false>(Arc::default()));
    let controllers = Controllers::new().add(setup, owned);
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    create(&server, "a", "ok").await;
    ready(&server, "a").await;
    let noted = json!({ "metadata": { "annotations": { "note": "new" } } });
    patch(&server, "a", noted).await;
    until_quiet(&server).await;
    let requests = server.requests();
    requests
        .iter()
        .filter(|request| request.resource == "configmaps" && request.verb == "get")
        .count()
}

#[tokio::test]
async fn the_content_of_config_maps_is_cached_if_requested() {
    assert_ne!(config_maps_read(Watches::owns::<ConfigMap>).await, 0);
    let cached = config_maps_read(Watches::owns_with_content::<ConfigMap>).await;
    assert_eq!(cached, 0);
}

#[tokio::test(start_paused = true)]
async fn a_name_in_use_is_refused_without_a_write() {
    let server = server().await;
    let gate = Gate::new("/serviceaccounts", false);
    let owned = Controllers::new().add(
        async |_: Setup| Ok(Accounts),
        Watches::owns::<ServiceAccount>,
    );
    let _running = Running::start(gate.client(&server), Settings::for_tests(), owned).await;

    let mut untouched = vec![];
    for (name, expected) in [
        ("unlisted", vec![("get", 200)]),
        ("known", vec![("get", 200)]),
        ("unheard", vec![("patch", 409), ("get", 200)]),
    ] {
        gate.set(name == "known");
        untouched.push(foreign(&server, name).await);
        if name == "known" {
            create(&server, "first", "ok").await;
            ready(&server, "first").await;
            until_quiet(&server).await;
        }
        let before = server.requests().len();
        create(&server, name, "ok").await;
        let note = event(&server, name, "ChildTaken").await;
        assert!(note.contains(name), "{note}");
        let asked = asked(&server.requests()[before..]);
        assert_eq!(asked[..expected.len()], expected, "{name}");
        assert!(
            asked
                .iter()
                .all(|(verb, code)| *verb == "get" || *code == 409)
        );
    }
    for account in untouched {
        let name = account.name_any();
        assert_eq!(accounts(&server).get(&name).await.unwrap(), account);
    }
}

#[tokio::test]
async fn a_child_released_during_a_silent_watch_is_not_taken_back() {
    let server = server().await;
    let (_running, gate) = running(&server).await;
    gate.set(false);
    let orphan = json!({ "metadata": { "ownerReferences": null } });
    let (api, parameters) = (accounts(&server), PatchParams::default());
    let orphan = api
        .patch("first", &parameters, &Patch::Merge(orphan))
        .await
        .unwrap();
    patch(&server, "first", json!({ "spec": { "size": 2 } })).await;
    event(&server, "first", "ChildTaken").await;
    assert_eq!(api.get("first").await.unwrap(), orphan);
}

#[tokio::test]
async fn a_child_deleted_during_a_silent_watch_is_recreated() {
    let server = server().await;
    let (_running, gate) = running(&server).await;
    gate.set(false);
    accounts(&server)
        .delete("first", &Default::default())
        .await
        .unwrap();
    patch(&server, "first", json!({ "spec": { "size": 2 } })).await;
    server
        .eventually("it is there again", async || {
            let account = accounts(&server).get_opt("first").await.unwrap()?;
            (account.annotations()["size"] == "2").then_some(())
        })
        .await;
}

#[tokio::test]
async fn own_writes_are_known_before_the_watch_reports_them() {
    let server = server().await;
    let (_running, gate) = running(&server).await;
    gate.set(false);
    let before = server.requests().len();
    for wanted in ["2", "1", "3", "1"] {
        let to = json!({ "spec": { "size": wanted.parse::<i32>().unwrap() } });
        patch(&server, "first", to).await;
        server
            .eventually("it has the size", async || {
                (size(&server, "first").await["size"] == wanted).then_some(())
            })
            .await;
    }
    gate.set(true);
    until_quiet(&server).await;
    assert_eq!(size(&server, "first").await["size"], "1");
    assert_eq!(asked(&server.requests()[before..]), [("patch", 200); 4]);
}

#[tokio::test]
async fn a_write_without_a_response_is_not_taken_for_a_failed_one() {
    let server = server().await;
    let (pass, is_lossy) = (server.client(), Arc::new(AtomicBool::default()));
    let loses = is_lossy.clone();
    let lossy = tower::service_fn(move |mut request: http::Request<Body>| {
        let agent = http::HeaderValue::from_static(OPERATOR);
        request.headers_mut().insert("user-agent", agent);
        let is_lost = request.method() == "PATCH" && loses.load(Ordering::SeqCst);
        let pass = pass.clone();
        async move {
            let answer = pass.send(request).await?;
            if is_lost {
                Err(kube::Error::Service("the answer was lost".into()))
            } else {
                Ok::<_, kube::Error>(answer)
            }
        }
    });
    let client = Client::new(lossy, server.client().default_namespace());
    let quotas =
        Controllers::new().add(async |_: Setup| Ok(Quotas), Watches::owns::<ResourceQuota>);
    let _running = Running::start(client, Settings::for_tests(), quotas).await;
    let api: Api<ResourceQuota> = Api::default_namespaced(server.client());
    let has = async |cpu: &str| {
        let hard = api.get_opt("a").await.unwrap()?.spec?.hard?;
        (hard["cpu"].0 == cpu).then_some(())
    };
    create(&server, "a", "ok").await;
    server
        .eventually("it is made", async || has("1").await)
        .await;
    until_quiet(&server).await;

    is_lossy.store(true, Ordering::SeqCst);
    patch(&server, "a", json!({ "spec": { "size": 2 } })).await;
    server
        .eventually("it is changed", async || has("2").await)
        .await;
    patch(&server, "a", json!({ "spec": { "size": 1 } })).await;
    is_lossy.store(false, Ordering::SeqCst);
    server
        .eventually("it is changed back", async || has("1").await)
        .await;
}
