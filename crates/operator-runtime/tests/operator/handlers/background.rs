//! Timers and daemons.

use super::*;
use kube::api::DeleteParams;
use operator_runtime::handlers::DaemonCall;
use std::{sync::atomic::AtomicU32, sync::atomic::Ordering::SeqCst, time::Instant};

#[derive(Default)]
struct Counts {
    ticks: AtomicU32,
    idle: AtomicU32,
    failing: AtomicU32,
    begun: AtomicU32,
    ended: AtomicU32,
    deaf: AtomicU32,
}

struct Clocks(Arc<Counts>, Arc<Journal>);

const SHORT: Duration = Duration::from_millis(50);

impl Handlers for Clocks {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = Some(FINALIZER);

    fn register(&self, on: &mut Registry<Self>) {
        on.timer("tick", SHORT, Self::tick);
        on.timer("idle", SHORT, Self::idle)
            .idle(Duration::from_millis(500));
        on.timer("failing", Duration::from_millis(600), Self::failing)
            .attempts(3)
            .backoff(SHORT)
            .has_label("failing");
        on.daemon("mirror", Self::mirror)
            .backoff(SHORT)
            .when(|widget| widget.spec.size > 0);
        on.daemon("deaf", Self::deaf).grace(SHORT).has_label("deaf");
        on.delete("delete", Self::delete);
    }
}

impl Clocks {
    async fn tick(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        call.memo::<AtomicU32>().fetch_add(1, SeqCst);
        self.0.ticks.fetch_add(1, SeqCst);
        Ok(())
    }

    async fn idle(self: Arc<Self>, _call: Call<Widget>) -> Result<()> {
        self.0.idle.fetch_add(1, SeqCst);
        Ok(())
    }

    async fn failing(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.0.failing.fetch_max(call.attempt(), SeqCst);
        Err(anyhow::anyhow!("failed").into())
    }

    async fn mirror(self: Arc<Self>, daemon: DaemonCall<Widget>) -> Result<()> {
        self.1.call(&daemon, "")?;
        self.0.begun.fetch_add(1, SeqCst);
        while daemon.sleep(SHORT).await {
            if daemon.latest().spec.size == 7 {
                return Err(anyhow::anyhow!("seven").into());
            }
        }
        self.0.ended.fetch_add(1, SeqCst);
        Ok(())
    }

    async fn deaf(self: Arc<Self>, _daemon: DaemonCall<Widget>) -> Result<()> {
        self.0.deaf.fetch_add(1, SeqCst);
        std::future::pending().await
    }

    async fn delete(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        let (begun, ended) = (self.0.begun.load(SeqCst), self.0.ended.load(SeqCst));
        let ticks = call.memo::<AtomicU32>().load(SeqCst) > 0;
        self.1.call(&call, &format!(" {begun} {ended} {ticks}"))
    }
}

async fn reaches(server: &Server, what: &str, count: &AtomicU32, at_least: u32) {
    server
        .eventually(what, async || {
            (count.load(SeqCst) >= at_least).then_some(())
        })
        .await;
}

#[tokio::test]
async fn timers_and_daemons_live_as_long_as_their_object() {
    let server = server().await;
    let (counts, journal) = (Arc::new(Counts::default()), Arc::new(Journal::default()));
    journal.plan("mirror", &[Outcome::Other]);
    let running = start(&server, Clocks(counts.clone(), journal.clone())).await;
    create_sized(&server, "a", 1).await;
    reaches(&server, "the daemon is there", &counts.begun, 1).await;
    let calls = ["a daemon mirror#1 size 1", "a daemon mirror#2 size 1"];
    assert_eq!(journal.take(), calls);
    reaches(&server, "the timer ticks", &counts.ticks, 3).await;
    assert_eq!(counts.idle.load(SeqCst), 0);
    reaches(&server, "it is idle", &counts.idle, 2).await;
    // a daemon that fails is called again, one that is not accepted ends
    patch(&server, "a", json!({"spec": {"size": 7}})).await;
    reaches(&server, "it failed", &counts.begun, 2).await;
    patch(&server, "a", json!({"spec": {"size": 0}})).await;
    reaches(&server, "it ended", &counts.ended, 1).await;
    patch(
        &server,
        "a",
        json!({"spec": {"size": 3}, "metadata": {"labels": {"failing": "", "deaf": ""}}}),
    )
    .await;
    reaches(&server, "it begins again", &counts.begun, 3).await;
    reaches(&server, "a tick is retried", &counts.failing, 3).await;
    reaches(&server, "the deaf one begins", &counts.deaf, 1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(counts.failing.load(SeqCst), 3);
    journal.take();
    let api = widgets(&server);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    server
        .eventually("it is gone", async || {
            api.get_opt("a").await.ok()?.is_none().then_some(())
        })
        .await;
    // the delete handler is called after all tasks have ended
    assert_eq!(journal.take(), ["a delete delete#1 size 3 3 2 true"]);
    let ticks = counts.ticks.load(SeqCst);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(counts.ticks.load(SeqCst), ticks);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn an_operator_that_stops_ends_its_daemons_first() {
    let server = server().await;
    let (counts, journal) = (Arc::new(Counts::default()), Arc::new(Journal::default()));
    let running = start(&server, Clocks(counts.clone(), journal.clone())).await;
    create_sized(&server, "a", 1).await;
    let labels = json!({"metadata": {"labels": {"deaf": ""}}});
    patch(&server, "a", labels).await;
    reaches(&server, "the deaf one begins", &counts.deaf, 1).await;
    reaches(&server, "the daemon is there", &counts.begun, 1).await;
    let begun = Instant::now();
    running.stop().await.unwrap();
    assert_eq!(counts.ended.load(SeqCst), 1);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

struct Zero;

impl Handlers for Zero {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.timer("zero", Duration::ZERO, |_, _| async { Ok(()) });
    }
}

#[tokio::test]
async fn a_timer_without_an_interval_ends_the_start() {
    let server = server().await;
    let mut running = start(&server, Zero).await;
    let error = running.ended().await.unwrap_err().to_string();
    assert!(
        error.contains("the timer \"zero\" has the interval 0"),
        "{error}"
    );
}

/// Timers without an interval.
struct Quiet(Arc<Journal>);

impl Handlers for Quiet {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.timer("idle", None, Self::idle)
            .idle(Duration::from_millis(300))
            .result("observedGeneration");
        on.timer("once", None, Self::once).backoff(SHORT);
    }
}

impl Quiet {
    async fn idle(self: Arc<Self>, call: Call<Widget>) -> Result<i32> {
        self.0.call(&call, "")?;
        Ok(call.object().spec.size)
    }

    async fn once(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.0.call(&call, "")
    }
}

#[tokio::test]
async fn a_timer_without_an_interval_is_called_once_or_after_each_change() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    journal.plan("once", &[Outcome::Other]);
    let running = start(&server, Quiet(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    let expected = [
        "a timer once#1 size 1",
        "a timer once#2 size 1",
        "a timer idle#1 size 1",
    ];
    assert_eq!(logged(&server, &journal, 3).await, expected);
    let observed = async |size: i64| {
        server
            .eventually(&format!("the result is {size}"), async || {
                let status = widgets(&server).get("a").await.ok()?.status?;
                (status.observed_generation == Some(size)).then_some(())
            })
            .await;
    };
    observed(1).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(journal.len(), 0);

    for size in [2, 3] {
        patch(&server, "a", json!({"spec": {"size": size}})).await;
    }
    observed(3).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(journal.take(), ["a timer idle#1 size 3"]);
    running.stop().await.unwrap();
}
