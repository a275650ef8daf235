//! Daemons that take their time to end, and what waits for them.

use super::*;
use kube::api::DeleteParams;
use operator_runtime::handlers::DaemonCall;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// How long a daemon runs on after it should stop.
const SLOW: Duration = Duration::from_millis(500);

/// A daemon that ends slowly, and a create handler that takes long.
#[derive(Clone, Default)]
struct Slow {
    lines: Arc<Journal>,
    running: Arc<AtomicU32>,
    most: Arc<AtomicU32>,
}

impl Slow {
    fn log(&self, line: &str) {
        self.lines.lines.lock().unwrap().push(line.to_owned());
    }

    async fn daemon(self: Arc<Self>, daemon: DaemonCall<Widget>) -> Result<()> {
        let now = self.running.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(now, SeqCst);
        self.log("begins");
        daemon.stopped().await;
        tokio::time::sleep(SLOW).await;
        self.log("ends");
        self.running.fetch_sub(1, SeqCst);
        Ok(())
    }

    async fn create(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        if call.object().spec.size == 9 {
            self.log("works");
            tokio::time::sleep(SLOW * 3).await;
            self.log("is done");
        }
        Ok(())
    }

    async fn delete(self: Arc<Self>, _call: Call<Widget>) -> Result<()> {
        self.log("delete");
        Ok(())
    }
}

impl Handlers for Slow {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = Some(FINALIZER);

    fn register(&self, on: &mut Registry<Self>) {
        on.daemon("daemon", Self::daemon).label("on", "yes");
        on.create("create", Self::create);
        on.delete("delete", Self::delete);
    }
}

async fn label(server: &Server, value: Option<&str>) {
    patch(server, "a", json!({"metadata": {"labels": {"on": value}}})).await;
}

#[tokio::test]
async fn a_daemon_that_still_ends_has_no_second_beside_it_and_its_object_waits_for_it() {
    let server = server().await;
    let slow = Slow::default();
    let running = start(&server, slow.clone()).await;
    create_sized(&server, "a", 1).await;
    label(&server, Some("yes")).await;
    assert_eq!(logged(&server, &slow.lines, 1).await, ["begins"]);
    label(&server, None).await;
    tokio::time::sleep(SLOW / 5).await;
    label(&server, Some("yes")).await;
    assert_eq!(logged(&server, &slow.lines, 2).await, ["ends", "begins"]);
    assert_eq!(slow.most.load(SeqCst), 1);

    label(&server, None).await;
    tokio::time::sleep(SLOW / 5).await;
    let api = widgets(&server);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(logged(&server, &slow.lines, 2).await, ["ends", "delete"]);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_daemon_is_stopped_while_a_handler_still_works() {
    let server = server().await;
    let slow = Slow::default();
    let running = start(&server, slow.clone()).await;
    create_sized(&server, "a", 1).await;
    label(&server, Some("yes")).await;
    assert_eq!(logged(&server, &slow.lines, 1).await, ["begins"]);
    create_sized(&server, "b", 9).await;
    assert_eq!(logged(&server, &slow.lines, 1).await, ["works"]);
    running.stop().await.unwrap();
    assert_eq!(slow.lines.take(), ["ends", "is done"]);
}

/// A daemon without a finalizer.
struct Free(Slow);

impl Handlers for Free {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.daemon("daemon", |free: Arc<Self>, daemon| {
            Arc::new(free.0.clone()).daemon(daemon)
        });
    }
}

#[tokio::test]
async fn a_daemon_without_a_finalizer_ends_when_its_object_is_being_deleted() {
    let server = server().await;
    let slow = Slow::default();
    let running = start(&server, Free(slow.clone())).await;
    create_sized(&server, "a", 1).await;
    assert_eq!(logged(&server, &slow.lines, 1).await, ["begins"]);
    let finalizers = json!({"metadata": {"finalizers": ["example.com/other"]}});
    patch(&server, "a", finalizers).await;
    let api = widgets(&server);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(logged(&server, &slow.lines, 1).await, ["ends"]);
    assert!(api.get("a").await.is_ok(), "it is still there");
    running.stop().await.unwrap();
}
