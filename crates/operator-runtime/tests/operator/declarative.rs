//! The style `declarative`: stages, pruning and bad input.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use crate::support::*;
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount},
    apimachinery::pkg::apis::meta::v1::Condition as MetaV1,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ObjectMeta, PostParams},
};
use operator_runtime::{
    Applied, Condition, Controllers, Declarative, Desired, Error, Finalized, Observed, Result,
    Settings, Setup, Status,
};
use operator_testing::Server;
use serde_json::json;

/// Returns as many ServiceAccounts as the size says, and a ConfigMap; or what the `way` says.
#[derive(Default)]
struct Sites {
    desired: AtomicUsize,
    finalized: AtomicUsize,
}

fn named(name: impl Into<String>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        ..ObjectMeta::default()
    }
}

fn account(metadata: ObjectMeta) -> ServiceAccount {
    ServiceAccount {
        metadata,
        ..ServiceAccount::default()
    }
}

impl Declarative for Sites {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = Some(FINALIZER);

    fn validate(&self, widget: &Widget) -> Result<()> {
        match widget.spec.size {
            0.. => Ok(()),
            _ => Err(anyhow::anyhow!("spec.size is negative").into()),
        }
    }

    fn desired(&self, widget: &Widget, observed: &Observed) -> Result<Desired<Widget>> {
        self.desired.fetch_add(1, SeqCst);
        let name = widget.name_any();
        let accounts = (0..widget.spec.size).map(|index| account(named(format!("{name}-{index}"))));
        let desired = Desired::new().children(accounts).child(ConfigMap {
            metadata: observed.child_metadata(widget, &name),
            data: Some([("size".into(), widget.spec.size.to_string())].into()),
            ..ConfigMap::default()
        });
        Ok(match widget.spec.way.as_deref() {
            Some("fail") => return Err(anyhow::anyhow!("nothing is known").into()),
            Some("twice") => desired.child(account(named(format!("{name}-0")))),
            Some("undeclared") => desired.child(Secret {
                metadata: named("secret"),
                ..Secret::default()
            }),
            Some("unnamed") => desired.child(account(ObjectMeta::default())),
            Some("elsewhere") => {
                let namespace = Some("kube-system".to_owned());
                let metadata = ObjectMeta {
                    namespace,
                    ..named("far")
                };
                desired.child(account(metadata))
            }
            Some("taken") => desired.child(account(named("taken"))),
            Some("again") => desired.resync(Duration::from_millis(100)),
            _ => desired,
        })
    }

    fn status(
        &self,
        widget: &Widget,
        observed: &Observed,
        result: Result<&Applied, &Error>,
    ) -> Result<Status<Widget>> {
        if widget.spec.way.as_deref() == Some("bare") {
            return Ok(Status::new(WidgetStatus::default()));
        }
        let accounts = observed.list::<ServiceAccount>()?.len();
        let map = observed.get::<ConfigMap>(&widget.name_any())?;
        let size = map.and_then(|map| map.data?.remove("size"));
        let seen = format!("{accounts} accounts, size {}", size.unwrap_or_default());
        let ready = match result {
            Ok(_) => Condition::new("Ready", true, "Applied", seen),
            Err(error) => Condition::new("Ready", false, "Failed", format!("{error}; {seen}")),
        };
        let mut status = widget.status.clone().unwrap_or_default();
        let generation = widget.metadata.generation;
        ready.set_in(status.conditions.get_or_insert_default(), generation)?;
        Ok(Status::new(status))
    }

    fn finalize(&self, widget: &Widget, observed: &Observed) -> Result<Finalized> {
        observed.list::<ServiceAccount>()?;
        if widget.spec.way.as_deref() == Some("stays") {
            self.finalized.fetch_add(1, SeqCst);
            return Ok(Finalized::After(Duration::from_millis(50)));
        }
        Ok(Finalized::Done)
    }
}

async fn start(client: Client) -> (Running, Arc<Sites>) {
    let sites = Arc::new(Sites::default());
    let shared = sites.clone();
    let controllers = Controllers::new().add_declarative(
        async move |_: Setup| Ok(Shared(shared)),
        |watches| watches.owns::<ServiceAccount>().owns::<ConfigMap>(),
    );
    let running = Running::start(client, Settings::for_tests(), controllers).await;
    (running, sites)
}

/// Shares the counters with the test.
struct Shared(Arc<Sites>);

impl Declarative for Shared {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = Sites::FINALIZER;

    fn validate(&self, widget: &Widget) -> Result<()> {
        self.0.validate(widget)
    }
    fn desired(&self, widget: &Widget, observed: &Observed) -> Result<Desired<Widget>> {
        self.0.desired(widget, observed)
    }
    fn status(
        &self,
        widget: &Widget,
        observed: &Observed,
        result: Result<&Applied, &Error>,
    ) -> Result<Status<Widget>> {
        self.0.status(widget, observed, result)
    }
    fn finalize(&self, widget: &Widget, observed: &Observed) -> Result<Finalized> {
        self.0.finalize(widget, observed)
    }
}

