//! Where the records of handlers are kept, and to which handlers and objects they belong.

use super::*;
use crate::support::{event, until_quiet};

/// The handlers of [`All`], with their records in a field of the status.
struct InStatus(All, &'static str);

impl Handlers for InStatus {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = Some(FINALIZER);

    fn register(&self, on: &mut Registry<Self>) {
        on.progress_in_status(self.1);
        on.create("create", Self::called);
        on.update("update", |handlers, update| {
            handlers.called((*update).clone())
        });
        on.resume("resume", Self::called);
        on.delete("delete", Self::called)
            .backoff(Duration::from_millis(50));
    }
}

impl InStatus {
    async fn called(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.0.0.call(&call, "")
    }
}

fn in_status(journal: &Arc<Journal>, field: &'static str) -> InStatus {
    InStatus(All(journal.clone()), field)
}

/// The records in the status, and the names of the operator's annotations.
async fn records(server: &Server, name: &str) -> (Vec<String>, Vec<String>) {
    let widget = widgets(server).get(name).await.unwrap();
    let status = widget.status.clone().unwrap_or_default();
    let ours = widget
        .annotations()
        .keys()
        .filter(|name| name.starts_with(OPERATOR));
    (
        status.handlers.unwrap_or_default().into_keys().collect(),
        ours.cloned().collect(),
    )
}

#[tokio::test]
async fn records_in_the_status_survive_a_restart_and_need_no_annotation() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    journal.plan("create", &[Outcome::Temporary; 2]);
    let running = start(&server, in_status(&journal, "handlers")).await;
    create_sized(&server, "a", 1).await;
    let lines = logged(&server, &journal, 3).await;
    assert_eq!(lines.last().unwrap(), "a create create#3 size 1");
    until_quiet(&server).await;
    assert_eq!(
        records(&server, "a").await,
        (vec!["handled".into()], vec![])
    );
    running.stop().await.unwrap();

    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    let running = start(&server, in_status(&journal, "handlers")).await;
    let lines = logged(&server, &journal, 2).await;
    assert_eq!(
        lines,
        ["a update update#1 size 2", "a resume resume#1 size 2"]
    );
    // a write of the status by others is no change
    let status = Patch::Merge(json!({"status": {"ready": 1}}));
    let api = widgets(&server);
    let parameters = PatchParams::default();
    api.patch_status("a", &parameters, &status).await.unwrap();
    until_quiet(&server).await;
    assert_eq!(journal.len(), 0);

    journal.plan("delete", &[Outcome::Temporary; 2]);
    api.delete("a", &Default::default()).await.unwrap();
    let lines = logged(&server, &journal, 3).await;
    assert_eq!(lines.last().unwrap(), "a delete delete#3 size 2");
    running.stop().await.unwrap();
}

#[tokio::test]
async fn without_the_field_in_the_schema_or_the_type_records_are_annotations() {
    let server = server().await;
    // a field that the schema lacks, one of another type, and one that the Rust type lacks
    for (name, field) in [("a", "unknown"), ("b", "ready"), ("c", "unnamed")] {
        let journal = Arc::new(Journal::default());
        let running = start(&server, in_status(&journal, field)).await;
        create_sized(&server, name, 1).await;
        event(&server, name, "StatusFieldMissing").await;
        settled(&server, name).await;
        patch(&server, name, json!({"spec": {"size": 2}})).await;
        settled(&server, name).await;
        let lines = journal.take();
        let own: Vec<_> = lines.iter().filter(|line| line.starts_with(name)).collect();
        assert_eq!(
            own,
            [
                &format!("{name} create create#1 size 1"),
                &format!("{name} update update#1 size 2")
            ]
        );
        running.stop().await.unwrap();
    }
}

/// A later version of [`All`], with another id for its first handler.
struct Renamed(Arc<Journal>);

impl Handlers for Renamed {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = Some(FINALIZER);

    fn register(&self, on: &mut Registry<Self>) {
        let run = |handlers: Arc<Self>, call| async move { handlers.0.call(&call, "") };
        on.create("first", run);
        on.create("create-2", run);
    }
}

