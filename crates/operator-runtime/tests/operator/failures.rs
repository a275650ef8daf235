//! Reconcilers that fail, panic or apply children that they must not, and objects that cannot be decoded.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use crate::support::{
    self, Calls, Running, Widget, create, event, ready, server, set_way, until_quiet, widgets,
};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Secret},
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::{
    Api,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use operator_runtime::Settings;
use serde_json::json;

#[tokio::test]
async fn a_panic_becomes_an_event_and_a_metric_and_the_controller_continues() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<false>(&calls),
    )
    .await;
    create(&server, "a", "panic").await;
    assert_eq!(
        event(&server, "a", "Panicked").await,
        "panicked: no luck with a"
    );
    assert!(
        running
            .metric(r#"controller_runtime_reconcile_panics_total{controller="widget"}"#)
            .await
            >= Some(1.0)
    );
    assert_eq!(
        running
            .metric(r#"operator_failing_objects{controller="widget",group="test.example.com",kind="Widget"}"#)
            .await,
        Some(1.0)
    );
    create(&server, "b", "ok").await;
    ready(&server, "b").await;
    set_way(&server, "a", "ok").await;
    ready(&server, "a").await;
    server
        .eventually("nothing fails", async || {
            let failing = running
                .metric(r#"operator_failing_objects{controller="widget",group="test.example.com",kind="Widget"}"#)
                .await;
            (failing == Some(0.0)).then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_permanent_error_waits_for_a_change_and_a_temporary_one_does_not() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let _running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<false>(&calls),
    )
    .await;
    // The first list of the children triggers all objects, which must not count as an attempt.
    until_quiet(&server).await;
    create(&server, "a", "permanent").await;
    assert_eq!(event(&server, "a", "PermanentError").await, "size is odd");
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(calls.reconciled(), 1);
    set_way(&server, "a", "temporary").await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert!(calls.reconciled() >= 4, "{} tries", calls.reconciled());
    set_way(&server, "a", "ok").await;
    ready(&server, "a").await;
}

#[tokio::test]
async fn a_persistent_error_becomes_a_limited_number_of_events() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let mut settings = Settings::for_tests();
    settings.backoff_last = Duration::from_millis(20);
    let running = Running::start(server.client(), settings.clone(), widgets::<false>(&calls)).await;
    // each failure has another text
    create(&server, "a", "fail").await;
    create(&server, "b", "temporary").await;
    let note = event(&server, "a", "ReconcileError").await;
    assert!(note.starts_with("failed "), "{note}");
    assert_eq!(event(&server, "b", "ReconcileError").await, "busy");
    server
        .eventually("both have failed often", async || {
            (calls.reconciled() > 60).then_some(())
        })
        .await;
    let writes = || {
        let requests = server.requests();
        let verbs = requests
            .iter()
            .filter(|it| it.resource == "events")
            .map(|request| request.verb);
        let count = |verb: &str| verbs.clone().filter(|it| *it == verb).count();
        [count("create"), count("patch")]
    };
    assert_eq!(
        writes(),
        [11, 1],
        "ten of the one, one of the other and its count"
    );
    running.stop().await.unwrap();

    settings.error_events = false;
    let calls = Arc::new(Calls::default());
    let _silent = Running::start(server.client(), settings, widgets::<false>(&calls)).await;
    server
        .eventually("they fail again", async || {
            (calls.reconciled() > 20).then_some(())
        })
        .await;
    assert_eq!(writes(), [11, 1], "reports of errors are turned off");
}

#[tokio::test]
async fn the_delay_between_failures_grows() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let mut settings = Settings::for_tests();
    settings.backoff_first = Duration::from_millis(50);
    settings.backoff_last = Duration::from_secs(60);
    let _running = Running::start(server.client(), settings, widgets::<false>(&calls)).await;
    // The first list of the children triggers all objects, which must not count as an attempt.
    until_quiet(&server).await;
    create(&server, "a", "fail").await;
    // With 50, 100, 200, 400 and 800 ms between them, the sixth comes after 1.2 to 1.6 s.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let tries = calls.reconciled();
    assert!((3..=5).contains(&tries), "{tries} tries");
}

#[tokio::test]
async fn a_status_write_in_each_failure_does_not_shorten_the_backoff() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let mut settings = Settings::for_tests();
    settings.backoff_first = Duration::from_millis(200);
    settings.backoff_last = Duration::from_secs(60);
    let _running = Running::start(server.client(), settings, widgets::<false>(&calls)).await;
    // The first list of the children triggers all objects, which must not count as an attempt.
    until_quiet(&server).await;
    create(&server, "a", "unsteady for good").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(calls.reconciled(), 1, "that one waits for a change");
    // With 200, 400 and 800 ms between them, the fourth comes after 1.1 to 1.4 s, less the failure before.
    set_way(&server, "a", "unsteady").await;
    tokio::time::sleep(Duration::from_millis(900)).await;
    let tries = calls.reconciled();
    assert!((2..=4).contains(&tries), "{tries} tries");
    set_way(&server, "a", "ok").await;
    ready(&server, "a").await;
}

