//! The causes of calls, without errors.

use super::*;
use crate::support::until_quiet;
use kube::api::DeleteParams;
use operator_runtime::handlers::Cause;
use std::time::Duration;

#[tokio::test]
async fn each_cause_calls_its_handlers_in_their_order() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let running = start(&server, All(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    let created = [
        "a create create-1#1 size 1",
        "a create create-2#1 size 1",
        "a create size#1 size 1 None -> 1",
    ];
    assert_eq!(journal.take(), created);
    let widget = widgets(&server).get("a").await.unwrap();
    assert_eq!(widget.finalizers(), [FINALIZER]);

    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    settled(&server, "a").await;
    let updated = [
        "a update update#1 size 2 old Some(1) spec.size",
        "a update size#1 size 2 Some(1) -> 2",
    ];
    assert_eq!(journal.take(), updated);

    let labels = json!({"metadata": {"labels": {"app": "web"}, "annotations": {"x": "y"}}});
    patch(&server, "a", labels).await;
    let labeled = logged(&server, &journal, 2).await;
    let both = "size 2 old Some(2) metadata";
    assert_eq!(
        labeled,
        [
            format!("a update update#1 {both}"),
            format!("a update labeled#1 {both}")
        ]
    );
    // a change of the status or of other metadata is not handled
    let status = json!({"status": {"observedGeneration": 1}});
    let parameters = PatchParams::default();
    let api = widgets(&server);
    api.patch_status("a", &parameters, &Patch::Merge(status))
        .await
        .unwrap();
    patch(
        &server,
        "a",
        json!({"metadata": {"finalizers": [FINALIZER, "x/y"]}}),
    )
    .await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(journal.take().is_empty());
    patch(
        &server,
        "a",
        json!({"metadata": {"finalizers": [FINALIZER]}}),
    )
    .await;

    running.stop().await.unwrap();
    let running = start(&server, All(journal.clone())).await;
    let resumed = logged(&server, &journal, 2).await;
    let expected = ["a resume resume-1#1 size 2", "a resume resume-2#1 size 2"];
    assert_eq!(resumed, expected);

    api.delete("a", &DeleteParams::default()).await.unwrap();
    server
        .eventually("it is gone", async || {
            api.get_opt("a").await.ok()?.is_none().then_some(())
        })
        .await;
    let deleted = ["a delete delete-1#1 size 2", "a delete delete-2#1 size 2"];
    assert_eq!(journal.take(), deleted);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn what_happened_while_the_operator_was_down_is_handled() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let running = start(&server, All(journal.clone())).await;
    for name in ["changed", "deleted"] {
        create_sized(&server, name, 1).await;
        settled(&server, name).await;
    }
    running.stop().await.unwrap();
    journal.take();
    patch(&server, "changed", json!({"spec": {"size": 2}})).await;
    patch(&server, "changed", json!({"spec": {"size": 3}})).await;
    create_sized(&server, "created", 4).await;
    let api = widgets(&server);
    api.delete("deleted", &DeleteParams::default())
        .await
        .unwrap();
    let running = start(&server, All(journal.clone())).await;
    let mut lines = logged(&server, &journal, 9).await;
    lines.sort_by_key(|line| line.split(' ').next().map(str::to_owned));
    assert_eq!(
        lines,
        [
            "changed resume resume-1#1 size 3",
            "changed resume resume-2#1 size 3",
            "changed update update#1 size 3 old Some(1) spec.size",
            "changed update size#1 size 3 Some(1) -> 3",
            "created create create-1#1 size 4",
            "created create create-2#1 size 4",
            "created create size#1 size 4 None -> 4",
            "deleted delete delete-1#1 size 1",
            "deleted delete delete-2#1 size 1",
        ]
    );
    running.stop().await.unwrap();
}

/// One handler for four causes, between others.
struct AnyOf(Arc<Journal>);

impl Handlers for AnyOf {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = Some(FINALIZER);

    fn register(&self, on: &mut Registry<Self>) {
        let soon = Duration::from_millis(50);
        let causes = [Cause::Create, Cause::Update, Cause::Resume, Cause::Delete];
        on.any_of(causes, "any", Self::any_of).backoff(soon);
        on.resume("resume", Self::resume);
        on.update("update", Self::any_of).backoff(soon);
    }
}

impl AnyOf {
    async fn any_of(self: Arc<Self>, update: Update<Widget>) -> Result<()> {
        let paths = update.changes().iter().map(ToString::to_string);
        let old = update.old().map(|old| old.spec.size);
        let changes = format!(" old {old:?} {:?}", paths.collect::<Vec<_>>());
        self.0.call(&update, &changes)
    }

    async fn resume(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.0.call(&call, "")
    }
}

#[tokio::test]
async fn a_handler_of_several_causes_is_called_once_for_each_of_them() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    journal.plan("any", &[Outcome::Temporary]);
    let running = start(&server, AnyOf(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    settled(&server, "a").await;
    running.stop().await.unwrap();
    assert_eq!(
        journal.take(),
        [
            "a create any#1 size 1 old None [\"\"]",
            "a create any#2 size 1 old None [\"\"]",
            "a update any#1 size 2 old Some(1) [\"spec.size\"]",
            "a update update#1 size 2 old Some(1) [\"spec.size\"]",
        ]
    );

    // changed while the operator was down: an update that fails is retried, and is not a resume as well
    patch(&server, "a", json!({"spec": {"size": 3}})).await;
    journal.plan("any", &[Outcome::Temporary]);
    journal.plan("update", &[Outcome::Temporary; 2]);
    let running = start(&server, AnyOf(journal.clone())).await;
    settled(&server, "a").await;
    running.stop().await.unwrap();
    let lines = journal.take();
    let of_any = lines.iter().filter(|line| line.contains(" any#"));
    assert_eq!(
        of_any.collect::<Vec<_>>(),
        [
            "a update any#1 size 3 old Some(2) [\"spec.size\"]",
            "a update any#2 size 3 old Some(2) [\"spec.size\"]",
        ]
    );
    assert!(
        lines.contains(&"a resume resume#1 size 3".to_owned()),
        "{lines:?}"
    );

    // not changed
    let running = start(&server, AnyOf(journal.clone())).await;
    let lines = logged(&server, &journal, 2).await;
    assert_eq!(
        lines,
        [
            "a resume any#1 size 3 old Some(3) []",
            "a resume resume#1 size 3"
        ]
    );
    let api = widgets(&server);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let lines = logged(&server, &journal, 1).await;
    assert_eq!(lines, ["a delete any#1 size 3 old None []"]);
    running.stop().await.unwrap();
}

struct Both;

impl Handlers for Both {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.any_of([Cause::Create, Cause::Deleted], "both", async |_, _| Ok(()));
    }
}

#[tokio::test]
async fn a_notice_among_several_causes_ends_the_start() {
    let server = server().await;
    let mut running = start(&server, Both).await;
    let error = running.ended().await.unwrap_err().to_string();
    for part in [
        "\"both\" cannot be called for the cause deleted among others",
        "help: register it with `deleted`, by another id",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

/// Closes the gate in its last delete handler, so that the operator receives no event of the watch after that.
struct Deaf(Arc<Journal>, Gate);

impl Handlers for Deaf {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = Some(FINALIZER);

    fn register(&self, on: &mut Registry<Self>) {
        on.create("create", Self::any);
        on.delete("first", Self::any);
        on.delete("last", Self::last);
    }
}

impl Deaf {
    async fn any(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.0.call(&call, "")
    }

    async fn last(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.1.set(false);
        self.any(call).await
    }
}

#[tokio::test]
async fn a_trigger_after_the_last_delete_handler_does_not_call_it_again() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let gate = Gate::new("/widgets", true);
    let deaf = Deaf(journal.clone(), gate.clone());
    let setup = async move |_: Setup| Ok(deaf);
    let controllers = Controllers::new().add_handlers(setup, |watches| watches);
    let client = gate.client(&server);
    let running = Running::start(client, Settings::for_tests(), controllers).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    journal.take();
    let api = widgets(&server);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    server
        .eventually("it is gone", async || {
            api.get_opt("a").await.ok()?.is_none().then_some(())
        })
        .await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let expected = ["a delete first#1 size 1", "a delete last#1 size 1"];
    assert_eq!(journal.take(), expected);
    gate.set(true);
    running.stop().await.unwrap();
}

/// Only handlers with filters.
struct Filtered(Arc<Journal>);

impl Handlers for Filtered {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("create", Self::any).has_label("mine");
        on.update("grown", Self::any_update)
            .has_label("mine")
            .when(|widget| widget.spec.size < 10)
            .when_changed(|old, new| old.is_some_and(|old| old.spec.size < new.spec.size));
    }
}

impl Filtered {
    async fn any(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.0.call(&call, "")
    }

    async fn any_update(self: Arc<Self>, update: Update<Widget>) -> Result<()> {
        self.0.call(&update, "")
    }
}

#[tokio::test]
async fn an_object_that_no_handler_accepts_is_left_alone() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let running = start(&server, Filtered(journal.clone())).await;
    create_sized(&server, "a", 1).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(
        widgets(&server)
            .get("a")
            .await
            .unwrap()
            .annotations()
            .is_empty()
    );
    patch(&server, "a", json!({"metadata": {"labels": {"mine": ""}}})).await;
    settled(&server, "a").await;
    for (size, is_called) in [(5, true), (4, false), (12, false), (3, false), (9, true)] {
        journal.take();
        patch(&server, "a", json!({"spec": {"size": size}})).await;
        settled(&server, "a").await;
        assert_eq!(journal.len(), usize::from(is_called), "{size}");
    }
    assert!(
        widgets(&server)
            .get("a")
            .await
            .unwrap()
            .finalizers()
            .is_empty()
    );
    running.stop().await.unwrap();
}

