//! Each write has the field manager and the operation that the table in `docs/runtime.md` names. In memory and on a real API server.

use std::sync::Arc;

use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Event},
    },
    apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry,
};
use kube::{Api, ResourceExt};
use operator_runtime::{
    Controllers, Settings, Setup,
    handlers::{Call, Handlers, Registry},
};

use crate::support::{
    Calls, FINALIZER, OPERATOR, Running, Widget, create, event, ready, server, until_quiet, widgets,
};

/// Each owner of a field of an object: `MANAGER OPERATION SUBRESOURCE: FIELDS`, with the operator's own fields two levels deep.
fn owners(object: &impl ResourceExt) -> Vec<String> {
    let describe = |entry: &ManagedFieldsEntry| {
        let text = |it: &Option<String>| it.clone().unwrap_or_default();
        let fields = entry.fields_v1.as_ref().unwrap().0.as_object().unwrap();
        let fields: Vec<_> = fields
            .iter()
            .flat_map(|(outer, inner)| {
                let inner = inner.as_object().unwrap().keys();
                inner
                    .filter(|it| *it != ".")
                    .map(move |it| format!("{}.{}", &outer[2..], &it[2..]))
            })
            .collect();
        let (operation, subresource) = (text(&entry.operation), text(&entry.subresource));
        let manager = text(&entry.manager);
        format!("{manager} {operation} {subresource}: {}", fields.join(" "))
    };
    let mut owners: Vec<_> = object
        .managed_fields()
        .iter()
        .map(describe)
        .filter(|it| it.starts_with(OPERATOR))
        .collect();
    owners.sort();
    owners
}

#[tokio::test]
async fn a_reconciler_owns_what_it_writes() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let mut settings = Settings::for_tests();
    settings.leader_election = true;
    let _running = Running::start(server.client(), settings, widgets::<true>(&calls)).await;
    create(&server, "a", "ok").await;
    ready(&server, "a").await;
    let widget = Api::<Widget>::default_namespaced(server.client())
        .get("a")
        .await
        .unwrap();
    assert_eq!(
        owners(&widget),
        [
            format!("{OPERATOR} Apply status: status.conditions status.observedGeneration"),
            format!("{OPERATOR} Update : metadata.finalizers"),
        ]
    );
    let child: Api<ConfigMap> = Api::default_namespaced(server.client());
    let child = child.get("a").await.unwrap();
    let fields = "data.size metadata.annotations metadata.labels metadata.ownerReferences";
    let expected = format!("{OPERATOR} Apply : {fields}");
    assert_eq!(owners(&child), [expected]);
    let lease: Api<Lease> = Api::default_namespaced(server.client());
    let lease = owners(&lease.get(OPERATOR).await.unwrap());
    assert!(
        lease[0].starts_with(&format!("{OPERATOR} Update : ")) && lease.len() == 1,
        "{lease:?}"
    );

    create(&server, "bad", "fail").await;
    event(&server, "bad", "ReconcileError").await;
    let events: Api<Event> = Api::default_namespaced(server.client());
    let events = events.list(&Default::default()).await.unwrap();
    for event in &events {
        let owners = owners(event);
        assert!(
            owners[0].starts_with(&format!("{OPERATOR} Update : ")) && owners.len() == 1,
            "{owners:?}"
        );
    }
}

struct Results;

impl Handlers for Results {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = Some(FINALIZER);

    fn register(&self, on: &mut Registry<Self>) {
        on.progress_in_status("handlers");
        on.create("size", Self::size).result("ready");
    }
}

impl Results {
    async fn size(self: Arc<Self>, _call: Call<Widget>) -> operator_runtime::Result<i32> {
        Ok(3)
    }
}

#[tokio::test]
async fn handlers_have_a_manager_of_their_own_for_results_and_progress() {
    let server = server().await;
    let setup = async move |_: Setup| Ok(Results);
    let controllers = Controllers::new().add_handlers(setup, |watches| watches);
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    create(&server, "a", "ok").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    server
        .eventually("the handler is recorded", async || {
            api.get("a").await.unwrap().status?.handlers.map(drop)
        })
        .await;
    until_quiet(&server).await;
    let widget = api.get("a").await.unwrap();
    assert_eq!(
        owners(&widget),
        [
            format!("{OPERATOR} Update : metadata.finalizers"),
            format!("{OPERATOR}-handlers Update status: status.handlers status.ready"),
        ]
    );
}
