//! Objects that others write while handlers run, and handlers that run while the operator stops.

use super::*;
use crate::support::until_quiet;
use kube::{Client, api::DeleteParams};
use operator_runtime::handlers::{DaemonCall, WatchEvent};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Handlers whose objects are written by another client during most calls.
struct Busy {
    journal: Arc<Journal>,
    other: Client,
    writes: AtomicUsize,
}

impl Handlers for Busy {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = Some(FINALIZER);

    fn register(&self, on: &mut Registry<Self>) {
        let soon = Duration::from_millis(50);
        on.create("fails", Self::fails).backoff(soon).attempts(2);
        on.create("succeeds", Self::succeeds);
        on.delete("first", Self::deleted);
        on.delete("last", Self::deleted);
    }
}

impl Busy {
    async fn write(&self, object: &Widget) {
        let number = self.writes.fetch_add(1, Ordering::SeqCst);
        let api: Api<Widget> = Api::default_namespaced(self.other.clone());
        let status = Patch::Merge(json!({"status": {"ready": number}}));
        let parameters = PatchParams::default();
        let name = object.name_any();
        api.patch_status(&name, &parameters, &status).await.unwrap();
    }

    /// Writes the status after another client has changed the object, and then fails.
    async fn fails(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.journal.call(&call, "")?;
        self.write(call.object()).await;
        let status = json!({"observedGeneration": call.attempt()});
        call.cx().update_status(&**call.object(), &status).await?;
        Err(anyhow::anyhow!("it fails").into())
    }

    async fn succeeds(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.journal.call(&call, "")
    }

    async fn deleted(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.write(call.object()).await;
        self.journal.call(&call, "")
    }
}

#[tokio::test]
async fn writes_of_others_during_a_call_repeat_no_handler_that_has_ended() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let busy = Busy {
        journal: journal.clone(),
        other: server.client(),
        writes: AtomicUsize::new(0),
    };
    let running = start(&server, busy).await;
    create_sized(&server, "a", 1).await;
    let lines = logged(&server, &journal, 3).await;
    let created = ["fails#1", "succeeds#1", "fails#2"];
    assert_eq!(lines, created.map(|it| format!("a create {it} size 1")));
    settled(&server, "a").await;

    let api = widgets(&server);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    server
        .eventually("it is gone", async || {
            let object = api.get_opt("a").await.ok()?;
            object.is_none().then_some(())
        })
        .await;
    until_quiet(&server).await;
    let deleted = ["first#1", "last#1"];
    assert_eq!(
        journal.take(),
        deleted.map(|it| format!("a delete {it} size 1"))
    );
    running.stop().await.unwrap();
}

/// A handler of events that takes its time.
struct Slow(Arc<Journal>);

impl Handlers for Slow {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.event("slow", Self::slow);
    }
}

impl Slow {
    async fn slow(self: Arc<Self>, event: WatchEvent<Widget>) -> Result<()> {
        let name = event.object().name_any();
        let log = |what: &str| self.0.lines.lock().unwrap().push(format!("{name} {what}"));
        log("begins");
        tokio::time::sleep(Duration::from_millis(300)).await;
        log("ends");
        Ok(())
    }
}

#[tokio::test]
async fn an_operator_that_stops_waits_for_its_handlers_of_events_and_calls_no_more() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let running = start(&server, Slow(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    assert_eq!(logged(&server, &journal, 1).await, ["a begins"]);
    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    running.stop().await.unwrap();
    assert_eq!(journal.take(), ["a ends"]);
}

/// A daemon that writes the size into the status that it was given.
struct Mirror;

impl Handlers for Mirror {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.daemon("mirror", Self::mirror);
    }
}