#[tokio::test]
async fn a_renamed_handler_is_called_and_the_others_go_on_where_they_were() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    journal.plan("create-2", &[Outcome::Temporary; 2]);
    let running = start(&server, All(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    logged(&server, &journal, 4).await;
    running.stop().await.unwrap();

    let before = annotation(&server, "a", "progress").await.unwrap();
    assert_eq!(before["handlers"]["create-1"]["end"], "succeeded");
    let attempts = before["handlers"]["create-2"]["attempts"].as_u64().unwrap();
    journal.plan("create-2", &[]);
    let running = start(&server, Renamed(journal.clone())).await;
    let lines = logged(&server, &journal, 2).await;
    let second = format!("a create create-2#{} size 1", attempts + 1);
    assert_eq!(lines, ["a create first#1 size 1".to_owned(), second]);
    settled(&server, "a").await;
    assert_eq!(journal.len(), 0);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn records_move_from_annotations_to_the_status() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let running = start(&server, All(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    running.stop().await.unwrap();
    journal.take();

    let running = start(&server, in_status(&journal, "handlers")).await;
    assert_eq!(
        logged(&server, &journal, 1).await,
        ["a resume resume#1 size 1"]
    );
    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    assert_eq!(
        logged(&server, &journal, 1).await,
        ["a update update#1 size 2"]
    );
    server
        .eventually("the annotation is removed", async || {
            let found = records(&server, "a").await;
            (found == (vec!["handled".into()], vec![])).then_some(())
        })
        .await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn records_that_move_in_the_middle_of_a_cause_lose_nothing() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let running = start(&server, All(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    running.stop().await.unwrap();
    journal.take();

    // the first write after the move has only the progress
    journal.plan("update", &[Outcome::Temporary; 2]);
    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    let running = start(&server, in_status(&journal, "handlers")).await;
    let lines = logged(&server, &journal, 4).await;
    let updates: Vec<_> = lines
        .iter()
        .filter(|line| line.contains("update#"))
        .collect();
    assert_eq!(updates.len(), 3, "{lines:?}");
    server
        .eventually("it is handled", async || {
            let found = records(&server, "a").await;
            (found == (vec!["handled".into()], vec![])).then_some(())
        })
        .await;
    until_quiet(&server).await;
    assert_eq!(journal.len(), 0);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_copy_of_an_object_with_its_annotations_is_new() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let running = start(&server, All(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    journal.take();
    let mut copy = widgets(&server).get("a").await.unwrap();
    assert!(
        copy.annotations()
            .contains_key(&format!("{OPERATOR}/handled"))
    );
    copy.metadata.name = Some("b".into());
    copy.metadata.uid = None;
    copy.metadata.resource_version = None;
    let parameters = PostParams::default();
    widgets(&server).create(&parameters, &copy).await.unwrap();
    let lines = logged(&server, &journal, 3).await;
    assert_eq!(lines[0], "b create create-1#1 size 1");
    settled(&server, "b").await;
    until_quiet(&server).await;
    assert_eq!(journal.len(), 0);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn large_objects_and_those_with_large_annotations_are_recorded_as_hashes() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let running = start(&server, All(journal.clone())).await;
    let parameters = PostParams::default();
    // more than an essence may have, and nearly as much as all annotations may
    for (name, of_spec, of_annotation, changed) in [
        ("a", 40 << 10, 1, ["metadata.labels", "spec.size"]),
        // there is no room for a path
        ("b", 1, 250 << 10, ["", ""]),
    ] {
        let way = Some("x".repeat(of_spec));
        let mut widget = Widget::new(name, WidgetSpec { way, size: 1 });
        let note = "x".repeat(of_annotation);
        widget.annotations_mut().insert("note".into(), note);
        widgets(&server).create(&parameters, &widget).await.unwrap();
        logged(&server, &journal, 3).await;
        let recorded = async || {
            server
                .eventually("it is recorded", async || {
                    let is_done = annotation(&server, name, "progress").await.is_none();
                    annotation(&server, name, "handled")
                        .await
                        .filter(|_| is_done)
                })
                .await
        };
        let handled = recorded().await;
        assert!(
            handled["essence"].is_null() && handled["hashes"].is_object(),
            "{handled}"
        );

        // the field handler is only called for its field
        patch(&server, name, json!({"metadata": {"labels": {"a": "b"}}})).await;
        let lines = logged(&server, &journal, 1).await;
        assert!(
            lines[0].starts_with(&format!(
                "{name} update update#1 size 1 old None {}",
                changed[0]
            )),
            "{lines:?}"
        );
        until_quiet(&server).await;
        assert_eq!(journal.len(), 0);

        journal.plan("update", &[Outcome::Temporary]);
        patch(&server, name, json!({"spec": {"size": 2}})).await;
        let lines = logged(&server, &journal, 3).await;
        assert!(
            lines[0].starts_with(&format!(
                "{name} update update#1 size 2 old None {}",
                changed[1]
            )),
            "{lines:?}"
        );
        assert_eq!(lines[1], format!("{name} update size#1 size 2 None -> 2"));
        assert!(
            lines[2].starts_with(&format!(
                "{name} update update#2 size 2 old None {}",
                changed[1]
            )),
            "{lines:?}"
        );
        recorded().await;
        until_quiet(&server).await;
        assert_eq!(journal.len(), 0);
    }
    running.stop().await.unwrap();
}
