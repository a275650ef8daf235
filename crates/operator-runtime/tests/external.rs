//! The style `external`: faults in every call of a provider, drift, imports, retained things, pauses and bad input.

mod support;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use http::Request as HttpRequest;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, PostParams},
    client::Body,
};
use operator_runtime::{
    AroundCalls, Context, ControllerOptions, Controllers, Created, DeletionPolicy, DriftPolicy,
    External, ExternalOptions, Identity, Operator, Result, Settings, State, Status,
};
use operator_testing::{Outcomes, ProviderFaults, Server, Trial, condition};
use serde_json::json;
use support::*;
use tower::{ServiceBuilder, ServiceExt};

/// A thing of the other system.
#[derive(Clone, Debug, PartialEq)]
struct Thing {
    size: i32,
    tag: String,
}

/// The other system. Clones share it.
#[derive(Clone, Default)]
struct World(Arc<Things>);

#[derive(Default)]
struct Things {
    things: Mutex<BTreeMap<String, Thing>>,
    /// The ids that were returned for client tokens.
    tokens: Mutex<BTreeMap<String, String>>,
    /// The calls that change something.
    changes: Mutex<Vec<String>>,
    refuses: AtomicBool,
    /// The next creation has its effect after it has failed, and later ones are refused.
    is_late: AtomicBool,
    rejects_updates: AtomicBool,
}

impl World {
    fn things(&self) -> MutexGuard<'_, BTreeMap<String, Thing>> {
        self.0.things.lock().unwrap()
    }

    fn changes(&self) -> Vec<String> {
        self.0.changes.lock().unwrap().clone()
    }

    fn changed(&self, change: String) {
        self.0.changes.lock().unwrap().push(change);
    }

    fn add(&self, id: &str, size: i32) {
        let tag = String::new();
        self.things().insert(id.to_owned(), Thing { size, tag });
    }
}

/// Widgets whose way is their identity.
struct Remote(World, ExternalOptions);

impl External for Remote {
    type Resource = Widget;
    type Observed = Thing;
    const FINALIZER: &'static str = FINALIZER;

    fn identity(&self, widget: &Widget) -> Result<Identity> {
        let way = widget.spec.way.as_deref().unwrap_or_default();
        Ok(match way.split(' ').next().unwrap_or_default() {
            "token" => Identity::Token,
            "lookup" => Identity::Lookup,
            "assigned" => Identity::Assigned,
            "unnamed" => Identity::Name(" ".into()),
            _ => Identity::Name(widget.name_any()),
        })
    }

    async fn find(&self, _: &Widget, tag: &str, _: &Context) -> Result<Vec<String>> {
        let things = self.0.things();
        let found = things.iter().filter(|(_, thing)| thing.tag == tag);
        Ok(found.map(|(id, _)| id.clone()).collect())
    }

    async fn observe(&self, _: &Widget, id: &str, _: &Context) -> Result<Option<Thing>> {
        assert!(!id.trim().is_empty());
        Ok(self.0.things().get(id).cloned())
    }

