//! Log lines of handlers and reconcilers that become events of their objects.

use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::api::core::v1::Event;
use kube::{Api, ResourceExt, api::ListParams};
use operator_runtime::{
    Controllers, LogEvents, Operator, Settings,
    handlers::{Handlers, Registry},
};
use operator_testing::Server;
use tracing::{error, info, warn};
use tracing_subscriber::layer::SubscriberExt;

use crate::support::{OPERATOR, Running, Widget, create, server};

struct Logging;

impl Handlers for Logging {
    type Resource = Widget;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("create", async |_, call| {
            info!("not loud enough");
            warn!(
                size = call.object().spec.size,
                "the disk of {} is full",
                call.object().name_any()
            );
            if call.object().name_any() == "flood" {
                (0..100).for_each(|number| error!(number));
            }
            Ok(())
        });
        on.timer("timer", Duration::from_secs(3600), async |_, _| {
            error!("late");
            Ok(())
        });
        on.event("event", async |_, _| {
            warn!("seen");
            Ok(())
        });
    }
}

/// The notes of the events about log lines of an object, with their types.
async fn notes(server: &Server, name: &str) -> BTreeSet<String> {
    let events: Api<Event> = Api::all(server.client());
    let all = events.list(&ListParams::default()).await.unwrap();
    all.items
        .into_iter()
        .filter(|event| {
            event.involved_object.name.as_deref() == Some(name)
                && event.reason.as_deref() == Some("Logged")
        })
        .map(|event| {
            format!(
                "{} {}",
                event.type_.unwrap_or_default(),
                event.message.unwrap_or_default()
            )
        })
        .collect()
}

async fn start(server: &Server) -> Running {
    let controllers = Controllers::new().add_handlers(async |_| Ok(Logging), |watches| watches);
    let operator = Operator::new(OPERATOR, Settings::for_tests(), server.client());
    Running::run(operator.register(controllers)).await
}

#[tokio::test]
async fn loud_lines_of_handlers_become_events_of_their_object_and_not_too_many() {
    let subscriber = tracing_subscriber::registry().with(LogEvents::Warn.layer());
    let _set = tracing::subscriber::set_default(subscriber);
    let server = server().await;
    let running = start(&server).await;
    create(&server, "a", "ok").await;
    let wanted = [
        "Warning late",
        "Warning seen",
        "Warning the disk of a is full size=1",
    ];
    let found = server
        .eventually("the lines are events", async || {
            let found = notes(&server, "a").await;
            wanted.iter().all(|it| found.contains(*it)).then_some(found)
        })
        .await;
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    create(&server, "flood", "ok").await;
    server
        .eventually("the first lines are events", async || {
            let found = notes(&server, "flood").await;
            (found.len() >= 9).then_some(())
        })
        .await;
    running.stop().await.unwrap();
    assert!(notes(&server, "flood").await.len() <= 10);
}

#[tokio::test]
async fn without_the_setting_no_line_becomes_an_event() {
    let subscriber = tracing_subscriber::registry().with(LogEvents::default().layer());
    let _set = tracing::subscriber::set_default(subscriber);
    let server = server().await;
    let running = start(&server).await;
    create(&server, "a", "ok").await;
    server
        .eventually("it is handled", async || {
            let api: Api<Widget> = Api::default_namespaced(server.client());
            let widget = api.get("a").await.ok()?;
            widget
                .annotations()
                .contains_key(&format!("{OPERATOR}/handled"))
                .then_some(())
        })
        .await;
    running.stop().await.unwrap();
    assert!(notes(&server, "a").await.is_empty());
}
