//! A thing from its creation to its deletion: changes, drift, pauses and selectors.

use super::*;

#[tokio::test]
async fn a_thing_is_created_changed_repaired_recreated_and_deleted() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    create(&server, "a", "name").await;
    let widget = until_reason(&server, "a", "Synced").await;
    assert_eq!(annotation(&widget, "external-id"), Some("a"));
    assert!(annotation(&widget, "creation-started").is_some());
    patch(&server, "a", json!({ "spec": { "size": 100 } })).await;
    let widget = until_reason(&server, "a", "Synced").await;
    let ready = condition(&widget, "Ready");
    assert_eq!(ready.as_deref(), Some("False"), "it is not ready");
    patch(&server, "a", json!({ "spec": { "size": 2 } })).await;
    let widget = until_reason(&server, "a", "Synced").await;
    assert_eq!(condition(&widget, "Ready").as_deref(), Some("True"));
    assert_eq!(world.things()["a"].size, 2);

    world.add("a", 7);
    event(&server, "a", "Updated").await;
    let size = async || (world.things().get("a")?.size == 2).then_some(());
    server.eventually("the drift is repaired", size).await;

    world.things().clear();
    event(&server, "a", "Vanished").await;
    server.eventually("the thing is created again", size).await;
    until_reason(&server, "a", "Synced").await;
    delete(&server, "a").await;
    assert_eq!(world.things().len(), 0);
    let creations = world.changes();
    let creations = creations.iter().filter(|change| *change == "create a");
    assert_eq!(creations.count(), 2);
}

#[tokio::test]
async fn a_thing_that_does_not_change_costs_no_write() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    create(&server, "a", "token").await;
    until_reason(&server, "a", "Synced").await;
    until_quiet(&server).await;
    let before = server.requests().len();
    pause().await;
    assert_eq!(writes(&server.requests()[before..]), [""; 0]);
    assert_eq!(world.changes(), ["create thing-0"]);
}

#[tokio::test]
async fn an_object_that_the_selector_excludes_has_no_thing() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    let mut ignored = Widget::new("ignored", WidgetSpec::default());
    ignored.labels_mut().insert("ignored".into(), "true".into());
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.create(&PostParams::default(), &ignored).await.unwrap();
    create(&server, "a", "token").await;
    until_reason(&server, "a", "Synced").await;
    until_quiet(&server).await;
    assert_eq!(world.changes(), ["create thing-0"]);
}

#[tokio::test]
async fn a_paused_object_is_left_alone() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    create(&server, "a", "name").await;
    until_reason(&server, "a", "Synced").await;
    annotate(&server, "a", "paused", Some("true")).await;
    let widget = until_reason(&server, "a", "Paused").await;
    let ready = condition(&widget, "Ready");
    assert_eq!(ready.as_deref(), Some("True"), "it stays as it was");
    world.add("a", 7);
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    pause().await;
    assert!(api.get_opt("a").await.unwrap().is_some());
    assert_eq!(world.things()["a"].size, 7);
    annotate(&server, "a", "paused", None).await;
    until_deleted(&server, "a").await;
    assert_eq!(world.things().len(), 0);
}

#[tokio::test]
async fn a_thing_that_cannot_be_changed_stays_ready() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    create(&server, "a", "name").await;
    until_reason(&server, "a", "Synced").await;
    world.0.rejects_updates.store(true, SeqCst);
    patch(&server, "a", json!({ "spec": { "size": 2 } })).await;
    let widget = until_reason(&server, "a", "ReconcileError").await;
    assert_eq!(condition(&widget, "Ready").as_deref(), Some("True"));
    world.0.rejects_updates.store(false, SeqCst);
    until_reason(&server, "a", "Synced").await;
    assert_eq!(world.things()["a"].size, 2);
}

/// A provider with options that reduce the objects.
struct Reducing(Remote);

impl External for Reducing {
    type Resource = Widget;
    type Observed = Thing;
    const FINALIZER: &'static str = FINALIZER;

    fn identity(&self, widget: &Widget) -> Result<Identity> {
        self.0.identity(widget)
    }
    async fn observe(&self, widget: &Widget, id: &str, cx: &Context) -> Result<Option<Thing>> {
        self.0.observe(widget, id, cx).await
    }
    async fn create(&self, widget: &Widget, key: &str, cx: &Context) -> Result<Created> {
        self.0.create(widget, key, cx).await
    }
    async fn update(&self, widget: &Widget, id: &str, thing: &Thing, cx: &Context) -> Result<()> {
        self.0.update(widget, id, thing, cx).await
    }
    async fn delete(&self, widget: &Widget, id: &str, cx: &Context) -> Result<()> {
        self.0.delete(widget, id, cx).await
    }
    fn difference(&self, widget: &Widget, thing: &Thing) -> Result<Option<String>> {
        self.0.difference(widget, thing)
    }
    fn controller_options(&self) -> ControllerOptions<Widget> {
        ControllerOptions::default()
            .reduce(|widget: &mut Widget| widget.metadata.annotations = None)
    }
}

#[tokio::test]
async fn a_provider_of_reduced_objects_is_refused() {
    let (server, world) = (server().await, World::default());
    let provider = Reducing(Remote(world.clone(), ExternalOptions::default()));
    let controllers =
        Controllers::new().add_external(async move |_| Ok(provider), |watches| watches);
    create(&server, "a", "token").await;
    let mut running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    let error = running.ended().await.unwrap_err().to_string();
    assert!(
        error.contains("controller of Widget.test.example.com reduce the objects\nhelp: remove"),
        "{error}"
    );
    assert_eq!(world.changes(), [""; 0]);
}
