//! Events of the watch, indexes, results, and notices.

use super::*;
use crate::support::until_quiet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use operator_runtime::handlers::{EventKind, Index, WatchEvent};

#[derive(Clone, Default)]
struct Seen {
    journal: Arc<Journal>,
    by_size: Index<i32, String>,
}

impl Handlers for Seen {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.event("failing", async |_, _| {
            Err(anyhow::anyhow!("no luck").into())
        });
        on.event("seen", Self::seen);
        on.index(&self.by_size, |widget| {
            Some((widget.spec.size, widget.name_any()))
        });
        on.create("created", Self::created)
            .result("observedGeneration");
        on.create("lost", |_, _| async { Ok("value") })
            .result("unknown")
            .when(|widget| widget.spec.size > 8);
        on.create("none", |_, _| async { Ok(None::<i64>) })
            .result("ready");
        on.deleted("notice", Self::notice);
    }
}

impl Seen {
    async fn seen(self: Arc<Self>, event: WatchEvent<Widget>) -> Result<()> {
        let kind = match event.kind() {
            EventKind::Listed => "listed",
            EventKind::Added => "added",
            EventKind::Modified => "modified",
            EventKind::Deleted => "deleted",
        };
        let line = format!("{kind} {}", event.object().name_any());
        self.journal.lines.lock().unwrap().push(line);
        Ok(())
    }

    async fn created(self: Arc<Self>, call: Call<Widget>) -> Result<i64> {
        let sizes: Vec<_> = self.by_size.keys();
        let near = self.by_size.get(&call.object().spec.size);
        let line = format!("created {sizes:?} {near:?}");
        self.journal.lines.lock().unwrap().push(line);
        Ok(7)
    }

    async fn notice(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.journal.call(&call, "")
    }
}