    async fn create(&self, widget: &Widget, key: &str, _: &Context) -> Result<Created> {
        let world = &self.0;
        if widget.spec.way.as_deref() == Some("assigned nothing") {
            return Ok(Created::id(""));
        }
        if world.0.is_late.swap(false, SeqCst) {
            world.0.refuses.store(true, SeqCst);
            let (world, name) = (world.clone(), widget.name_any());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(500)).await;
                world.add(&name, 1);
            });
            return Err(anyhow::anyhow!("no answer").into());
        }
        if world.0.refuses.load(SeqCst) {
            return Ok(Created::refused(anyhow::anyhow!("the quota is used up")));
        }
        let count = world.changes().len();
        let id = match self.identity(widget)? {
            Identity::Name(name) if world.things().contains_key(&name) => {
                return Err(anyhow::anyhow!("{name} exists").into());
            }
            Identity::Name(name) => name,
            Identity::Token => {
                let mut tokens = world.0.tokens.lock().unwrap();
                let id = tokens.get(key).cloned();
                if let Some(id) = id {
                    return Ok(Created::id(id));
                }
                let id = format!("thing-{count}");
                tokens.insert(key.into(), id.clone());
                id
            }
            Identity::Lookup | Identity::Assigned => format!("thing-{count}"),
        };
        let thing = Thing {
            size: widget.spec.size,
            tag: key.into(),
        };
        world.things().insert(id.clone(), thing);
        world.changed(format!("create {id}"));
        Ok(Created::id(id))
    }

    fn difference(&self, widget: &Widget, thing: &Thing) -> Result<Option<String>> {
        let size = widget.spec.size;
        Ok((thing.size != size).then(|| format!("size is {}, not {size}", thing.size)))
    }

    async fn update(&self, widget: &Widget, id: &str, _: &Thing, _: &Context) -> Result<()> {
        if self.0.0.rejects_updates.load(SeqCst) {
            return Err(anyhow::anyhow!("the size is too large").into());
        }
        self.0.changed(format!("update {id}"));
        if let Some(thing) = self.0.things().get_mut(id) {
            thing.size = widget.spec.size;
        }
        Ok(())
    }

    async fn delete(&self, _: &Widget, id: &str, _: &Context) -> Result<()> {
        if self.0.things().remove(id).is_some() {
            self.0.changed(format!("delete {id}"));
        }
        Ok(())
    }

    fn is_ready(&self, thing: &Thing) -> bool {
        thing.size < 100
    }

    fn status(&self, widget: &Widget, state: &State<Thing>) -> Result<Status<Widget>> {
        let mut status = widget.status.clone().unwrap_or_default();
        let conditions = status.conditions.get_or_insert_default();
        state.set_conditions(conditions, widget.metadata.generation)?;
        Ok(Status::new(status))
    }

    fn deletion_policy(&self, widget: &Widget) -> Result<DeletionPolicy> {
        match widget.labels().get("keep") {
            Some(policy) => {
                DeletionPolicy::of_spec(&json!({ "spec": { "deletionPolicy": policy } }))
            }
            None => DeletionPolicy::of_spec(widget),
        }
    }

    fn drift_policy(&self, widget: &Widget) -> Result<DriftPolicy> {
        match widget.labels().get("report") {
            Some(_) => Ok(DriftPolicy::Report),
            None => Ok(DriftPolicy::Repair),
        }
    }

    fn options(&self) -> ExternalOptions {
        self.1
    }

    fn controller_options(&self) -> ControllerOptions<Widget> {
        ControllerOptions::default().labels("ignored!=true")
    }
}

fn controllers(world: World, options: ExternalOptions) -> Controllers {
    Controllers::new().add_external(async move |_| Ok(Remote(world, options)), |watches| watches)
}

mod trial {
    use super::*;

    async fn operator(
        client: Client,
        outcomes: Outcomes,
        world: World,
        faults: ProviderFaults,
    ) -> anyhow::Result<()> {
        let controllers = controllers(world, ExternalOptions::default());
        let around = AroundCalls::new(move |call, effect| {
            faults.around(call.object(), call.method, effect, |fault| {
                anyhow::anyhow!(fault).into()
            })
        });
        Operator::new(OPERATOR, Settings::for_tests(), client)
            .register(controllers)
            .provide(around)
            .on_reconciled(move |it| {
                outcomes.report(it.group, it.kind, it.namespace, it.name, it.result);
            })
            .run()
            .await?;
        Ok(())
    }

    fn survives(way: &str, labels: &str) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("external-{way}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("crds.yaml"), include_str!("support/crds.yaml")).unwrap();
        let list = "resources: [crds.yaml]\n";
        std::fs::write(folder.join("kustomization.yaml"), list).unwrap();
        let sample = format!(
            "{{apiVersion: test.example.com/v1, kind: Widget, metadata: {{name: a, labels: {{{labels}}}}}, spec: {{way: {way}, size: 1}}}}"
        );
        Trial::new(folder, "")
            .sample(&sample)
            .assert_survives_provider_faults(operator);
    }

    #[test]
    fn a_thing_with_a_name_survives_every_fault() {
        survives("name", "");
    }

    #[test]
    fn a_thing_with_a_token_survives_every_fault() {
        survives("token", "");
    }

