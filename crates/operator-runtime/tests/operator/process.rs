//! The process of an operator: leader election, shutdown, health and readiness.

use std::{sync::Arc, time::Duration};

use crate::support::{self, Calls, OPERATOR, Running, create, ready, server, until_quiet, widgets};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    client::Body,
};
use operator_runtime::{Controllers, Fatal, Settings};
use operator_testing::Server;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

fn electing() -> Settings {
    let mut settings = Settings::for_tests();
    settings.leader_election = true;
    settings
}

async fn holder(server: &Server) -> Option<String> {
    let api: Api<Lease> = Api::default_namespaced(server.client());
    let lease = api.get_opt(OPERATOR).await.unwrap()?;
    lease
        .spec?
        .holder_identity
        .filter(|holder| !holder.is_empty())
}

const LEADER: &str = r#"leader_election_master_status{name="widget-operator"}"#;

async fn until_leading(server: &Server, running: &Running) {
    server
        .eventually("it leads", async || {
            (running.metric(LEADER).await == Some(1.0)).then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_standby_takes_over_immediately_when_the_leader_stops() {
    let server = server().await;
    let (first_calls, second_calls) = (Arc::new(Calls::default()), Arc::new(Calls::default()));
    let first = Running::start(server.client(), electing(), widgets::<false>(&first_calls)).await;
    until_leading(&server, &first).await;
    let second = Running::start(server.client(), electing(), widgets::<false>(&second_calls)).await;
    create(&server, "a", "ok").await;
    ready(&server, "a").await;
    sleep(Duration::from_millis(500)).await;
    assert!(first_calls.finished() > 0 && second_calls.reconciled() == 0);
    assert_eq!(second.metric(LEADER).await, Some(0.0));
    assert_eq!(
        second.page("/readyz").await,
        (200, "ok".into()),
        "a standby is ready too"
    );

    let stopped = Instant::now();
    first.stop().await.unwrap();
    until_leading(&server, &second).await;
    assert!(
        stopped.elapsed() < Duration::from_secs(2),
        "it waited for the lease to expire"
    );
    server
        .eventually("the second reconciles", async || {
            (second_calls.finished() > 0).then_some(())
        })
        .await;
    second.stop().await.unwrap();
    assert_eq!(holder(&server).await, None, "the lease is released");
}

#[tokio::test]
async fn a_standby_takes_over_from_a_crashed_leader_when_the_lease_expires() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let first = Running::start(server.client(), electing(), widgets::<false>(&calls)).await;
    until_leading(&server, &first).await;
    let second = Running::start(server.client(), electing(), widgets::<false>(&calls)).await;
    sleep(Duration::from_millis(300)).await;
    let crashed = Instant::now();
    drop(first);
    until_leading(&server, &second).await;
    let took = crashed.elapsed();
    assert!(took > Duration::from_millis(2500), "after {took:?}");
}

#[tokio::test]
async fn a_leader_that_loses_its_lease_stops_immediately() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let mut running = Running::start(server.client(), electing(), widgets::<false>(&calls)).await;
    until_leading(&server, &running).await;
    create(&server, "a", "hang").await;
    server
        .eventually("it hangs", async || (calls.reconciled() > 0).then_some(()))
        .await;
    let api: Api<Lease> = Api::default_namespaced(server.client());
    let thief = Patch::Merge(json!({ "spec": { "holderIdentity": "thief" } }));
    api.patch(OPERATOR, &PatchParams::default(), &thief)
        .await
        .unwrap();
    let stolen = Instant::now();
    let ended = running.ended().await;
    assert!(matches!(ended, Err(Fatal::LeaseLost { .. })), "{ended:?}");
    assert!(
        stolen.elapsed() < Duration::from_secs(1),
        "it worked on until the renew deadline"
    );
    assert_eq!(holder(&server).await.as_deref(), Some("thief"));
}

#[tokio::test]
async fn running_reconciliations_end_before_the_lease_is_released() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let mut running = Running::start(server.client(), electing(), widgets::<false>(&calls)).await;
    until_leading(&server, &running).await;
    create(&server, "a", "slow").await;
    server
        .eventually("it is in flight", async || {
            (calls.reconciled() > 0).then_some(())
        })
        .await;
    running.handle.shutdown();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(running.page("/readyz").await, (503, "stopping".into()));
    assert_eq!(running.page("/healthz").await, (200, "ok".into()));
    assert_eq!(running.page("/elsewhere").await, (404, String::new()));
    assert_eq!(running.ask("HEAD", "/healthz").await, (200, String::new()));
    assert_eq!(running.ask("POST", "/healthz").await.0, 405);
    assert_eq!(running.ask("POST", "/elsewhere").await.0, 404);
    assert!(holder(&server).await.is_some() && calls.finished() == 0);
    running.ended().await.unwrap();
    assert_eq!((calls.finished(), holder(&server).await), (1, None));
}