#[tokio::test]
async fn a_failing_object_that_is_deleted_is_no_longer_counted() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<false>(&calls),
    )
    .await;
    create(&server, "a", "fail slowly").await;
    server
        .eventually("its reconciliation begins", async || {
            (calls.reconciled() == 1).then_some(())
        })
        .await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let errors = r#"controller_runtime_reconcile_errors_total{controller="widget"}"#;
    server
        .eventually("its reconciliation ends", async || {
            (running.metric(errors).await == Some(1.0)).then_some(())
        })
        .await;
    let failing =
        r#"operator_failing_objects{controller="widget",group="test.example.com",kind="Widget"}"#;
    server
        .eventually("nothing fails", async || {
            (running.metric(failing).await == Some(0.0)).then_some(())
        })
        .await;
}

#[tokio::test]
async fn an_undeclared_child_is_refused_with_the_line_to_add() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let _running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<false>(&calls),
    )
    .await;
    create(&server, "a", "undeclared").await;
    let note = event(&server, "a", "UndeclaredChild").await;
    assert!(
        note.contains(r#"help: add "v1/Secret" to `owns` of Widget.test.example.com"#),
        "{note}"
    );
    assert!(note.contains("cargo operator regenerate"), "{note}");
    let api: Api<Secret> = Api::default_namespaced(server.client());
    assert!(api.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn a_child_of_another_owner_is_never_taken_over() {
    let server = server().await;
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let metadata = ObjectMeta {
        name: Some("a".into()),
        ..ObjectMeta::default()
    };
    let theirs = ConfigMap {
        metadata,
        ..ConfigMap::default()
    };
    api.create(&PostParams::default(), &theirs).await.unwrap();
    let calls = Arc::new(Calls::default());
    let _running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<false>(&calls),
    )
    .await;
    create(&server, "a", "ok").await;
    let note = event(&server, "a", "ChildTaken").await;
    assert_eq!(
        note,
        "v1/ConfigMap a exists already and is controlled by nobody\n\
         help: give the child another name, or take the object over with `cx.adopt`, or `Desired::adopt` in a declarative controller (update strategies `apply` and `replace`)"
    );
    assert_eq!(api.get("a").await.unwrap().data, None);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    ready(&server, "a").await;
}

#[tokio::test]
async fn the_error_for_a_child_of_another_kind_names_the_kind() {
    let server = server().await;
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let holder = support::create_of_other_kind(&server, "a").await;
    let taken = |name: &str, owner: OwnerReference| ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            owner_references: Some(vec![owner]),
            // The garbage collector must not delete it during the test.
            finalizers: Some(vec!["test.example.com/hold".into()]),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    let of_old = OwnerReference {
        api_version: "test.example.com/v1".into(),
        kind: "Widget".into(),
        name: "b".into(),
        uid: "old".into(),
        controller: Some(true),
        ..OwnerReference::default()
    };
    for taken in [taken("a", holder), taken("b", of_old)] {
        api.create(&PostParams::default(), &taken).await.unwrap();
    }
    let calls = Arc::new(Calls::default());
    let _running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<false>(&calls),
    )
    .await;
    create(&server, "a", "ok").await;
    assert_eq!(
        event(&server, "a", "ChildTaken").await,
        "v1/ConfigMap a exists already and is controlled by Widget.other.example.com a\n\
         help: give the child another name, such as one that ends in its owner's kind"
    );
    create(&server, "b", "ok").await;
    assert_eq!(
        event(&server, "b", "ChildTaken").await,
        "v1/ConfigMap b exists already and is controlled by Widget.test.example.com b\n\
         help: that one was deleted and recreated; the garbage collector will delete its child"
    );
}

