//! Handlers of a field of the status, which the essence of an object lacks.

use super::*;
use crate::support::until_quiet;

/// The handler of a field of the status, if this release has it, and handlers of the essence. `writes`: the value that the first one writes.
struct Observed {
    journal: Arc<Journal>,
    has_field: bool,
    writes: Option<i64>,
}

impl Handlers for Observed {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.create(
            "create",
            |it, call| async move { it.journal.call(&call, "") },
        );
        on.update("update", Self::update);
        if self.has_field {
            on.field("observed", observed, Self::field);
        }
    }
}

fn observed(widget: &Widget) -> Option<i64> {
    widget.status.as_ref()?.observed_generation
}

impl Observed {
    fn new(journal: &Arc<Journal>) -> Self {
        Self {
            journal: journal.clone(),
            has_field: true,
            writes: None,
        }
    }

    async fn update(self: Arc<Self>, update: Update<Widget>) -> Result<()> {
        self.journal.call(&update, "")
    }

    async fn field(self: Arc<Self>, field: FieldUpdate<Widget, Option<i64>>) -> Result<()> {
        let values = format!(" {:?} -> {:?}", field.old(), field.new());
        self.journal.call(&field, &values)?;
        if self.writes.is_none() {
            return Ok(());
        }
        let mut status = field.object().status.clone().unwrap_or_default();
        status.observed_generation = self.writes;
        field.cx().update_status(&**field.object(), &status).await
    }
}

async fn observe(server: &Server, generation: Option<i64>) {
    let status = json!({"status": {"observedGeneration": generation}});
    let parameters = PatchParams::default();
    let api = widgets(server);
    api.patch_status("a", &parameters, &Patch::Merge(status))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_change_of_a_status_calls_the_handlers_of_its_field_with_the_value_that_they_saw_last() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let running = start(&server, Observed::new(&journal)).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    assert_eq!(journal.take(), ["a create create#1 size 1"]);

    journal.plan("observed", &[Outcome::Temporary]);
    observe(&server, Some(1)).await;
    let expected = [
        "a update observed#1 size 1 Some(None) -> Some(1)",
        "a update observed#2 size 1 Some(None) -> Some(1)",
    ];
    assert_eq!(logged(&server, &journal, 2).await, expected);
    settled(&server, "a").await;
    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    settled(&server, "a").await;
    assert_eq!(journal.take(), ["a update update#1 size 2"]);
    running.stop().await.unwrap();

    observe(&server, Some(3)).await;
    let running = start(&server, Observed::new(&journal)).await;
    let expected = ["a update observed#1 size 2 Some(Some(1)) -> Some(3)"];
    assert_eq!(logged(&server, &journal, 1).await, expected);
    observe(&server, None).await;
    let expected = ["a update observed#1 size 2 Some(Some(3)) -> None"];
    assert_eq!(logged(&server, &journal, 1).await, expected);

    // of a large object, the value is a hash
    let large = json!({"spec": {"way": "x".repeat(40 << 10)}});
    patch(&server, "a", large).await;
    assert_eq!(
        logged(&server, &journal, 1).await,
        ["a update update#1 size 2"]
    );
    until_quiet(&server).await;
    observe(&server, Some(4)).await;
    let expected = ["a update observed#1 size 2 None -> Some(4)"];
    assert_eq!(logged(&server, &journal, 1).await, expected);
    until_quiet(&server).await;
    assert_eq!(journal.len(), 0);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_handler_that_a_later_release_adds_to_a_field_of_the_status_has_missed_nothing() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let earlier = Observed {
        has_field: false,
        ..Observed::new(&journal)
    };
    let running = start(&server, earlier).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    observe(&server, Some(1)).await;
    running.stop().await.unwrap();
    journal.take();

    let running = start(&server, Observed::new(&journal)).await;
    until_quiet(&server).await;
    assert_eq!(journal.len(), 0);
    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    assert_eq!(
        logged(&server, &journal, 1).await,
        ["a update update#1 size 2"]
    );
    settled(&server, "a").await;
    observe(&server, Some(2)).await;
    let expected = ["a update observed#1 size 2 Some(Some(1)) -> Some(2)"];
    assert_eq!(logged(&server, &journal, 1).await, expected);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_handler_that_writes_its_field_is_called_for_that_once() {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    let writing = Observed {
        writes: Some(9),
        ..Observed::new(&journal)
    };
    let running = start(&server, writing).await;
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    journal.take();
    observe(&server, Some(1)).await;
    let expected = [
        "a update observed#1 size 1 Some(None) -> Some(1)",
        "a update observed#1 size 1 Some(Some(1)) -> Some(9)",
    ];
    assert_eq!(logged(&server, &journal, 2).await, expected);
    until_quiet(&server).await;
    assert_eq!(journal.len(), 0);
    running.stop().await.unwrap();
}