    #[test]
    fn a_thing_that_is_looked_up_survives_every_fault() {
        survives("lookup", "");
    }

    #[test]
    fn a_thing_that_nobody_finds_survives_every_fault_with_a_person() {
        survives("assigned", "");
    }

    #[test]
    fn a_retained_thing_survives_every_fault() {
        survives("token", "keep: Retain");
    }
}

/// An operator with short intervals.
async fn start(server: &Server, world: &World) -> Running {
    let options = ExternalOptions::default()
        .rate(1000.0, 1000)
        .poll(Duration::from_millis(100))
        .poll_pending(Duration::from_millis(50))
        .timeout(Duration::from_millis(500))
        .grace(Duration::from_millis(300));
    let controllers = controllers(world.clone(), options);
    Running::start(server.client(), Settings::for_tests(), controllers).await
}

/// Waits until the condition `Synced` has this reason, for the present generation.
async fn synced(server: &Server, name: &str, reason: &str) -> Widget {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let described = format!("{name} has the reason {reason}");
    server
        .eventually(&described, async || {
            let widget = api.get_opt(name).await.unwrap()?;
            let mut conditions = widget.status.as_ref()?.conditions.iter().flatten();
            let synced = conditions.find(|condition| condition.type_ == "Synced")?;
            let is_current = synced.observed_generation == widget.metadata.generation;
            (synced.reason == reason && is_current).then_some(widget)
        })
        .await
}

async fn annotate(server: &Server, name: &str, annotation: &str, value: Option<&str>) {
    let annotations = json!({ format!("{OPERATOR}/{annotation}"): value });
    let metadata = json!({ "annotations": annotations });
    patch(server, name, json!({ "metadata": metadata })).await;
}

fn annotation<'a>(widget: &'a Widget, name: &str) -> Option<&'a str> {
    let key = format!("{OPERATOR}/{name}");
    widget.annotations().get(&key).map(String::as_str)
}

async fn delete(server: &Server, name: &str) {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete(name, &DeleteParams::default()).await.unwrap();
    gone(server, name).await;
}

async fn gone(server: &Server, name: &str) {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    server
        .eventually("the object is deleted", async || {
            api.get_opt(name).await.unwrap().is_none().then_some(())
        })
        .await;
}

/// A client whose writes fail if `fails` returns so for their body.
fn client_with(server: &Server, fails: impl Fn(&str) -> bool + Clone + Send + 'static) -> Client {
    let pass = server.client();
    let service = ServiceBuilder::new().service_fn(move |request: HttpRequest<Body>| {
        let (pass, fails) = (pass.clone(), fails.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            if fails(&String::from_utf8_lossy(&body)) {
                return Err(kube::Error::Service("closed".into()));
            }
            pass.send(HttpRequest::from_parts(parts, Body::from(body.to_vec())))
                .await
        }
    });
    Client::new(
        service.map_err(tower::BoxError::from),
        server.client().default_namespace(),
    )
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(700)).await;
}

#[tokio::test]
async fn a_thing_is_created_changed_repaired_recreated_and_deleted() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    create(&server, "a", "name").await;
    let widget = synced(&server, "a", "Synced").await;
    assert_eq!(annotation(&widget, "external-id"), Some("a"));
    assert!(annotation(&widget, "creation-started").is_some());
    patch(&server, "a", json!({ "spec": { "size": 100 } })).await;
    let widget = synced(&server, "a", "Synced").await;
    let ready = condition(&widget, "Ready");
    assert_eq!(ready.as_deref(), Some("False"), "it is not ready");
    patch(&server, "a", json!({ "spec": { "size": 2 } })).await;
    let widget = synced(&server, "a", "Synced").await;
    assert_eq!(condition(&widget, "Ready").as_deref(), Some("True"));
    assert_eq!(world.things()["a"].size, 2);

    world.add("a", 7);
    event(&server, "a", "Updated").await;
    let size = async || (world.things().get("a")?.size == 2).then_some(());
    server.eventually("the drift is repaired", size).await;

    world.things().clear();
    event(&server, "a", "Vanished").await;
    server.eventually("the thing is created again", size).await;
    synced(&server, "a", "Synced").await;
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
    synced(&server, "a", "Synced").await;
    rest(&server).await;
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
    synced(&server, "a", "Synced").await;
    rest(&server).await;
    assert_eq!(world.changes(), ["create thing-0"]);
}