impl Mirror {
    async fn mirror(self: Arc<Self>, daemon: DaemonCall<Widget>) -> Result<()> {
        while daemon.sleep(Duration::from_millis(20)).await {
            let latest = daemon.latest();
            let mut status = latest.status.clone().unwrap_or_default();
            status.observed_generation = Some(latest.spec.size.into());
            daemon.cx().update_status(&*latest, &status).await?;
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_daemon_writes_the_status_also_after_writes_of_others() {
    let server = server().await;
    let other = PatchParams::apply("another");
    let running = start(&server, Mirror).await;
    create_sized(&server, "a", 1).await;
    for size in [1, 2, 3] {
        patch(&server, "a", json!({"spec": {"size": size}})).await;
        server
            .eventually("the status has the size", async || {
                let widget = widgets(&server).get("a").await.ok()?;
                let shown = widget.status.unwrap_or_default().observed_generation;
                (shown == Some(size)).then_some(())
            })
            .await;
        let labels = json!({"metadata": {"labels": {"size": size.to_string()}}});
        patch(&server, "a", labels).await;
        let condition = json!({
            "type": "Backup", "status": "True", "reason": "Done", "message": size.to_string(),
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let applied = json!({
            "apiVersion": "test.example.com/v1", "kind": "Widget", "status": { "conditions": [condition] },
        });
        let api = widgets(&server);
        api.patch_status("a", &other, &Patch::Apply(applied))
            .await
            .unwrap();
    }
    patch(&server, "a", json!({"spec": {"size": 4}})).await;
    server
        .eventually("the status has the last size", async || {
            let status = widgets(&server).get("a").await.ok()?.status?;
            (status.observed_generation == Some(4)).then_some(())
        })
        .await;
    let conditions = widgets(&server)
        .get("a")
        .await
        .unwrap()
        .status
        .unwrap()
        .conditions
        .unwrap();
    assert_eq!(conditions[0].message, "3", "the other's is not taken back");
    running.stop().await.unwrap();
}

/// Sub-handlers that each write a part of the status. During the first call of the first one, another client writes its part.
struct Parts {
    journal: Arc<Journal>,
    other: Client,
}

impl Handlers for Parts {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("parts", Self::parts);
    }
}

impl Parts {
    async fn parts(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        for name in ["one", "two"] {
            let part = async |call: Call<Widget>| {
                self.journal.call(&call, "")?;
                if name == "one" && call.attempt() == 1 {
                    let api: Api<Widget> = Api::default_namespaced(self.other.clone());
                    let part = Patch::Merge(json!({"status": {"handlers": {"one": "begun"}}}));
                    let parameters = PatchParams::default();
                    api.patch_status("a", &parameters, &part).await?;
                }
                let mut status = call.object().status.clone().unwrap_or_default();
                let parts = status.handlers.get_or_insert_default();
                parts.insert(name.to_owned(), "done".to_owned());
                call.cx().update_status(&**call.object(), &status).await
            };
            call.sub_handler(name, part).await?;
        }
        Ok(())
    }
}

#[tokio::test]
async fn sub_handlers_lose_no_part_of_the_status() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let parts = Parts {
        journal: journal.clone(),
        other: server.client(),
    };
    let running = start(&server, parts).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    let widget = widgets(&server).get("a").await.unwrap();
    let done = widget
        .status
        .unwrap_or_default()
        .handlers
        .unwrap_or_default();
    assert_eq!(done.into_keys().collect::<Vec<_>>(), ["one", "two"]);
    let calls = ["one#1", "two#1", "one#2"];
    assert_eq!(
        journal.take(),
        calls.map(|it| format!("a create parts/{it} size 1"))
    );
    running.stop().await.unwrap();
}

/// A field handler during whose call another client changes the field back.
struct Back {
    journal: Arc<Journal>,
    other: Client,
}

impl Handlers for Back {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.field("size", |widget| widget.spec.size, Self::size);
    }
}

impl Back {
    async fn size(self: Arc<Self>, field: FieldUpdate<Widget, i32>) -> Result<()> {
        self.journal
            .call(&field, &format!(" {:?} -> {}", field.old(), field.new()))?;
        if *field.new() == 2 {
            let api: Api<Widget> = Api::default_namespaced(self.other.clone());
            let size = Patch::Merge(json!({"spec": {"size": 1}}));
            api.patch("a", &PatchParams::default(), &size).await?;
        }
        let status = json!({"observedGeneration": field.new()});
        let object = field.object();
        field.cx().update_status(&**object, &status).await
    }
}

#[tokio::test]
async fn what_a_handler_has_done_is_undone_if_the_field_is_changed_back_meanwhile() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let back = Back {
        journal: journal.clone(),
        other: server.client(),
    };
    let running = start(&server, back).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    let lines = logged(&server, &journal, 3).await;
    assert_eq!(
        lines,
        [
            "a create size#1 size 1 None -> 1",
            "a update size#1 size 2 Some(1) -> 2",
            "a update size#1 size 1 Some(2) -> 1",
        ]
    );
    settled(&server, "a").await;
    let widget = widgets(&server).get("a").await.unwrap();
    assert_eq!(
        widget.status.unwrap_or_default().observed_generation,
        Some(1)
    );
    running.stop().await.unwrap();
}
