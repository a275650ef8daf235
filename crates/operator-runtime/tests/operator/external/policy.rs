//! Policies: drift that is only reported, and things that are retained.

use super::*;

#[tokio::test]
async fn drift_is_only_reported_if_the_policy_says_so_and_changes_of_the_spec_are_made() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    create(&server, "a", "name").await;
    let labels = json!({ "metadata": { "labels": { "report": "yes" } } });
    patch(&server, "a", labels).await;
    until_reason(&server, "a", "Synced").await;
    server
        .eventually("the spec is recorded", async || {
            let api: Api<Widget> = Api::default_namespaced(server.client());
            let widget = api.get("a").await.unwrap();
            annotation(&widget, "synced-hash").map(drop)
        })
        .await;
    world.add("a", 7);
    until_reason(&server, "a", "Drifted").await;
    assert_eq!(event(&server, "a", "Drifted").await, "size is 7, not 1");
    pause().await;
    assert_eq!(world.things()["a"].size, 7);
    patch(&server, "a", json!({ "spec": { "size": 3 } })).await;
    until_reason(&server, "a", "Synced").await;
    assert_eq!(world.things()["a"].size, 3);
}

#[tokio::test]
async fn a_retained_thing_stays_and_an_unknown_policy_deletes_nothing() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    for name in ["a", "b"] {
        create(&server, name, "name").await;
        until_reason(&server, name, "Synced").await;
    }
    let keep = |policy| json!({ "metadata": { "labels": { "keep": policy } } });
    patch(&server, "a", keep("Retain")).await;
    delete(&server, "a").await;
    event(&server, "a", "Retained").await;
    assert!(world.things().contains_key("a"));

    patch(&server, "b", keep("Keep")).await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("b", &DeleteParams::default()).await.unwrap();
    until_reason(&server, "b", "InvalidPolicy").await;
    assert!(world.things().contains_key("b"));
    patch(&server, "b", keep("Delete")).await;
    until_deleted(&server, "b").await;
    assert!(!world.things().contains_key("b"));
}
