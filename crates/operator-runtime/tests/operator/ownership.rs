//! Each write has the field manager and the operation that the table in `docs/runtime.md` names. In memory and on a real API server.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Event},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd,
};
use kube::Api;
use operator_runtime::{
    Controllers, Error, Settings, Setup,
    handlers::{Call, Handlers, Registry},
};
use operator_testing::Server;
use serde_json::json;

use crate::{
    crds::{NAME, crd, install, run},
    last_conversion::{run_converting, with_conversion},
    support::{
        Calls, FINALIZER, OPERATOR, Running, Widget, create, event, owners, ready, server,
        until_quiet, widgets,
    },
};

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
        on.delete("delete", async |_, _| Ok(()));
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

/// Waits for an hour after its first attempt.
struct Waiting;

impl Handlers for Waiting {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = None;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("wait", Self::wait);
    }
}

impl Waiting {
    async fn wait(self: Arc<Self>, _call: Call<Widget>) -> operator_runtime::Result<()> {
        Err(Error::temporary(
            Duration::from_secs(3600),
            std::io::Error::other("not yet"),
        ))
    }
}

#[tokio::test]
async fn the_progress_of_handlers_is_an_annotation_of_the_operator() {
    let server = server().await;
    let controllers =
        Controllers::new().add_handlers(async |_: Setup| Ok(Waiting), |watches| watches);
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    create(&server, "a", "ok").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let expected = [format!("{OPERATOR} Update : metadata.annotations")];
    server
        .eventually("the attempt is recorded", async || {
            (owners(&api.get("a").await.unwrap()) == expected).then_some(())
        })
        .await;
}

#[tokio::test]
async fn of_its_crd_the_operator_owns_all_or_the_bundle_alone() {
    let server = Server::start().await.unwrap();
    let crds: Api<Crd> = Api::all(server.client());
    run(&server, "0.1.0", &crd(&["a"])).await;
    let fields = "metadata.annotations spec.group spec.names spec.scope spec.versions";
    let applied = crds.get(NAME).await.unwrap();
    assert_eq!(owners(&applied), [format!("{OPERATOR} Apply : {fields}")]);

    let server = Server::start().await.unwrap();
    let crds: Api<Crd> = Api::all(server.client());
    install(&server, &with_conversion(&["a"])).await;
    run_converting(&server, Controllers::new(), None).await;
    let injected = crds.get(NAME).await.unwrap();
    assert_eq!(
        owners(&injected),
        [format!("{OPERATOR} Update : spec.conversion")]
    );
    let entries = injected.metadata.managed_fields.unwrap();
    let own = entries
        .into_iter()
        .find(|it| it.manager.as_deref() == Some(OPERATOR));
    let bundle = json!({ "f:caBundle": {} });
    let config = json!({ "f:webhook": { "f:clientConfig": bundle } });
    assert_eq!(
        own.unwrap().fields_v1.unwrap().0["f:spec"]["f:conversion"],
        config
    );
}
