//! Changes of an object while its handlers are called.

use super::*;

/// Waits in its first create handler.
struct Waiting {
    journal: Arc<Journal>,
    begun: Arc<tokio::sync::Notify>,
    may_end: Arc<tokio::sync::Semaphore>,
}

impl Handlers for Waiting {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("create", Self::create);
        on.create("last", Self::any);
        on.update("update", Self::update);
        on.update("waiting", Self::waiting);
    }
}

impl Waiting {
    async fn create(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.journal.call(&call, "")?;
        self.begun.notify_one();
        self.may_end.acquire().await.unwrap().forget();
        Ok(())
    }

    async fn any(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.journal.call(&call, "")
    }

    async fn update(self: Arc<Self>, update: Update<Widget>) -> Result<()> {
        let old = update.old().map(|old| old.spec.size);
        self.journal.call(&update, &format!(" old {old:?}"))
    }

    async fn waiting(self: Arc<Self>, update: Update<Widget>) -> Result<()> {
        self.clone().update(update).await?;
        self.begun.notify_one();
        self.may_end.acquire().await.unwrap().forget();
        Ok(())
    }
}

#[tokio::test]
async fn a_change_during_a_cause_is_the_next_cause() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let (begun, may_end) = (Arc::default(), Arc::new(tokio::sync::Semaphore::new(0)));
    let waiting = Waiting {
        journal: journal.clone(),
        begun: Arc::clone(&begun),
        may_end: may_end.clone(),
    };
    let running = start(&server, waiting).await;
    create_sized(&server, "a", 1).await;
    begun.notified().await;
    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    may_end.add_permits(1);
    begun.notified().await;
    // one that was done has seen 2, and the other one is still at it
    patch(&server, "a", json!({"spec": {"size": 1}})).await;
    may_end.add_permits(9);
    settled(&server, "a").await;
    let expected = [
        "a create create#1 size 1",
        "a create last#1 size 2",
        "a update update#1 size 2 old Some(1)",
        "a update waiting#1 size 2 old Some(1)",
        "a update update#1 size 1 old Some(2)",
        "a update waiting#1 size 1 old Some(2)",
    ];
    assert_eq!(journal.take(), expected);
    running.stop().await.unwrap();
}
