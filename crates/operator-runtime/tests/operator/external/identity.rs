//! Identities: things that exist already, names that two objects have, and bad input.

use super::*;

#[tokio::test]
async fn a_thing_of_the_name_is_not_touched_until_it_is_imported() {
    let (server, world) = (server().await, World::default());
    world.add("a", 7);
    let _running = start(&server, &world).await;
    create(&server, "a", "name").await;
    until_reason(&server, "a", "AlreadyExists").await;
    delete(&server, "a").await;
    assert_eq!(world.things()["a"].size, 7, "it is not deleted either");

    create(&server, "a", "name").await;
    until_reason(&server, "a", "AlreadyExists").await;
    annotate(&server, "a", "external-id", Some("a")).await;
    until_reason(&server, "a", "Synced").await;
    assert_eq!(world.things()["a"].size, 1);
    assert_eq!(world.changes(), ["update a"]);

    create(&server, "b", "assigned").await;
    until_reason(&server, "b", "Synced").await;
    annotate(&server, "b", "creation-started", None).await;
    annotate(&server, "b", "external-id", Some("typo")).await;
    until_reason(&server, "b", "NothingToImport").await;
    pause().await;
    assert_eq!(world.things().len(), 2, "a misspelled id creates nothing");
}

#[tokio::test]
async fn empty_identities_are_errors_and_nothing_is_called() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    create(&server, "a", "unnamed").await;
    let widget = until_reason(&server, "a", "InvalidIdentity").await;
    assert_eq!(annotation(&widget, "creation-started"), None);
    create(&server, "b", "name").await;
    until_reason(&server, "b", "Synced").await;
    annotate(&server, "b", "external-id", Some("")).await;
    until_reason(&server, "b", "InvalidIdentity").await;
    assert_eq!(world.changes(), ["create b"]);
    annotate(&server, "b", "external-id", None).await;
    until_reason(&server, "b", "Synced").await;
    delete(&server, "a").await;
}

/// Creates two objects that want the thing `shared`. Returns the name of the one that got it, and of the other one.
async fn two_of_one_name(server: &Server) -> (&'static str, &'static str) {
    for name in ["a", "b"] {
        create(server, name, "shared").await;
    }
    let api: Api<Widget> = Api::default_namespaced(server.client());
    server
        .eventually("one of them has the thing", async || {
            let widgets = api.list(&Default::default()).await.unwrap().items;
            let reasons = widgets.iter().map(|widget| {
                let mut conditions = widget.status.iter().flat_map(|it| &it.conditions).flatten();
                let synced = conditions.find(|condition| condition.type_ == "Synced");
                synced.map_or("", |synced| &synced.reason)
            });
            match reasons.collect::<Vec<_>>()[..] {
                ["Synced", "NameInUse"] => Some(("a", "b")),
                ["NameInUse", "Synced"] => Some(("b", "a")),
                _ => None,
            }
        })
        .await
}

#[tokio::test]
async fn of_two_objects_with_one_name_one_creates_the_thing() {
    let (server, world) = (server().await, World::default());
    world.0.is_eventual.store(true, SeqCst);
    let running = start(&server, &world).await;
    let (first, second) = two_of_one_name(&server).await;
    assert_eq!(world.changes(), ["create shared"]);
    let note = event(&server, second, "NameInUse").await;
    assert!(
        note.contains(&format!(
            "in use by Widget.test.example.com default/{first}"
        )),
        "{note}"
    );

    // as after a copy of the object with its annotations
    annotate(&server, second, "external-id", Some("shared")).await;
    annotate(&server, second, "creation-started", Some("yesterday")).await;
    pause().await;
    until_reason(&server, second, "NameInUse").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete(second, &DeleteParams::default()).await.unwrap();
    pause().await;
    until_reason(&server, second, "NameInUse").await;
    for name in ["external-id", "creation-started"] {
        annotate(&server, second, name, None).await;
    }
    until_deleted(&server, second).await;
    assert!(world.things().contains_key("shared"), "it is not deleted");

    // also for an operator that has just started
    drop(running);
    let _running = start(&server, &world).await;
    until_reason(&server, first, "Synced").await;
    create(&server, second, "shared").await;
    until_reason(&server, second, "NameInUse").await;
    delete(&server, first).await;
    until_reason(&server, second, "Synced").await;
    assert_eq!(
        world.changes(),
        ["create shared", "delete shared", "create shared"]
    );
}

