//! Errors of handlers, and what is recorded of them.

use super::*;

#[tokio::test]
async fn each_handler_is_retried_on_its_own_until_it_has_ended() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    use Outcome::{Other, Panic, Permanent, Temporary};
    journal.plan("create-1", &[Temporary, Panic, Temporary]);
    journal.plan("create-2", &[Other; 9]);
    journal.plan("size", &[Permanent]);
    let running = start(&server, All(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    let lines = journal.take();
    let attempts = |handler: &str| {
        let handler = format!(" {handler}#");
        lines.iter().filter(|line| line.contains(&handler)).count()
    };
    assert_eq!(attempts("create-1"), 4, "{lines:?}");
    assert_eq!(attempts("create-2"), 3, "{lines:?}");
    assert_eq!(attempts("size"), 1, "{lines:?}");
    let handled = annotation(&server, "a", "handled").await.unwrap();
    let failed = json!({"create-2": "failed", "size": "wrong"});
    assert_eq!(handled["failed"], failed);
    // a change calls them again
    journal.plan("size", &[]);
    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    settled(&server, "a").await;
    assert_eq!(journal.take().len(), 2);
    let handled = annotation(&server, "a", "handled").await.unwrap();
    assert!(handled["failed"].is_null());
    running.stop().await.unwrap();
}

#[tokio::test]
async fn the_progress_is_on_the_object_and_survives_a_restart() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    journal.plan("create-2", &[Outcome::Other; 2]);
    let running = start(&server, Slow(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    let progress = server
        .eventually("it has failed", async || {
            let progress = annotation(&server, "a", "progress").await?;
            progress["handlers"]["create-2"]["message"].as_str()?;
            Some(progress)
        })
        .await;
    assert_eq!(progress["cause"], "create");
    assert_eq!(progress["handlers"]["create-1"]["end"], "succeeded");
    assert_eq!(progress["handlers"]["create-2"]["message"], "failed");
    assert_eq!(progress["handlers"]["create-2"]["attempts"], 1);
    assert!(annotation(&server, "a", "handled").await.is_none());
    running.stop().await.unwrap();
    journal.take();
    let running = start(&server, Slow(journal.clone())).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(journal.take().is_empty(), "before it is due");
    settled(&server, "a").await;
    let expected = [
        "a create create-2#2 size 1",
        "a create create-2#3 size 1",
        "a create create-3#1 size 1",
    ];
    let mut lines = journal.take();
    lines.sort();
    assert_eq!(lines[..2], expected[..2]);
    running.stop().await.unwrap();
}

/// Two create handlers, one of them with a longer backoff.
struct Slow(Arc<Journal>);

impl Handlers for Slow {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        let backoff = Duration::from_millis(1500);
        on.create("create-1", Self::any);
        on.create("create-2", Self::any).backoff(backoff);
    }
}

impl Slow {
    async fn any(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.0.call(&call, "")
    }
}

#[tokio::test]
async fn a_damaged_record_is_reported_and_the_object_is_handled_as_changed() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    create_sized(&server, "a", 1).await;
    let annotations = json!({format!("{OPERATOR}/handled"): "{", format!("{OPERATOR}/progress"): "{\"format\":7}"});
    patch(
        &server,
        "a",
        json!({"metadata": {"annotations": annotations}}),
    )
    .await;
    let running = start(&server, All(journal.clone())).await;
    let lines = logged(&server, &journal, 4).await;
    assert_eq!(
        lines,
        [
            "a resume resume-1#1 size 1",
            "a resume resume-2#1 size 1",
            "a update update#1 size 1 old None ",
            "a update size#1 size 1 None -> 1",
        ]
    );
    settled(&server, "a").await;
    running.stop().await.unwrap();
}

/// A sub-handler for each word of the `way`.
struct Words(Arc<Journal>);

impl Handlers for Words {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("each", Self::each)
            .backoff(Duration::from_millis(50))
            .result("handlers");
    }
}

impl Words {
    async fn each(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.0.call(&call, "")?;
        for word in call.object().spec.way.iter().flat_map(|way| way.split(' ')) {
            let upper = async |call| {
                self.0.call(&call, "")?;
                Ok(word.to_uppercase())
            };
            call.sub_handler(word, upper).await?;
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_failing_sub_handler_is_retried_alone() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    journal.plan("each/two", &[Outcome::Other]);
    let running = start(&server, Words(journal.clone())).await;
    let way = Some("one two three".to_owned());
    let widget = Widget::new("a", WidgetSpec { way, size: 1 });
    let parameters = PostParams::default();
    widgets(&server).create(&parameters, &widget).await.unwrap();
    settled(&server, "a").await;
    let lines: Vec<String> = journal.take();
    let note = event(&server, "a", "HandlerRetries").await;
    assert_eq!(note, "create handler each/two: failed");
    let subs: Vec<&String> = lines.iter().filter(|line| line.contains('/')).collect();
    assert_eq!(
        subs,
        [
            "a create each/one#1 size 1",
            "a create each/two#1 size 1",
            "a create each/three#1 size 1",
            "a create each/two#2 size 1",
        ]
    );
    let status = widgets(&server).get("a").await.unwrap().status.unwrap();
    let results = ["one", "three", "two"].map(|it| (it.to_owned(), it.to_uppercase()));
    assert_eq!(status.handlers, Some(results.into()));
    running.stop().await.unwrap();
}

#[tokio::test]
async fn two_sub_handlers_of_one_id_are_an_error() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let running = start(&server, Words(journal.clone())).await;
    let way = Some("one two one".to_owned());
    let widget = Widget::new("a", WidgetSpec { way, size: 1 });
    let parameters = PostParams::default();
    widgets(&server).create(&parameters, &widget).await.unwrap();
    let note = event(&server, "a", "HandlerFailed").await;
    let problem = "two sub-handlers of one call have the id \"each/one\"";
    assert!(note.contains(problem), "{note}");
    running.stop().await.unwrap();
}

#[tokio::test]
async fn an_object_whose_handler_has_failed_counts_as_failing_until_it_is_handled() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    journal.plan("create-2", &[Outcome::Other; 3]);
    let running = start(&server, All(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    let failing = async |count: f64| {
        server
            .eventually("the metric has it", async || {
                let line = r#"operator_failing_objects{controller="widget",group="test.example.com",kind="Widget"}"#;
                (running.metric(line).await? == count).then_some(())
            })
            .await;
    };
    failing(1.0).await;
    let errors = r#"operator_handler_errors_total{controller="widget",handler="create-2"}"#;
    assert_eq!(running.metric(errors).await, Some(3.0));
    // a change for which no handler is called does not change that
    let status = Patch::Merge(json!({"status": {"observedGeneration": 8}}));
    let parameters = PatchParams::default();
    let api = widgets(&server);
    api.patch_status("a", &parameters, &status).await.unwrap();
    until_quiet(&server).await;
    failing(1.0).await;
    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    settled(&server, "a").await;
    failing(0.0).await;
    running.stop().await.unwrap();
}

struct Wrong;

impl Handlers for Wrong {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("same", Self::any);
        on.update("same", |_, _| async { Ok(()) });
    }
}

impl Wrong {
    async fn any(self: Arc<Self>, _: Call<Widget>) -> Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn two_handlers_of_one_id_end_the_start() {
    let server = server().await;
    let mut running = start(&server, Wrong).await;
    let error = running.ended().await.unwrap_err().to_string();
    for part in [
        "two handlers have the id \"same\"",
        "help: give one of them another id",
    ] {
        assert!(error.contains(part), "{error}");
    }
}