/// All of its handlers want a label. `deletes`: whether this release has a delete handler.
struct Mine {
    journal: Arc<Journal>,
    deletes: bool,
}

impl Handlers for Mine {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = Some(FINALIZER);

    fn register(&self, on: &mut Registry<Self>) {
        on.create("create", Self::any).has_label("mine");
        on.resume("resume", Self::any).has_label("mine");
        on.update("update", Self::update).has_label("mine");
        if self.deletes {
            on.delete("delete", Self::any)
                .has_label("mine")
                .backoff(Duration::from_secs(1000));
        }
    }
}

impl Mine {
    fn new(journal: &Arc<Journal>, deletes: bool) -> Self {
        Self {
            journal: journal.clone(),
            deletes,
        }
    }

    async fn any(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.journal.call(&call, "")
    }

    async fn update(self: Arc<Self>, update: Update<Widget>) -> Result<()> {
        let old = update.old().map(|old| old.spec.size);
        self.journal.call(&update, &format!(" old {old:?}"))
    }
}

async fn set_mine(server: &Server, name: &str, value: Option<&str>) {
    let labels = json!({"metadata": {"labels": {"mine": value}}});
    patch(server, name, labels).await;
}

async fn has_finalizers(server: &Server, name: &str, expected: &[&str]) {
    server
        .eventually(&format!("the finalizers are {expected:?}"), async || {
            let widget = widgets(server).get(name).await.ok()?;
            (widget.finalizers() == expected).then_some(())
        })
        .await;
}