#[tokio::test]
async fn reconciliations_that_do_not_end_are_abandoned_after_the_shutdown_timeout() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let mut settings = electing();
    settings.shutdown_timeout = Duration::from_millis(300);
    let running = Running::start(server.client(), settings, widgets::<false>(&calls)).await;
    create(&server, "a", "hang").await;
    server
        .eventually("it hangs", async || (calls.reconciled() > 0).then_some(()))
        .await;
    let asked = Instant::now();
    running.stop().await.unwrap();
    assert!(
        asked.elapsed() > Duration::from_millis(250),
        "it did not wait"
    );
    assert_eq!(holder(&server).await, None);
}

#[tokio::test]
async fn an_operator_is_ready_when_its_cache_is_full() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<false>(&calls),
    )
    .await;
    server
        .eventually("it is ready", async || {
            (running.page("/readyz").await.0 == 200).then_some(())
        })
        .await;
    create(&server, "a", "ok").await;
    ready(&server, "a").await;
    until_quiet(&server).await;
    let success = r#"controller_runtime_reconcile_total{controller="widget",result="success"}"#;
    assert!(running.metric(success).await >= Some(1.0));
    assert!(
        running
            .metric(r#"operator_watch_starts_total{group="test.example.com",resource="widgets"}"#)
            .await
            >= Some(1.0)
    );
}

#[tokio::test]
async fn without_an_api_server_it_is_healthy_and_not_ready() {
    let unreachable = tower::service_fn(async |_: http::Request<Body>| {
        Err::<http::Response<Body>, _>(std::io::Error::other("connection refused"))
    });
    let calls = Arc::new(Calls::default());
    for settings in [Settings::for_tests(), electing()] {
        let client = Client::new(unreachable, "default");
        let running = Running::start(client, settings, widgets::<false>(&calls)).await;
        sleep(Duration::from_millis(300)).await;
        assert_eq!(running.page("/healthz").await.0, 200);
        assert_eq!(running.page("/readyz").await.0, 503);
        let asked = Instant::now();
        running.stop().await.unwrap();
        assert!(
            asked.elapsed() < Duration::from_secs(3),
            "nothing is in flight"
        );
    }
}

#[tokio::test]
async fn two_controllers_of_one_kind_are_refused() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let controllers = widgets::<false>(&calls).and(widgets::<true>(&calls));
    let mut running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    let ended = timeout(Duration::from_secs(5), running.ended()).await;
    assert_eq!(
        ended.expect("it ends").unwrap_err().to_string(),
        "two controllers are registered for Widget.test.example.com\nhelp: give one of them a name: add the reconciler with `add_named`"
    );
}

#[tokio::test]
async fn a_setup_that_fails_ends_the_operator() {
    let server = server().await;
    let setup = async |setup: operator_runtime::Setup| {
        assert_eq!(setup.get::<String>(), None);
        Err::<support::Widgets<false>, _>(anyhow::anyhow!("no such flag").into())
    };
    let controllers = Controllers::new().add(setup, |c| c);
    let mut running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    let ended = running.ended().await.unwrap_err();
    assert_eq!(
        ended.to_string(),
        "cannot set up a controller: no such flag"
    );
}