#[tokio::test]
async fn an_object_that_another_creates_concurrently_is_not_changed() {
    for (what, theirs) in [
        ("the same field", json!({ "data": { "size": "99" } })),
        ("another field", json!({ "data": { "theirs": "99" } })),
        ("another controller", json!({})),
    ] {
        let server = server().await;
        let holder = support::create_of_other_kind(&server, "a").await;
        let api: Api<ConfigMap> = Api::default_namespaced(server.client());
        let mut theirs: ConfigMap = serde_json::from_value(theirs).unwrap();
        theirs.metadata.name = Some("a".into());
        theirs.metadata.owner_references = (what == "another controller").then(|| vec![holder]);
        let pass = server.client();
        let (meddler, made) = (api.clone(), theirs.clone());
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (pass, meddler, made) = (pass.clone(), meddler.clone(), made.clone());
            async move {
                let is_child = request.uri().path().ends_with("/configmaps/a");
                if is_child && request.method() == "PATCH" {
                    let _ = meddler.create(&PostParams::default(), &made).await;
                }
                pass.send(request).await
            }
        });
        let client = kube::Client::new(service, server.client().default_namespace());
        let calls = Arc::new(Calls::default());
        let _running =
            Running::start(client, Settings::for_tests(), widgets::<false>(&calls)).await;
        create(&server, "a", "ok").await;
        let note = event(&server, "a", "ChildTaken").await;
        assert!(note.starts_with("v1/ConfigMap a exists already"), "{note}");
        let remaining = api.get("a").await.unwrap();
        assert_eq!(remaining.data, theirs.data, "{what}");
        assert_eq!(remaining.metadata.labels, None, "{what}");
        let owners = theirs.metadata.owner_references;
        assert_eq!(remaining.metadata.owner_references, owners, "{what}");
    }
}

#[tokio::test]
async fn an_undecodable_object_gets_an_event_and_does_not_stall_others() {
    let server = server().await;
    create(&server, "worse", "ok").await;
    support::patch_raw(&server, "worse", json!({ "spec": { "size": "large" } })).await;
    let calls = Arc::new(Calls::default());
    let running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<true>(&calls),
    )
    .await;
    create(&server, "good", "ok").await;
    ready(&server, "good").await;
    let note = event(&server, "worse", "Undecodable").await;
    assert!(
        note.starts_with("spec.size: invalid type: string \"large\""),
        "{note}"
    );

    // An object that cannot be decoded any more leaves the cache, and comes back when it is fixed.
    let objects = r#"operator_objects{controller="widget",group="test.example.com",kind="Widget"}"#;
    let undecodable = r#"operator_undecodable_objects{controller="widget",group="test.example.com",kind="Widget"}"#;
    assert_eq!(running.metric(objects).await, Some(1.0));
    support::patch_raw(&server, "good", json!({ "spec": { "size": [] } })).await;
    event(&server, "good", "Undecodable").await;
    assert_eq!(running.metric(objects).await, Some(0.0));
    assert_eq!(running.metric(undecodable).await, Some(2.0));
    support::patch_raw(&server, "good", json!({ "spec": { "size": 2 } })).await;
    ready(&server, "good").await;

    // Its deletion waits for the cleanup, which an event reports.
    support::patch_raw(&server, "good", json!({ "spec": { "size": "no" } })).await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let _ = api.delete("good", &DeleteParams::default()).await;
    let note = event(&server, "good", "CleanupBlocked").await;
    assert!(
        note.contains("kubectl patch widgets.test.example.com good -n"),
        "{note}"
    );
    support::patch_raw(&server, "good", json!({ "spec": { "size": 3 } })).await;
    server
        .eventually("it goes", async || {
            api.get_opt("good").await.unwrap().is_none().then_some(())
        })
        .await;
    until_quiet(&server).await;
    assert_eq!(running.metric(undecodable).await, Some(1.0));
    assert_eq!(calls.cleaned(), 1);
}

