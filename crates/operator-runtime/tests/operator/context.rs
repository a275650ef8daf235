//! What a reconciler can do with its context, in one reconciliation.

use std::sync::Arc;

use crate::support::{Running, Widget, create, event, server, writes};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace, ResourceQuota, ResourceQuotaSpec},
    apimachinery::pkg::api::resource::Quantity,
};
use kube::{
    Api, ResourceExt,
    api::{ObjectMeta, PostParams},
};
use operator_runtime::{
    Action, Context, Controllers, Error, EventType, Reconciler, Result, Settings, Setup,
};
use tokio::sync::mpsc::{Sender, channel};

/// Calls the methods of the context for each Widget, and sends the outcomes.
struct Everything(Sender<Vec<(&'static str, String)>>);

fn outcome<T>(result: &Result<T>) -> String {
    match result {
        Ok(_) => "ok".into(),
        Err(Error::Taken { holder, .. }) => format!("taken by {holder:?}"),
        Err(Error::Unownable { .. }) => "unownable".into(),
        Err(Error::Undeclared { .. }) => "undeclared".into(),
        Err(error) => error.to_string(),
    }
}

fn quota(widget: &Widget, cx: &Context) -> ResourceQuota {
    let hard = [("cpu".to_owned(), Quantity("1000m".into()))];
    let spec = ResourceQuotaSpec {
        hard: Some(hard.into()),
        ..ResourceQuotaSpec::default()
    };
    ResourceQuota {
        metadata: cx.child_metadata(widget, "quota"),
        spec: Some(spec),
        ..ResourceQuota::default()
    }
}

impl Reconciler for Everything {
    type Resource = Widget;

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context) -> Result<Action> {
        let named = |name: &str| ConfigMap {
            // No owner reference and no namespace: the context adds them.
            metadata: ObjectMeta {
                name: Some(name.into()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        let mut elsewhere = named("elsewhere");
        elsewhere.metadata.namespace = Some("kube-system".into());
        let namespace = Namespace {
            metadata: ObjectMeta {
                name: Some("own".into()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        let outcomes = vec![
            ("apply", outcome(&cx.apply(&named("made")).await)),
            ("apply foreign", outcome(&cx.apply(&named("foreign")).await)),
            (
                "delete foreign",
                outcome(&cx.delete(&named("foreign")).await),
            ),
            ("adopt foreign", outcome(&cx.adopt(&named("foreign")).await)),
            ("apply adopted", outcome(&cx.apply(&named("foreign")).await)),
            (
                "delete adopted",
                outcome(&cx.delete(&named("foreign")).await),
            ),
            (
                "delete nothing",
                outcome(&cx.delete(&named("foreign")).await),
            ),
            ("apply elsewhere", outcome(&cx.apply(&elsewhere).await)),
            ("apply cluster-scoped", outcome(&cx.apply(&namespace).await)),
            ("apply quota", outcome(&cx.apply(&quota(&widget, cx)).await)),
            (
                "apply quota again",
                outcome(&cx.apply(&quota(&widget, cx)).await),
            ),
        ];
        for note in ["one", "one", "two"] {
            cx.event(&*widget, EventType::Normal, "Tried", note).await;
        }
        self.0.send(outcomes).await.map_err(anyhow::Error::from)?;
        Ok(Action::await_change())
    }
}

#[tokio::test]
async fn children_are_applied_adopted_and_deleted_and_ownership_is_enforced() {
    let server = server().await;
    let configs: Api<ConfigMap> = Api::default_namespaced(server.client());
    let metadata = ObjectMeta {
        name: Some("foreign".into()),
        ..ObjectMeta::default()
    };
    let foreign = ConfigMap {
        metadata,
        ..ConfigMap::default()
    };
    configs
        .create(&PostParams::default(), &foreign)
        .await
        .unwrap();

    let (sender, mut outcomes) = channel(100);
    let controllers = Controllers::new().add(
        async move |_: Setup| Ok(Everything(sender)),
        |c| {
            c.owns::<ConfigMap>()
                .owns::<ResourceQuota>()
                .owns::<Namespace>()
        },
    );
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    let before = server.requests().len();
    let widget = create(&server, "a", "ok").await;
    let outcomes = outcomes.recv().await.unwrap();
    let expected = [
        ("apply", "ok"),
        ("apply foreign", "taken by None"),
        ("delete foreign", "taken by None"),
        ("adopt foreign", "ok"),
        ("apply adopted", "ok"),
        ("delete adopted", "ok"),
        ("delete nothing", "ok"),
        ("apply elsewhere", "unownable"),
        ("apply cluster-scoped", "unownable"),
        ("apply quota", "ok"),
        ("apply quota again", "ok"),
    ];
    let found: Vec<_> = outcomes
        .iter()
        .map(|(what, came)| (*what, came.as_str()))
        .collect();
    assert_eq!(found, expected);

    let first_writes = &writes(&server.requests()[before..])[..5];
    let expected = [
        "create widgets/",
        "patch configmaps/",
        "patch configmaps/",
        "delete configmaps/",
        "patch resourcequotas/",
    ];
    assert_eq!(
        first_writes, expected,
        "an unchanged child is not written again"
    );
    let made = configs.get("made").await.unwrap();
    assert_eq!(Some(&made.owner_references()[0].uid), widget.uid().as_ref());
    let note = event(&server, "a", "Tried").await;
    assert!(["one", "two"].contains(&note.as_str()));
    let events: Api<k8s_openapi::api::events::v1::Event> = Api::all(server.client());
    server
        .eventually(
            "each note is an event, and the same one is counted",
            async || {
                let events = events.list(&Default::default()).await.unwrap();
                let mut notes: Vec<_> = events
                    .iter()
                    .filter(|event| event.reason.as_deref() == Some("Tried"))
                    .map(|event| {
                        (
                            event.note.clone().unwrap_or_default(),
                            event.series.is_some(),
                        )
                    })
                    .collect();
                notes.sort();
                let first_counts = notes.first() == Some(&("one".into(), true));
                (notes.len() == 2 && first_counts && notes[1].0 == "two").then_some(())
            },
        )
        .await;
}