#[tokio::test]
async fn what_changes_while_no_handler_accepts_an_object_is_handled_once_one_does() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let running = start(&server, Mine::new(&journal, true)).await;
    create_sized(&server, "a", 1).await;
    set_mine(&server, "a", Some("")).await;
    settled(&server, "a").await;
    has_finalizers(&server, "a", &[FINALIZER]).await;
    assert_eq!(journal.take(), ["a create create#1 size 1"]);

    set_mine(&server, "a", None).await;
    has_finalizers(&server, "a", &[]).await;
    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    until_quiet(&server).await;
    running.stop().await.unwrap();
    let running = start(&server, Mine::new(&journal, true)).await;
    until_quiet(&server).await;
    assert!(journal.take().is_empty());
    let handled = annotation(&server, "a", "handled").await.unwrap();
    assert_eq!(handled["essence"]["spec"]["size"], 1);

    set_mine(&server, "a", Some("")).await;
    let expected = [
        "a resume resume#1 size 2",
        "a update update#1 size 2 old Some(1)",
    ];
    assert_eq!(logged(&server, &journal, 2).await, expected);
    settled(&server, "a").await;
    has_finalizers(&server, "a", &[FINALIZER]).await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_finalizer_that_no_delete_handler_needs_is_removed_without_a_call() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let running = start(&server, Mine::new(&journal, true)).await;
    for name in ["rejected", "released", "foreign"] {
        create_sized(&server, name, 1).await;
        set_mine(&server, name, Some("")).await;
        settled(&server, name).await;
        has_finalizers(&server, name, &[FINALIZER]).await;
    }
    journal.take();

    // an object in deletion that is not accepted any more
    journal.plan("delete", &[Outcome::Other]);
    let api = widgets(&server);
    let parameters = DeleteParams::default();
    api.delete("rejected", &parameters).await.unwrap();
    let called = ["rejected delete delete#1 size 1"];
    assert_eq!(logged(&server, &journal, 1).await, called);
    set_mine(&server, "rejected", None).await;
    server
        .eventually("it is gone", async || {
            let gone = api.get_opt("rejected").await.ok()?;
            gone.is_none().then_some(())
        })
        .await;

    // an object that is accepted again once it is in deletion
    set_mine(&server, "foreign", None).await;
    has_finalizers(&server, "foreign", &[]).await;
    let other = json!({"metadata": {"finalizers": ["example.com/other"]}});
    patch(&server, "foreign", other).await;
    api.delete("foreign", &parameters).await.unwrap();
    set_mine(&server, "foreign", Some("")).await;
    until_quiet(&server).await;
    has_finalizers(&server, "foreign", &["example.com/other"]).await;
    running.stop().await.unwrap();

    // a release without a delete handler
    let running = start(&server, Mine::new(&journal, false)).await;
    has_finalizers(&server, "released", &[]).await;
    running.stop().await.unwrap();
    assert_eq!(journal.take(), ["released resume resume#1 size 1"]);
}
