//! Objects that others write while handlers run, and handlers that run while the operator stops.

use super::*;
use crate::support::rest;
use kube::{Client, api::DeleteParams};
use operator_runtime::handlers::WatchEvent;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Handlers whose objects are written by another client during each call.
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

    /// Its own write of the status finds another version, and then it fails.
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
    rest(&server).await;
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