#[tokio::test]
async fn an_object_that_is_deleted_without_its_finalizer_leaves_the_name_to_another_one() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    let (first, second) = two_of_one_name(&server).await;
    annotate(&server, first, "paused", Some("true")).await;
    until_reason(&server, first, "Paused").await;
    world.things().clear();
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete(first, &DeleteParams::default()).await.unwrap();
    patch(
        &server,
        first,
        json!({ "metadata": { "finalizers": null } }),
    )
    .await;
    until_deleted(&server, first).await;
    until_reason(&server, second, "Synced").await;
    assert_eq!(world.changes(), ["create shared"; 2]);
}

#[tokio::test]
async fn an_object_that_only_wants_a_name_does_not_keep_its_owner_from_deleting_the_thing() {
    let (server, world) = (server().await, World::default());
    let running = start(&server, &world).await;
    create(&server, "a", "shared").await;
    until_reason(&server, "a", "Synced").await;
    annotate(&server, "a", "paused", Some("true")).await;
    until_reason(&server, "a", "Paused").await;
    drop(running);
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("a", &DeleteParams::default()).await.unwrap();

    // the new process sees the other object first
    world.0.is_unobservable.store(true, SeqCst);
    let _running = start(&server, &world).await;
    create(&server, "b", "shared").await;
    until_reason(&server, "b", "ReconcileError").await;
    annotate(&server, "a", "paused", None).await;
    until_reason(&server, "b", "NameInUse").await;
    world.0.is_unobservable.store(false, SeqCst);
    until_deleted(&server, "a").await;
    until_reason(&server, "b", "Synced").await;
    assert_eq!(
        world.changes(),
        ["create shared", "delete shared", "create shared"]
    );
}

#[tokio::test]
async fn an_object_creates_nothing_if_the_owner_of_the_name_appears_while_it_looks_for_the_thing() {
    let (server, world) = (server().await, World::default());
    let options = ExternalOptions::default();
    let run = || {
        let controllers = controllers(world.clone(), options);
        Running::start(server.client(), Settings::for_tests(), controllers)
    };
    let running = run().await;
    create(&server, "a", "shared").await;
    until_reason(&server, "a", "Synced").await;
    annotate(&server, "a", "paused", Some("true")).await;
    until_reason(&server, "a", "Paused").await;
    drop(running);
    world.things().clear();
    world.0.is_held.store(true, SeqCst);
    let _running = run().await;
    create(&server, "b", "shared held").await;
    server
        .eventually("the second one looks for the thing", async || {
            world.0.is_waiting.load(SeqCst).then_some(())
        })
        .await;
    annotate(&server, "a", "paused", None).await;
    until_reason(&server, "a", "Absent").await;
    world.0.is_held.store(false, SeqCst);
    let second = until_reason(&server, "b", "NameInUse").await;
    assert_eq!(annotation(&second, "creation-started"), None);
    assert_eq!(world.changes(), ["create shared"]);
}

#[tokio::test]
async fn an_object_that_cannot_be_decoded_leaves_the_name_to_another_one_when_it_is_deleted() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    let (first, second) = two_of_one_name(&server).await;
    let broken = json!({ "spec": { "size": "large" }, "metadata": { "finalizers": null } });
    patch_raw(&server, first, broken).await;
    pause().await;
    until_reason(&server, second, "NameInUse").await;
    world.things().clear();
    let api: Api<PartialObjectMeta<Widget>> = Api::default_namespaced(server.client());
    api.delete(first, &DeleteParams::default()).await.unwrap();
    until_reason(&server, second, "Synced").await;
    assert_eq!(world.changes(), ["create shared"; 2]);
}

#[tokio::test]
async fn an_object_that_cannot_lose_its_finalizer_does_not_delete_the_thing_of_the_next_one() {
    let (server, world) = (server().await, World::default());
    let client = client_with(&server, |body| body.contains(r#""finalizers":[]"#));
    let options = ExternalOptions::default().rate(1000.0, 1000);
    let controllers = controllers(world.clone(), options);
    let running = Running::start(client, Settings::for_tests(), controllers).await;
    create(&server, "a", "shared").await;
    until_reason(&server, "a", "Synced").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    event(&server, "a", "Deleted").await;
    create(&server, "b", "shared").await;
    until_reason(&server, "b", "Synced").await;
    assert!(api.get_opt("a").await.unwrap().is_some());

    drop(running);
    let _running = start(&server, &world).await;
    until_deleted(&server, "a").await;
    pause().await;
    until_reason(&server, "b", "Synced").await;
    assert_eq!(
        world.changes(),
        ["create shared", "delete shared", "create shared"]
    );
}
