//! The notice that an object was deleted.

use std::{num::NonZeroU16, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use operator_runtime::{Action, ControllerOptions};
use operator_testing::Server;

use crate::{
    controller::each::{Each, create, delete, failure, label, run, until},
    support::until_quiet,
};

#[tokio::test]
async fn a_deleted_object_is_reported_once_with_its_last_state() {
    let server = Server::start().await.unwrap();
    let each = Each {
        on_deleted: |pod: &Pod| {
            assert_eq!(pod.labels()["app"], "newest");
            Ok(())
        },
        ..Each::default()
    };
    let (seen, deleted) = (each.reconciled.clone(), each.deleted.clone());
    let running = run(&server, each).await;
    for name in ["a", "b"] {
        create(&server, name, "web").await;
        until(&server, "it is reconciled", || seen.of(name) > 0).await;
    }
    label(&server, "a", "newest").await;
    delete(&server, "a").await;
    until(&server, "it is reported", || deleted.of("a") > 0).await;
    until_quiet(&server).await;
    assert_eq!((deleted.of("a"), deleted.names().len()), (1, 1));
    let panics = r#"controller_runtime_reconcile_panics_total{controller="pods"}"#;
    assert_eq!(running.metric(panics).await, Some(0.0));
}

#[tokio::test]
async fn an_object_that_leaves_the_selector_is_reported() {
    let server = Server::start().await.unwrap();
    let each = Each {
        options: ControllerOptions::default().labels("app=web"),
        ..Each::default()
    };
    let (seen, deleted) = (each.reconciled.clone(), each.deleted.clone());
    let _running = run(&server, each).await;
    create(&server, "a", "web").await;
    until(&server, "it is reconciled", || seen.of("a") == 1).await;
    label(&server, "a", "db").await;
    until(&server, "it is reported", || deleted.of("a") == 1).await;
    label(&server, "a", "web").await;
    until(&server, "it is back", || seen.of("a") == 2).await;
}

#[tokio::test]
async fn a_list_reports_what_it_lacks_and_what_was_recreated() {
    let server = Server::start().await.unwrap();
    // Needs to disturb the watches, which only the server in memory can.
    let Some(service) = server.service() else {
        return;
    };
    let each = Each::<Pod>::default();
    let (seen, deleted) = (each.reconciled.clone(), each.deleted.clone());
    let _running = run(&server, each).await;
    for name in ["deleted", "recreated", "stays"] {
        create(&server, name, "web").await;
        until(&server, "it is reconciled", || seen.of(name) > 0).await;
    }
    service.expire_watches();
    for name in ["deleted", "recreated"] {
        delete(&server, name).await;
    }
    create(&server, "recreated", "web").await;
    until(&server, "both are reported", || {
        deleted.of("deleted") == 1 && deleted.of("recreated") == 1
    })
    .await;
    until(&server, "the new one is reconciled", || {
        seen.of("recreated") > 1
    })
    .await;
    until_quiet(&server).await;
    assert_eq!(deleted.names(), ["deleted", "recreated"]);
}

#[tokio::test]
async fn a_notice_that_fails_is_not_repeated_and_hurts_nobody() {
    let server = Server::start().await.unwrap();
    let each = Each {
        on_deleted: |pod: &Pod| match &*pod.name_any() {
            "panics" => panic!("as a test"),
            _ => Err(failure()),
        },
        ..Each::default()
    };
    let (seen, deleted) = (each.reconciled.clone(), each.deleted.clone());
    let running = run(&server, each).await;
    for name in ["panics", "fails"] {
        create(&server, name, "web").await;
        until(&server, "it is reconciled", || seen.of(name) > 0).await;
        delete(&server, name).await;
        until(&server, "it is reported", || deleted.of(name) > 0).await;
    }
    until_quiet(&server).await;
    assert_eq!((deleted.of("panics"), deleted.of("fails")), (1, 1));
    let panics = r#"controller_runtime_reconcile_panics_total{controller="pods"}"#;
    assert_eq!(running.metric(panics).await, Some(1.0));
}

#[tokio::test(start_paused = true)]
async fn a_notice_is_neither_delivered_beside_a_reconciliation_nor_after_its_successor() {
    let server = Server::in_memory();
    let each = Each {
        options: ControllerOptions::default().workers(NonZeroU16::MIN),
        takes: Duration::from_secs(2),
        on_reconcile: |_: &Pod| Ok(Action::await_change()),
        ..Each::default()
    };
    let (seen, deleted, load) = (
        each.reconciled.clone(),
        each.deleted.clone(),
        each.load.clone(),
    );
    let running = run(&server, each).await;
    create(&server, "a", "web").await;
    until(&server, "it is being reconciled", || seen.of("a") == 1).await;
    delete(&server, "a").await;
    create(&server, "a", "web").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(deleted.of("a"), 0, "the reconciliation has not ended");
    until(&server, "it is reported", || deleted.of("a") == 1).await;
    assert_eq!(seen.of("a"), 1);
    until(&server, "its successor is reconciled", || seen.of("a") == 2).await;
    until(&server, "all is done", || load.is_idle()).await;
    assert_eq!(load.most(), 1, "there is one worker");

    delete(&server, "a").await;
    until(&server, "it is being reported", || deleted.of("a") == 2).await;
    running.stop().await.unwrap();
    assert!(load.is_idle(), "the shutdown waited for the notice");
}
