//! The options of a controller.

use std::{
    num::NonZeroU16,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::Pod;
use kube::{ResourceExt, api::PostParams};
use operator_runtime::{
    Action, Context, ControllerOptions, Controllers, Error, Reconciler, Result, Settings,
};
use operator_testing::Server;
use tokio::time::{Instant, sleep};

use crate::{
    controller::each::{Each, add, create, delete, failure, label, pod, pods, run, until},
    support::{Running, event, until_quiet},
};

const RESYNC: Duration = Duration::from_secs(45);

fn options() -> ControllerOptions<Pod> {
    ControllerOptions::default()
}

#[tokio::test]
async fn selectors_choose_the_objects() {
    let server = Server::start().await.unwrap();
    let each = Each {
        options: options()
            .labels("app in (web, api)")
            .fields("spec.nodeName=one"),
        ..Each::default()
    };
    let seen = each.reconciled.clone();
    let _running = run(&server, each).await;
    for (name, app, node) in [
        ("other-app", "db", "one"),
        ("other-node", "web", "two"),
        ("mine", "api", "one"),
    ] {
        let mut pod = pod(name, app);
        pod.spec.get_or_insert_default().node_name = Some(node.into());
        pods(&server)
            .create(&PostParams::default(), &pod)
            .await
            .unwrap();
    }
    until(&server, "it is reconciled", || seen.of("mine") > 0).await;
    until_quiet(&server).await;
    assert_eq!(seen.names(), ["mine"]);
    label(&server, "other-app", "web").await;
    until(&server, "it is selected now", || seen.of("other-app") > 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_resync_reconciles_each_object_again_without_a_change() {
    let server = Server::in_memory();
    let each = |options| Each {
        options,
        on_reconcile: |pod: &Pod| match &*pod.name_any() {
            "own-time" => Ok(Action::requeue(Duration::from_secs(600))),
            "refused" => Err(Error::permanent(failure())),
            _ => Ok(Action::await_change()),
        },
        ..Each::default()
    };
    let (with, without) = (each(options().resync(RESYNC)), each(options()));
    let (resynced, awaiting) = (with.reconciled.clone(), without.reconciled.clone());
    let _running = (run(&server, with).await, run(&server, without).await);
    for name in ["a", "own-time", "refused"] {
        create(&server, name, "web").await;
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!((resynced.of("a"), awaiting.of("a")), (1, 1));
    for count in 2..=4 {
        sleep(RESYNC.checked_sub(Duration::from_secs(2)).unwrap()).await;
        assert_eq!(resynced.of("a"), count - 1, "its time has not come");
        sleep(Duration::from_secs(2)).await;
        assert_eq!(resynced.of("a"), count);
    }
    assert_eq!(
        resynced.of("own-time"),
        1,
        "the reconciler's own time counts"
    );
    assert_eq!(resynced.of("refused"), 1, "it waits for a change");
    assert_eq!(awaiting.of("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_time_falls_with_the_workers_and_no_object_is_handled_twice_at_once() {
    let second = Duration::from_secs(1);
    for (workers, seconds) in [(1, 8), (2, 4), (4, 2), (16, 1)] {
        let server = Server::in_memory();
        let names: Vec<_> = (0..8).map(|index| format!("pod-{index}")).collect();
        for name in &names {
            create(&server, name, "web").await;
        }
        let each = Each {
            options: options().workers(NonZeroU16::new(workers).unwrap()),
            takes: second,
            ..Each::default()
        };
        let (seen, load) = (each.reconciled.clone(), each.load.clone());
        let _running = run(&server, each).await;
        let begun = Instant::now();
        let all = || names.iter().all(|name| seen.of(name) > 0) && load.is_idle();
        until(&server, "all are reconciled", all).await;
        let took = begun.elapsed();
        assert!(
            took >= second * seconds && took < second * seconds + second / 2,
            "{took:?} with {workers} workers"
        );
        assert_eq!(load.most(), usize::from(workers.min(8)));
        // Each of these changes an object while it is being handled.
        for app in 0..6 {
            label(&server, "pod-0", &app.to_string()).await;
            label(&server, "pod-1", &app.to_string()).await;
            sleep(second / 3).await;
        }
        assert!(seen.of("pod-0") > 1);
        assert!(load.most() <= usize::from(workers));
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_is_left_alone_after_its_attempts_until_it_changes() {
    let server = Server::in_memory();
    let each = |options| Each {
        options,
        on_reconcile: |pod: &Pod| match pod.labels()["app"].as_str() {
            "works" => Ok(Action::await_change()),
            _ => Err(failure()),
        },
        ..Each::default()
    };
    let limited = each(options().retry_limit(3).resync(RESYNC));
    let seen = limited.reconciled.clone();
    let running = run(&server, limited).await;
    let unlimited = each(options());
    let (others, _without_limit) = (unlimited.reconciled.clone(), run(&server, unlimited).await);
    let long = Duration::from_secs(600);
    let failing = r#"operator_failing_objects{controller="pods",group="",kind="Pod"}"#;

    create(&server, "a", "web").await;
    sleep(long).await;
    assert_eq!(seen.of("a"), 3);
    assert!(others.of("a") > 100, "without a limit it is retried");
    let note = event(&server, "a", "RetryLimitReached").await;
    assert_eq!(note, "left alone after 3 failed attempts, until it changes");
    assert_eq!(event(&server, "a", "ReconcileError").await, "no luck");
    assert_eq!(running.metric(failing).await, Some(1.0));

    // A new list has the same version of the object.
    server.service().expect("in memory").expire_watches();
    sleep(long).await;
    assert_eq!(seen.of("a"), 3, "it has not changed");

    label(&server, "a", "api").await;
    sleep(long).await;
    assert_eq!(seen.of("a"), 6, "it has as many attempts again");
    assert_eq!(running.metric(failing).await, Some(1.0));

    label(&server, "a", "works").await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(seen.of("a"), 7);
    assert_eq!(running.metric(failing).await, Some(0.0));

    label(&server, "a", "web").await;
    sleep(long).await;
    assert_eq!(seen.of("a"), 10, "a success resets the count");
}

/// Cleans up at the fifth attempt, and records whether all objects were reduced.
struct Stubborn {
    attempts: AtomicUsize,
    reduced: Arc<AtomicBool>,
}

impl Reconciler for Stubborn {
    type Resource = Pod;
    const FINALIZER: Option<&'static str> = Some("widget-operator/stubborn");

    async fn reconcile(&self, pod: Arc<Pod>, _: &Context) -> Result<Action> {
        self.reduced.fetch_and(pod.spec.is_none(), Ordering::SeqCst);
        Ok(Action::await_change())
    }

    async fn cleanup(&self, _: Arc<Pod>, _: &Context) -> Result<()> {
        match self.attempts.fetch_add(1, Ordering::SeqCst) {
            4.. => Ok(()),
            _ => Err(failure()),
        }
    }

    fn options(&self) -> ControllerOptions<Pod> {
        options().retry_limit(2).reduce(|pod| pod.spec = None)
    }
}

#[tokio::test]
async fn a_cleanup_is_retried_without_a_limit_and_an_object_with_a_new_finalizer_is_reduced() {
    let server = Server::start().await.unwrap();
    let reduced = Arc::new(AtomicBool::new(true));
    let stubborn = Stubborn {
        attempts: AtomicUsize::new(0),
        reduced: reduced.clone(),
    };
    let controllers = add(Controllers::new(), "stubborn", stubborn);
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    create(&server, "a", "web").await;
    let api = pods(&server);
    server
        .eventually("it has the finalizer", async || {
            let pod = api.get("a").await.unwrap();
            (!pod.finalizers().is_empty()).then_some(())
        })
        .await;
    until_quiet(&server).await;
    assert!(reduced.load(Ordering::SeqCst));
    delete(&server, "a").await;
    server
        .eventually("it is gone", async || {
            api.get_opt("a").await.unwrap().is_none().then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_restart_begins_with_new_attempts() {
    let server = Server::start().await.unwrap();
    create(&server, "a", "web").await;
    for _ in 0..2 {
        let each = Each {
            options: options().retry_limit(2),
            on_reconcile: |_| Err(failure()),
            ..Each::default()
        };
        let seen = each.reconciled.clone();
        let running = run(&server, each).await;
        until(&server, "it is given up", || seen.of("a") == 2).await;
        until_quiet(&server).await;
        running.stop().await.unwrap();
        assert_eq!(seen.of("a"), 2);
    }
}

#[tokio::test]
async fn the_reconciler_gets_reduced_objects() {
    let server = Server::start().await.unwrap();
    let each = Each {
        options: options().reduce(|pod: &mut Pod| {
            assert_ne!(pod.name_any(), "unlucky", "as a test");
            pod.spec = None;
        }),
        on_reconcile: |pod| {
            let expected = pod.name_any() == "unlucky";
            assert_eq!(pod.spec.is_some(), expected);
            assert_eq!(pod.labels()["app"], "web");
            Ok(Action::await_change())
        },
        ..Each::default()
    };
    let seen = each.reconciled.clone();
    let running = run(&server, each).await;
    for name in ["a", "unlucky", "b"] {
        create(&server, name, "web").await;
        until(&server, "it is reconciled", || seen.of(name) > 0).await;
    }
    until_quiet(&server).await;
    let panics = r#"controller_runtime_reconcile_panics_total{controller="pods"}"#;
    assert_eq!(running.metric(panics).await, Some(0.0));
}
