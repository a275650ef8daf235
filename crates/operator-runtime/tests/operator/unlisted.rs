//! Owned kinds that cannot be listed, while parents of the style `declarative` are being deleted.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use crate::support::*;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::{Api, Client, ResourceExt, api::ObjectMeta};
use operator_runtime::{
    Controllers, Declarative, Desired, Finalized, Observed, Result, Settings, Setup,
};
use operator_testing::Server;

/// Returns a ServiceAccount for each Widget. Before a Widget is deleted, its children of the kind that its `way` names are read.
struct Accounts;

impl Declarative for Accounts {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = Some(FINALIZER);

    fn desired(&self, widget: &Widget, _: &Observed) -> Result<Desired<Widget>> {
        Ok(Desired::new().child(ServiceAccount {
            metadata: ObjectMeta {
                name: Some(widget.name_any()),
                ..ObjectMeta::default()
            },
            ..ServiceAccount::default()
        }))
    }

    fn finalize(&self, widget: &Widget, observed: &Observed) -> Result<Finalized> {
        match widget.spec.way.as_deref() {
            Some("accounts") => drop(observed.list::<ServiceAccount>()?),
            _ => assert!(observed.list::<ConfigMap>()?.is_empty()),
        }
        Ok(Finalized::Done)
    }
}

async fn start(client: Client) -> Running {
    let controllers = Controllers::new().add_declarative(
        async |_: Setup| Ok(Accounts),
        |watches| watches.owns::<ServiceAccount>().owns::<ConfigMap>(),
    );
    Running::start(client, Settings::for_tests(), controllers).await
}

async fn until_deleted(server: &Server, name: &str) {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    server
        .eventually(&format!("{name} is deleted"), async || {
            api.get_opt(name).await.unwrap().is_none().then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_kind_that_cannot_be_listed_blocks_only_the_parents_that_read_it() {
    let server = server().await;
    let running = start(server.client()).await;
    let accounts: Api<ServiceAccount> = Api::default_namespaced(server.client());
    let widgets: Api<Widget> = Api::default_namespaced(server.client());
    for (name, way) in [("reads", "accounts"), ("does-not", "maps")] {
        create(&server, name, way).await;
        server
            .eventually("its account", async || {
                accounts.get_opt(name).await.unwrap()
            })
            .await;
    }
    running.stop().await.unwrap();

    let is_open = Arc::new(AtomicBool::new(false));
    let _running = start(gated(&server, is_open.clone())).await;
    for name in ["reads", "does-not"] {
        widgets.delete(name, &Default::default()).await.unwrap();
    }
    until_deleted(&server, "does-not").await;
    let note = event(&server, "reads", "ChildrenUnlisted").await;
    assert!(
        note.starts_with("v1/ServiceAccount has not been listed yet\nhelp: "),
        "{note}"
    );
    assert!(widgets.get_opt("reads").await.unwrap().is_some());
    is_open.store(true, SeqCst);
    until_deleted(&server, "reads").await;
}
