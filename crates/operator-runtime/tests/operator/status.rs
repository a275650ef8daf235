//! A status is written to the version of the object that was reconciled, and to no other.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use crate::support::{Calls, Running, Widget, WidgetSpec, create, server, until_quiet, widgets};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    client::Body,
};
use operator_runtime::{Action, Context, Controllers, Reconciler, Result, Settings, Setup};
use operator_testing::Server;
use serde_json::json;

/// Writes the size to the status; in two steps if the `way` is `steps`.
struct Sizes;

impl Reconciler for Sizes {
    type Resource = Widget;

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context) -> Result<Action> {
        if widget.spec.way.as_deref() == Some("steps") {
            cx.update_status(&*widget, &json!({ "observedGeneration": -1 }))
                .await?;
        }
        let size = widget.spec.size;
        cx.update_status(&*widget, &json!({ "observedGeneration": size }))
            .await?;
        Ok(Action::await_change())
    }
}

fn sizes() -> Controllers {
    Controllers::new().add(async |_: Setup| Ok(Sizes), |watches| watches)
}

/// A client that calls `meddle` before its first status write, and the response codes of its status writes.
fn meddling<F>(
    server: &Server,
    meddle: impl Fn() -> F + Clone + Send + 'static,
) -> (Client, Arc<Mutex<Vec<u16>>>)
where
    F: Future<Output = ()> + Send,
{
    let codes = Arc::new(Mutex::new(vec![]));
    let (pass, answered) = (server.client(), codes.clone());
    let meddled = Arc::new(AtomicBool::new(false));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (pass, meddle) = (pass.clone(), meddle.clone());
        let (meddled, answered) = (meddled.clone(), answered.clone());
        async move {
            let is_status = request.uri().path().ends_with("/status");
            if is_status && !meddled.swap(true, Ordering::SeqCst) {
                meddle().await;
            }
            let response = pass.send(request).await?;
            if is_status {
                answered.lock().unwrap().push(response.status().as_u16());
            }
            Ok::<_, kube::Error>(response)
        }
    });
    (
        Client::new(service, server.client().default_namespace()),
        codes,
    )
}

async fn until_size(server: &Server, size: i64) {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    server
        .eventually("the status shows the size", async || {
            let status = api.get_opt("a").await.unwrap()?.status?;
            (status.observed_generation == Some(size)).then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_recreated_object_never_gets_the_status_of_the_old_one() {
    let server = server().await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let (client, codes) = meddling(&server, move || {
        let api = api.clone();
        async move {
            api.delete("a", &DeleteParams::default()).await.unwrap();
            let spec = WidgetSpec { way: None, size: 2 };
            api.create(&PostParams::default(), &Widget::new("a", spec))
                .await
                .unwrap();
        }
    });
    let running = Running::start(client, Settings::for_tests(), sizes()).await;
    create(&server, "a", "ok").await;
    until_size(&server, 2).await;
    until_quiet(&server).await;
    assert_eq!(*codes.lock().unwrap(), [409, 200]);
    let errors = r#"controller_runtime_reconcile_total{controller="widget",result="error"}"#;
    assert_eq!(running.metric(errors).await, Some(0.0), "that is no error");
}

#[tokio::test]
async fn a_condition_written_concurrently_by_another_is_kept() {
    let server = server().await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let others = json!({
        "apiVersion": "test.example.com/v1", "kind": "Widget", "metadata": { "name": "a" },
        "status": { "conditions": [{
            "type": "Backup", "status": "True", "reason": "Done", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }] },
    });
    let (client, codes) = meddling(&server, move || {
        let (api, others) = (api.clone(), others.clone());
        async move {
            let parameters = PatchParams::apply("another");
            api.patch_status("a", &parameters, &Patch::Apply(&others))
                .await
                .unwrap();
        }
    });
    let calls = Arc::new(Calls::default());
    let _running = Running::start(client, Settings::for_tests(), widgets::<false>(&calls)).await;
    create(&server, "a", "ok").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let types = server
        .eventually("both conditions are there", async || {
            let conditions = api.get("a").await.unwrap().status?.conditions?;
            let mut types: Vec<_> = conditions.into_iter().map(|c| c.type_).collect();
            types.sort();
            (types.len() == 2).then_some(types)
        })
        .await;
    assert_eq!(types, ["Backup", "Ready"]);
    assert_eq!(*codes.lock().unwrap(), [409, 200]);
}

#[tokio::test]
async fn a_status_can_be_written_in_several_steps() {
    let server = server().await;
    let (client, codes) = meddling(&server, async || ());
    let _running = Running::start(client, Settings::for_tests(), sizes()).await;
    create(&server, "a", "steps").await;
    until_size(&server, 1).await;
    assert!(codes.lock().unwrap().iter().all(|code| *code == 200));
}