fn accounts(server: &Server) -> Api<ServiceAccount> {
    Api::default_namespaced(server.client())
}

async fn names(server: &Server) -> Vec<String> {
    let accounts = accounts(server).list(&Default::default()).await.unwrap();
    let mut names: Vec<_> = accounts
        .into_iter()
        .map(|account| account.name_any())
        .collect();
    names.retain(|name| name != "default");
    names
}

async fn resize(server: &Server, size: i32) {
    patch(server, "a", json!({ "spec": { "size": size } })).await;
}

/// The condition, once it is about the current generation.
async fn condition(server: &Server, status: &str) -> MetaV1 {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    server
        .eventually(&format!("Ready is {status}"), async || {
            let widget = api.get("a").await.unwrap();
            let condition = widget.status?.conditions?.pop()?;
            let is_current = condition.observed_generation == widget.metadata.generation;
            (is_current && condition.status == status).then_some(condition)
        })
        .await
}

#[tokio::test]
async fn children_follow_what_is_desired() {
    let server = server().await;
    let (_running, _) = start(server.client()).await;
    create(&server, "a", "ok").await;
    resize(&server, 3).await;
    assert_eq!(
        condition(&server, "True").await.message,
        "3 accounts, size 3"
    );
    assert_eq!(names(&server).await, ["a-0", "a-1", "a-2"]);

    // objects that are no children of `a`, one of them with the name of a child to come
    accounts(&server)
        .create(&PostParams::default(), &account(named("a-9")))
        .await
        .unwrap();
    let from = server.requests().len();
    resize(&server, 1).await;
    assert_eq!(
        condition(&server, "True").await.message,
        "1 accounts, size 1"
    );
    until_quiet(&server).await;
    assert_eq!(names(&server).await, ["a-0", "a-9"]);
    let requests = server.requests().split_off(from);
    let deletions = writes(&requests);
    let deletions = deletions.iter().filter(|write| write.starts_with("delete"));
    assert_eq!(deletions.count(), 2);

    accounts(&server)
        .delete("a-0", &Default::default())
        .await
        .unwrap();
    server
        .eventually("it is recreated", async || {
            names(&server)
                .await
                .contains(&"a-0".to_owned())
                .then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_status_may_lose_its_last_field() {
    let server = server().await;
    let (_running, _) = start(server.client()).await;
    create(&server, "a", "ok").await;
    condition(&server, "True").await;
    set_way(&server, "a", "bare").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    server
        .eventually("it has no conditions", async || {
            let status = api.get("a").await.unwrap().status;
            status
                .is_none_or(|status| status.conditions.is_none())
                .then_some(())
        })
        .await;
    until_quiet(&server).await;
    set_way(&server, "a", "ok").await;
    condition(&server, "True").await;
}

#[tokio::test]
async fn nothing_changes_when_nothing_is_to_change() {
    let server = server().await;
    let (_running, sites) = start(server.client()).await;
    create(&server, "a", "ok").await;
    condition(&server, "True").await;
    until_quiet(&server).await;
    set_way(&server, "a", "again").await;
    condition(&server, "True").await;
    let (from, calls) = (server.requests().len(), sites.desired.load(SeqCst));
    server
        .eventually("it is reconciled again", async || {
            (sites.desired.load(SeqCst) > calls + 3).then_some(())
        })
        .await;
    assert_eq!(writes(&server.requests().split_off(from)), [""; 0]);
}

#[tokio::test]
async fn nothing_is_deleted_after_an_error() {
    let server = server().await;
    let (_running, _) = start(server.client()).await;
    create(&server, "a", "ok").await;
    resize(&server, 3).await;
    condition(&server, "True").await;
    accounts(&server)
        .create(&PostParams::default(), &account(named("taken")))
        .await
        .unwrap();
    let cases = [
        ("fail", "nothing is known"),
        ("taken", "controlled by nobody"),
        ("twice", "two children v1/ServiceAccount a-0"),
        ("undeclared", "v1/Secret is not in `owns`"),
        ("unnamed", "has no name"),
        ("elsewhere", "cannot be owned"),
    ];
    for (way, expected) in cases {
        let from = server.requests().len();
        patch(&server, "a", json!({ "spec": { "size": 1, "way": way } })).await;
        let message = condition(&server, "False").await.message;
        assert!(message.contains(expected), "{way}: {message}");
        until_quiet(&server).await;
        assert_eq!(
            names(&server).await,
            ["a-0", "a-1", "a-2", "taken"],
            "{way}"
        );
        let mut writes = writes(&server.requests().split_off(from));
        // without the writes of the ConfigMap, which is desired too, but is not taken
        writes.retain(|write| {
            !write.contains("widgets") && (way != "taken" || !write.contains("configmaps"))
        });
        assert_eq!(writes, [""; 0], "{way}");
        set_way(&server, "a", "ok").await;
        resize(&server, 3).await;
        condition(&server, "True").await;
    }
}

#[tokio::test]
async fn an_invalid_parent_touches_nothing_until_it_changes() {
    let server = server().await;
    let (_running, sites) = start(server.client()).await;
    create(&server, "a", "ok").await;
    resize(&server, 2).await;
    condition(&server, "True").await;
    until_quiet(&server).await;
    let (from, calls) = (server.requests().len(), sites.desired.load(SeqCst));
    resize(&server, -1).await;
    let message = condition(&server, "False").await.message;
    assert_eq!(message, "spec.size is negative; 2 accounts, size 2");
    until_quiet(&server).await;
    assert_eq!(sites.desired.load(SeqCst), calls);
    let writes = writes(&server.requests().split_off(from));
    assert!(
        writes.iter().all(|write| write.contains("widgets")),
        "{writes:?}"
    );
    resize(&server, 1).await;
    condition(&server, "True").await;
    assert_eq!(names(&server).await, ["a-0"]);
}

#[tokio::test]
async fn a_parent_stays_until_it_is_finalized() {
    let server = server().await;
    let (_running, sites) = start(server.client()).await;
    create(&server, "a", "stays").await;
    condition(&server, "True").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("a", &Default::default()).await.unwrap();
    server
        .eventually("it was asked again", async || {
            (sites.finalized.load(SeqCst) > 2).then_some(())
        })
        .await;
    set_way(&server, "a", "ok").await;
    server
        .eventually("it is gone", async || {
            api.get_opt("a").await.unwrap().is_none().then_some(())
        })
        .await;
}

#[tokio::test]
async fn nothing_is_written_or_deleted_before_all_kinds_are_listed() {
    let server = server().await;
    let (running, _) = start(server.client()).await;
    create(&server, "a", "ok").await;
    resize(&server, 3).await;
    condition(&server, "True").await;
    running.stop().await.unwrap();
    resize(&server, 1).await;

    let is_open = Arc::new(AtomicBool::new(false));
    let from = server.requests().len();
    let (_running, sites) = start(gated(&server, is_open.clone())).await;
    // longer than reconciliations of other styles wait
    tokio::time::sleep(Duration::from_secs(12)).await;
    assert_eq!(sites.desired.load(SeqCst), 0);
    assert_eq!(writes(&server.requests().split_off(from)), [""; 0]);
    is_open.store(true, SeqCst);
    condition(&server, "True").await;
    assert_eq!(names(&server).await, ["a-0"]);
}

/// A namespace for each fleet, and an account in it.
struct Fleets;

impl Declarative for Fleets {
    type Resource = Fleet;

    fn desired(&self, fleet: &Fleet, observed: &Observed) -> Result<Desired<Fleet>> {
        let name = fleet.name_any();
        let namespace = Namespace {
            metadata: observed.child_metadata(fleet, &name),
            ..Namespace::default()
        };
        let inside = ObjectMeta {
            namespace: Some(name.clone()),
            ..named("inside")
        };
        Ok(Desired::new().child(namespace).child(account(inside)))
    }
}

#[tokio::test]
async fn a_cluster_scoped_parent_has_a_namespace_and_children_in_it() {
    let server = server().await;
    let fleets: Api<Fleet> = Api::all(server.client());
    let fleet = Fleet::new("red", FleetSpec {});
    fleets.create(&PostParams::default(), &fleet).await.unwrap();
    let controllers = || {
        Controllers::new().add_declarative(
            async |_: Setup| Ok(Fleets),
            |watches| watches.owns::<Namespace>().owns::<ServiceAccount>(),
        )
    };
    let running = Running::start(server.client(), Settings::for_tests(), controllers()).await;
    let inside: Api<ServiceAccount> = Api::namespaced(server.client(), "red");
    let child = server
        .eventually("the account", async || {
            inside.get_opt("inside").await.unwrap()
        })
        .await;
    assert_eq!(child.owner_references()[0].kind, "Fleet");
    running.stop().await.unwrap();

    let mut settings = Settings::for_tests();
    settings.namespaces = vec!["default".into()];
    let from = server.requests().len();
    let _running = Running::start(server.client(), settings, controllers()).await;
    let note = event(&server, "red", "UnownableChild").await;
    assert!(
        note.contains("does not watch") && note.contains("namespaces"),
        "{note}"
    );
    assert_eq!(writes(&server.requests().split_off(from)), [""; 0]);
}
