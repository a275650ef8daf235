//! Creations whose result is not known at first.

use super::*;

#[tokio::test]
async fn a_lost_answer_without_identity_waits_for_a_person() {
    let (server, world) = (server().await, World::default());
    let running = start(&server, &world).await;
    create(&server, "a", "assigned nothing").await;
    event(&server, "a", "InvalidIdentity").await;
    let widget = until_reason(&server, "a", "InvalidIdentity").await;
    assert_eq!(annotation(&widget, "external-id"), None);
    patch(&server, "a", json!({ "spec": { "size": 2 } })).await;
    until_reason(&server, "a", "CreationUncertain").await;
    // also for an operator that has just started
    drop(running);
    let _running = start(&server, &world).await;
    set_way(&server, "a", "assigned").await;
    until_reason(&server, "a", "CreationUncertain").await;
    pause().await;
    assert_eq!(world.changes(), [""; 0]);
    annotate(&server, "a", "creation-started", None).await;
    until_reason(&server, "a", "Synced").await;
    assert_eq!(world.changes(), ["create thing-0"]);
}

#[tokio::test]
async fn an_uncertain_creation_keeps_an_object_that_is_being_deleted() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    create(&server, "a", "assigned nothing").await;
    until_reason(&server, "a", "InvalidIdentity").await;
    world.add("thing-9", 1);
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    pause().await;
    assert!(api.get_opt("a").await.unwrap().is_some());
    annotate(&server, "a", "external-id", Some("thing-9")).await;
    until_deleted(&server, "a").await;
    assert_eq!(world.changes(), ["delete thing-9"]);
}

#[tokio::test]
async fn the_refusal_of_a_token_keeps_an_object_that_is_being_deleted() {
    let (server, world) = (server().await, World::default());
    world.0.is_late.store(true, SeqCst);
    let _running = start(&server, &world).await;
    create(&server, "a", "token").await;
    until_reason(&server, "a", "ReconcileError").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    pause().await;
    let kept = api.get_opt("a").await.unwrap();
    assert!(kept.is_some(), "the first call may have created a thing");
    world.0.refuses.store(false, SeqCst);
    until_deleted(&server, "a").await;
    assert_eq!(world.changes(), ["create thing-0", "delete thing-0"]);
}

#[tokio::test]
async fn a_refused_creation_is_certain() {
    let (server, world) = (server().await, World::default());
    world.0.refuses.store(true, SeqCst);
    let _running = start(&server, &world).await;
    create(&server, "a", "assigned").await;
    until_reason(&server, "a", "ReconcileError").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    server
        .eventually("it is recorded that nothing was created", async || {
            let widget = api.get("a").await.unwrap();
            annotation(&widget, "creation-started")
                .is_none()
                .then_some(())
        })
        .await;
    world.0.refuses.store(false, SeqCst);
    until_reason(&server, "a", "Synced").await;
    delete(&server, "a").await;
    assert_eq!(world.changes(), ["create thing-0", "delete thing-0"]);
}

#[tokio::test]
async fn an_id_that_cannot_be_recorded_is_not_lost() {
    let (server, world) = (server().await, World::default());
    // the first writes of the id fail, more often than they are repeated
    let failures = Arc::new(AtomicUsize::new(0));
    let counted = failures.clone();
    let client = client_with(&server, move |body| {
        body.contains("external-id") && counted.fetch_add(1, SeqCst) < 6
    });
    let options = ExternalOptions::default().rate(1000.0, 1000);
    let controllers = controllers(world.clone(), options);
    let _running = Running::start(client, Settings::for_tests(), controllers).await;
    create(&server, "a", "assigned").await;
    let widget = until_reason(&server, "a", "Synced").await;
    assert_eq!(annotation(&widget, "external-id"), Some("thing-0"));
    assert!(failures.load(SeqCst) > 6);
    assert_eq!(world.changes(), ["create thing-0"]);
}

#[tokio::test]
async fn the_refusal_of_a_repeated_creation_does_not_disown_a_thing_that_appears_late() {
    let (server, world) = (server().await, World::default());
    world.0.is_late.store(true, SeqCst);
    let _running = start(&server, &world).await;
    create(&server, "a", "name").await;
    let widget = until_reason(&server, "a", "ReconcileError").await;
    assert!(annotation(&widget, "creation-started").is_some());
    let widget = until_reason(&server, "a", "Synced").await;
    assert_eq!(annotation(&widget, "external-id"), Some("a"));
    assert_eq!(world.changes(), [""; 0]);
}