#[tokio::test]
async fn drift_is_only_reported_if_the_policy_says_so_and_changes_of_the_spec_are_made() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    create(&server, "a", "name").await;
    let labels = json!({ "metadata": { "labels": { "report": "yes" } } });
    patch(&server, "a", labels).await;
    synced(&server, "a", "Synced").await;
    server
        .eventually("the spec is recorded", async || {
            let api: Api<Widget> = Api::default_namespaced(server.client());
            let widget = api.get("a").await.unwrap();
            annotation(&widget, "synced-hash").map(drop)
        })
        .await;
    world.add("a", 7);
    synced(&server, "a", "Drifted").await;
    assert_eq!(event(&server, "a", "Drifted").await, "size is 7, not 1");
    pause().await;
    assert_eq!(world.things()["a"].size, 7);
    patch(&server, "a", json!({ "spec": { "size": 3 } })).await;
    synced(&server, "a", "Synced").await;
    assert_eq!(world.things()["a"].size, 3);
}

#[tokio::test]
async fn a_thing_of_the_name_is_not_touched_until_it_is_imported() {
    let (server, world) = (server().await, World::default());
    world.add("a", 7);
    let _running = start(&server, &world).await;
    create(&server, "a", "name").await;
    synced(&server, "a", "AlreadyExists").await;
    delete(&server, "a").await;
    assert_eq!(world.things()["a"].size, 7, "it is not deleted either");

    create(&server, "a", "name").await;
    synced(&server, "a", "AlreadyExists").await;
    annotate(&server, "a", "external-id", Some("a")).await;
    synced(&server, "a", "Synced").await;
    assert_eq!(world.things()["a"].size, 1);
    assert_eq!(world.changes(), ["update a"]);

    create(&server, "b", "assigned").await;
    synced(&server, "b", "Synced").await;
    annotate(&server, "b", "creation-started", None).await;
    annotate(&server, "b", "external-id", Some("typo")).await;
    synced(&server, "b", "NothingToImport").await;
    pause().await;
    assert_eq!(world.things().len(), 2, "a misspelled id creates nothing");
}

#[tokio::test]
async fn a_retained_thing_stays_and_an_unknown_policy_deletes_nothing() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    for name in ["a", "b"] {
        create(&server, name, "name").await;
        synced(&server, name, "Synced").await;
    }
    let keep = |policy| json!({ "metadata": { "labels": { "keep": policy } } });
    patch(&server, "a", keep("Retain")).await;
    delete(&server, "a").await;
    event(&server, "a", "Retained").await;
    assert!(world.things().contains_key("a"));

    patch(&server, "b", keep("Keep")).await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("b", &DeleteParams::default()).await.unwrap();
    synced(&server, "b", "InvalidPolicy").await;
    assert!(world.things().contains_key("b"));
    patch(&server, "b", keep("Delete")).await;
    gone(&server, "b").await;
    assert!(!world.things().contains_key("b"));
}

#[tokio::test]
async fn a_lost_answer_without_identity_waits_for_a_person() {
    let (server, world) = (server().await, World::default());
    let running = start(&server, &world).await;
    create(&server, "a", "assigned nothing").await;
    event(&server, "a", "InvalidIdentity").await;
    let widget = synced(&server, "a", "InvalidIdentity").await;
    assert_eq!(annotation(&widget, "external-id"), None);
    patch(&server, "a", json!({ "spec": { "size": 2 } })).await;
    synced(&server, "a", "CreationUncertain").await;
    // also for an operator that has just started
    drop(running);
    let _running = start(&server, &world).await;
    set_way(&server, "a", "assigned").await;
    synced(&server, "a", "CreationUncertain").await;
    pause().await;
    assert_eq!(world.changes(), [""; 0]);
    annotate(&server, "a", "creation-started", None).await;
    synced(&server, "a", "Synced").await;
    assert_eq!(world.changes(), ["create thing-0"]);
}