#[tokio::test]
async fn events_come_as_the_watch_has_them_and_an_index_is_complete_before_the_first_handler() {
    let server = server().await;
    for (name, size) in [("a", 1), ("b", 2), ("c", 2)] {
        create_sized(&server, name, size).await;
    }
    let seen = Seen::default();
    let journal = seen.journal.clone();
    let running = start(&server, seen.clone()).await;
    for name in ["a", "b", "c"] {
        settled(&server, name).await;
        let widget = widgets(&server).get(name).await.unwrap();
        assert_eq!(widget.status.unwrap().observed_generation, Some(7));
    }
    let lines = journal.take();
    assert!(
        lines.contains(&r#"created [1, 2] ["b", "c"]"#.to_owned()),
        "{lines:?}"
    );
    assert!(
        lines.contains(&r#"created [1, 2] ["a"]"#.to_owned()),
        "{lines:?}"
    );
    let of_a: Vec<_> = lines.iter().filter(|line| line.ends_with(" a")).collect();
    assert_eq!(of_a[0], "listed a");
    assert!(
        of_a[1..].iter().all(|line| *line == "modified a"),
        "{of_a:?}"
    );

    let status = json!({"status": {"observedGeneration": 8}});
    let parameters = PatchParams::default();
    let api = widgets(&server);
    api.patch_status("a", &parameters, &Patch::Merge(status))
        .await
        .unwrap();
    assert_eq!(logged(&server, &journal, 1).await, ["modified a"]);
    patch(&server, "a", json!({"spec": {"size": 5}})).await;
    server
        .eventually("the index has it", async || {
            (seen.by_size.keys() == [2, 5]).then_some(())
        })
        .await;
    settled(&server, "a").await;
    journal.take();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let mut lines = logged(&server, &journal, 2).await;
    lines.sort();
    assert_eq!(lines, ["a deleted notice#1 size 5", "deleted a"]);
    assert_eq!(seen.by_size.keys(), [2]);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_result_that_the_schema_has_no_field_for_is_reported() {
    let server = server().await;
    let running = start(&server, Seen::default()).await;
    create_sized(&server, "a", 9).await;
    let note = event(&server, "a", "StatusFieldMissing").await;
    assert!(note.contains("no field status.unknown"), "{note}");
    settled(&server, "a").await;
    running.stop().await.unwrap();
}

struct Nowhere;

impl Handlers for Nowhere {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("value", |_, _| async { Ok(3) });
    }
}

#[tokio::test]
async fn a_value_that_goes_nowhere_ends_the_start() {
    let server = server().await;
    let mut running = start(&server, Nowhere).await;
    let error = running.ended().await.unwrap_err().to_string();
    assert!(
        error.contains("\"value\" returns a value that goes nowhere"),
        "{error}"
    );
}

/// Handlers of Pods, which have a place in the status for a result or for their progress.
#[derive(Clone, Copy)]
enum InStatus {
    Result,
    Progress,
}

impl Handlers for InStatus {
    type Resource = Pod;

    fn register(&self, on: &mut Registry<Self>) {
        match self {
            Self::Result => drop(on.create("value", async |_, _| Ok(3)).result("value")),
            Self::Progress => on.progress_in_status("progress"),
        }
    }
}

#[tokio::test]
async fn a_field_in_the_status_of_a_built_in_kind_ends_the_start() {
    for (handlers, problem, help) in [
        (
            InStatus::Result,
            "\"value\" writes its result to status.value",
            "help: return `()`",
        ),
        (
            InStatus::Progress,
            "the progress cannot be in status.progress",
            "help: remove `progress_in_status`",
        ),
    ] {
        let server = server().await;
        let setup = async move |_: Setup| Ok(handlers);
        let controllers = Controllers::new().add_named_handlers("pods", setup, |watches| watches);
        let mut running = Running::start(server.client(), Settings::for_tests(), controllers).await;
        let error = running.ended().await.unwrap_err().to_string();
        for part in ["the handlers of Pod cannot work", problem, help] {
            assert!(error.contains(part), "{error}");
        }
    }
}

/// A filter and an index that panic for the size 13.
#[derive(Default)]
struct Unlucky {
    journal: Arc<Journal>,
    by_size: Index<i32, String>,
}

impl Handlers for Unlucky {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.event("event", async |unlucky: Arc<Self>, event| {
            let line = format!("{event:?}");
            unlucky.journal.lines.lock().unwrap().push(line);
            Ok(())
        })
        .when(|widget| {
            assert!(widget.spec.size != 13, "no luck");
            true
        });
        on.index(&self.by_size, |widget| {
            assert!(widget.spec.size != 13, "no luck");
            Some((widget.spec.size, widget.name_any()))
        });
    }
}

#[tokio::test]
async fn a_filter_or_an_index_that_panics_concerns_its_object_alone() {
    let server = server().await;
    let (journal, by_size) = (Arc::new(Journal::default()), Index::default());
    create_sized(&server, "a", 13).await;
    create_sized(&server, "b", 2).await;
    let unlucky = Unlucky {
        journal: journal.clone(),
        by_size: by_size.clone(),
    };
    let running = start(&server, unlucky).await;
    by_size.complete().await;
    assert_eq!(by_size.keys(), [2]);
    assert_eq!(logged(&server, &journal, 1).await, ["Listed b"]);
    patch(&server, "a", json!({"spec": {"size": 3}})).await;
    assert_eq!(logged(&server, &journal, 1).await, ["Modified a"]);
    assert_eq!(by_size.keys(), [2, 3]);
    running.stop().await.unwrap();
}

/// Handlers of events with filters.
struct Selected(Arc<Journal>);

impl Handlers for Selected {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.event("label", async |it: Arc<Self>, event| {
            it.log("label", &event)
        })
        .has_label("app");
        on.event("annotation", async |it: Arc<Self>, event| {
            it.log("annotation", &event)
        })
        .annotation("stamp", "red")
        .has_annotation("note");
    }
}

impl Selected {
    fn log(&self, handler: &str, event: &WatchEvent<Widget>) -> Result<()> {
        let line = format!("{handler} {event:?}");
        self.0.lines.lock().unwrap().push(line);
        Ok(())
    }
}

#[tokio::test]
async fn events_have_the_filters_of_labels_and_annotations() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let running = start(&server, Selected(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    for (metadata, expected) in [
        (json!({"labels": {"app": "web"}}), "label Modified a"),
        (
            json!({"labels": {"app": null}, "annotations": {"stamp": "red"}}),
            "",
        ),
        (
            json!({"annotations": {"note": "x"}}),
            "annotation Modified a",
        ),
        (json!({"annotations": {"stamp": "blue"}}), ""),
    ] {
        patch(&server, "a", json!({ "metadata": metadata })).await;
        until_quiet(&server).await;
        assert_eq!(journal.take().join(" "), expected);
    }
    running.stop().await.unwrap();
}
