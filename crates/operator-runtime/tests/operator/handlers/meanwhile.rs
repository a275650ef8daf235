//! Changes of an object while its handlers are called.

use super::*;

/// Waits in one of its create handlers and in one of its update handlers, until the test lets it end.
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
    // one update handler has ended with the size 2, and the other one still runs
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

/// An update handler that is retried, and the handler of a field.
struct Retried(Arc<Journal>);

impl Handlers for Retried {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.update("retried", Self::any)
            .backoff(Duration::from_millis(400));
        on.update("labeled", Self::any).label("app", "web");
        on.field("size", |widget| widget.spec.size, Self::size);
    }
}

impl Retried {
    async fn any(self: Arc<Self>, update: Update<Widget>) -> Result<()> {
        self.0.call(&update, "")
    }

    async fn size(self: Arc<Self>, field: FieldUpdate<Widget, i32>) -> Result<()> {
        self.0
            .call(&field, &format!(" {:?} -> {}", field.old(), field.new()))
    }
}

#[tokio::test]
async fn a_change_calls_a_handler_once_even_while_another_handler_is_retried() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    journal.plan("retried", &[Outcome::Other]);
    let running = start(&server, Retried(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    journal.take();
    patch(&server, "a", json!({"spec": {"way": "other"}})).await;
    assert_eq!(
        logged(&server, &journal, 1).await,
        ["a update retried#1 size 1"]
    );
    patch(
        &server,
        "a",
        json!({"spec": {"size": 2}, "metadata": {"labels": {"app": "web"}}}),
    )
    .await;
    let lines = logged(&server, &journal, 4).await;
    assert_eq!(
        lines,
        [
            "a update retried#2 size 2",
            "a update retried#1 size 2",
            "a update labeled#1 size 2",
            "a update size#1 size 2 Some(1) -> 2",
        ]
    );
    settled(&server, "a").await;
    assert_eq!(journal.take(), [""; 0]);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_field_whose_old_object_does_not_fit_the_type_any_more_counts_as_changed() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    create_sized(&server, "a", 5).await;
    let uid = widgets(&server).get("a").await.unwrap().uid();
    let handled = json!({"format": 1, "uid": uid, "essence": {"spec": {"size": "small"}}});
    let name = format!("{OPERATOR}/handled");
    let annotations = json!({"metadata": {"annotations": {name: handled.to_string()}}});
    patch(&server, "a", annotations).await;
    let running = start(&server, Retried(journal.clone())).await;
    let lines = logged(&server, &journal, 2).await;
    assert_eq!(
        lines,
        [
            "a update retried#1 size 5",
            "a update size#1 size 5 None -> 5"
        ]
    );
    running.stop().await.unwrap();
}