#[tokio::test]
async fn an_uncertain_creation_keeps_an_object_that_is_being_deleted() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    create(&server, "a", "assigned nothing").await;
    synced(&server, "a", "InvalidIdentity").await;
    world.add("thing-9", 1);
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    pause().await;
    assert!(api.get_opt("a").await.unwrap().is_some());
    annotate(&server, "a", "external-id", Some("thing-9")).await;
    gone(&server, "a").await;
    assert_eq!(world.changes(), ["delete thing-9"]);
}

#[tokio::test]
async fn the_refusal_of_a_token_keeps_an_object_that_is_being_deleted() {
    let (server, world) = (server().await, World::default());
    world.0.is_late.store(true, SeqCst);
    let _running = start(&server, &world).await;
    create(&server, "a", "token").await;
    synced(&server, "a", "ReconcileError").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    pause().await;
    let kept = api.get_opt("a").await.unwrap();
    assert!(kept.is_some(), "the first call may have created a thing");
    world.0.refuses.store(false, SeqCst);
    gone(&server, "a").await;
    assert_eq!(world.changes(), ["create thing-0", "delete thing-0"]);
}

#[tokio::test]
async fn a_refused_creation_is_certain() {
    let (server, world) = (server().await, World::default());
    world.0.refuses.store(true, SeqCst);
    let _running = start(&server, &world).await;
    create(&server, "a", "assigned").await;
    synced(&server, "a", "ReconcileError").await;
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
    synced(&server, "a", "Synced").await;
    delete(&server, "a").await;
    assert_eq!(world.changes(), ["create thing-0", "delete thing-0"]);
}

#[tokio::test]
async fn empty_identities_are_errors_and_nothing_is_called() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    create(&server, "a", "unnamed").await;
    let widget = synced(&server, "a", "InvalidIdentity").await;
    assert_eq!(annotation(&widget, "creation-started"), None);
    create(&server, "b", "name").await;
    synced(&server, "b", "Synced").await;
    annotate(&server, "b", "external-id", Some("")).await;
    synced(&server, "b", "InvalidIdentity").await;
    assert_eq!(world.changes(), ["create b"]);
    annotate(&server, "b", "external-id", None).await;
    synced(&server, "b", "Synced").await;
    delete(&server, "a").await;
}

#[tokio::test]
async fn a_paused_object_is_left_alone() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    create(&server, "a", "name").await;
    synced(&server, "a", "Synced").await;
    annotate(&server, "a", "paused", Some("true")).await;
    let widget = synced(&server, "a", "Paused").await;
    let ready = condition(&widget, "Ready");
    assert_eq!(ready.as_deref(), Some("True"), "it stays as it was");
    world.add("a", 7);
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    pause().await;
    assert!(api.get_opt("a").await.unwrap().is_some());
    assert_eq!(world.things()["a"].size, 7);
    annotate(&server, "a", "paused", None).await;
    gone(&server, "a").await;
    assert_eq!(world.things().len(), 0);
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
    let widget = synced(&server, "a", "Synced").await;
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
    let widget = synced(&server, "a", "ReconcileError").await;
    assert!(annotation(&widget, "creation-started").is_some());
    let widget = synced(&server, "a", "Synced").await;
    assert_eq!(annotation(&widget, "external-id"), Some("a"));
    assert_eq!(world.changes(), [""; 0]);
}

#[tokio::test]
async fn a_thing_that_cannot_be_changed_stays_ready() {
    let (server, world) = (server().await, World::default());
    let _running = start(&server, &world).await;
    create(&server, "a", "name").await;
    synced(&server, "a", "Synced").await;
    world.0.rejects_updates.store(true, SeqCst);
    patch(&server, "a", json!({ "spec": { "size": 2 } })).await;
    let widget = synced(&server, "a", "ReconcileError").await;
    assert_eq!(condition(&widget, "Ready").as_deref(), Some("True"));
    world.0.rejects_updates.store(false, SeqCst);
    synced(&server, "a", "Synced").await;
    assert_eq!(world.things()["a"].size, 2);
}