#[tokio::test]
async fn a_finalizer_write_with_a_conflict_is_not_a_success() {
    let server = server().await;
    let meddles = Arc::new(AtomicBool::new(false));
    let (pass, on) = (server.client(), meddles.clone());
    let meddler: Api<Widget> = Api::default_namespaced(server.client());
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (pass, on, meddler) = (pass.clone(), on.clone(), meddler.clone());
        async move {
            let finalizes = request.uri().path().ends_with("/widgets/a");
            if finalizes && request.method() == "PATCH" && on.load(SeqCst) {
                let size = meddler.get("a").await.unwrap().spec.size + 1;
                let other = Patch::Merge(json!({ "spec": { "size": size } }));
                let written = meddler.patch("a", &PatchParams::default(), &other).await;
                written.unwrap();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            pass.send(request).await
        }
    });
    let client = kube::Client::new(service, server.client().default_namespace());
    let calls = Arc::new(Calls::default());
    let running = Running::start(client, Settings::for_tests(), widgets::<true>(&calls)).await;
    create(&server, "a", "ok").await;
    ready(&server, "a").await;
    set_way(&server, "a", "stuck").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let failing =
        r#"operator_failing_objects{controller="widget",group="test.example.com",kind="Widget"}"#;
    server
        .eventually("its cleanup fails", async || {
            (running.metric(failing).await == Some(1.0)).then_some(())
        })
        .await;
    meddles.store(true, SeqCst);
    set_way(&server, "a", "ok").await;
    let conflicts = r#"controller_runtime_reconcile_total{controller="widget",result="requeue"}"#;
    server
        .eventually("the finalizer meets a conflict", async || {
            (running.metric(conflicts).await >= Some(1.0)).then_some(())
        })
        .await;
    assert_eq!(running.metric(failing).await, Some(1.0));
    meddles.store(false, SeqCst);
    server
        .eventually("it goes", async || {
            api.get_opt("a").await.unwrap().is_none().then_some(())
        })
        .await;
}

#[tokio::test]
async fn many_undecodable_objects_are_reported_with_limited_concurrency() {
    let server = server().await;
    for number in 0..20 {
        let name = format!("bad{number}");
        create(&server, &name, "ok").await;
        support::patch_raw(&server, &name, json!({ "spec": { "size": "large" } })).await;
    }
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (pass, counted) = (server.client(), (now, most.clone()));
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (pass, (now, most)) = (pass.clone(), counted.clone());
        async move {
            let is_event = request.uri().path().ends_with("/events");
            if is_event {
                most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let answer = pass.send(request).await;
            if is_event {
                now.fetch_sub(1, SeqCst);
            }
            answer
        }
    });
    let client = kube::Client::new(service, server.client().default_namespace());
    let calls = Arc::new(Calls::default());
    let _running = Running::start(client, Settings::for_tests(), widgets::<false>(&calls)).await;
    for number in 0..20 {
        event(&server, &format!("bad{number}"), "Undecodable").await;
    }
    let most = most.load(SeqCst);
    assert!(most <= 4, "{most} at once");
}
