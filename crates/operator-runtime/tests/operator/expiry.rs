//! Unusual responses of the API server: a page of a list that has expired, and a conflict without a newer version of the object.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::support::{Calls, Running, Widget, create, server, widgets};
use kube::{Api, Client, client::Body};
use operator_runtime::{Action, Context, Controllers, Reconciler, Result, Settings, Setup};
use operator_testing::Server;
use serde_json::json;

/// Only writes the status.
struct Seen;

impl Reconciler for Seen {
    type Resource = Widget;

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context) -> Result<Action> {
        let generation = widget.metadata.generation;
        cx.update_status(&*widget, &json!({ "observedGeneration": generation }))
            .await?;
        Ok(Action::await_change())
    }
}

/// A client that counts the requests for which `is_counted` returns `true`. If `instead` returns a response for the first one, it is not
/// sent.
fn counting(
    server: &Server,
    is_counted: fn(&http::Request<Body>) -> bool,
    instead: impl Fn() -> Option<http::Response<Body>> + Clone + Send + 'static,
) -> (Client, Arc<AtomicUsize>) {
    let (pass, count) = (server.client(), Arc::new(AtomicUsize::new(0)));
    let counted = count.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let is_first = is_counted(&request) && counted.fetch_add(1, Ordering::SeqCst) == 0;
        let answer = if is_first { instead() } else { None };
        let pass = pass.clone();
        async move {
            match answer {
                Some(answer) => ready(Ok::<_, kube::Error>(answer)).await,
                None => pass.send(request).await,
            }
        }
    });
    let namespace = server.client().default_namespace().to_owned();
    (Client::new(service, namespace), count)
}

async fn until_status(server: &Server, name: &str) {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    server
        .eventually("it has its status", async || {
            api.get_opt(name).await.unwrap()?.status.map(drop)
        })
        .await;
}

#[tokio::test]
async fn a_list_whose_next_page_has_expired_is_restarted() {
    let server = server().await;
    for number in 0..120 {
        create(&server, &format!("w{number:03}"), "ok").await;
    }
    let history = server.service();
    let is_page = |request: &http::Request<Body>| {
        let uri = request.uri().to_string();
        uri.contains("/widgets?") && uri.contains("continue=")
    };
    let (client, pages) = counting(&server, is_page, move || {
        history.as_ref()?.expire_watches();
        None
    });
    let calls = Arc::new(Calls::default());
    let _running = Running::start(client, Settings::for_tests(), widgets::<false>(&calls)).await;
    until_status(&server, "w119").await;
    if !server.is_real() {
        assert_eq!(
            pages.load(Ordering::SeqCst),
            2,
            "the second page of both lists"
        );
    }
}

#[tokio::test]
async fn a_conflict_without_a_newer_version_is_retried() {
    let server = server().await;
    let is_status = |request: &http::Request<Body>| request.uri().path().ends_with("/status");
    let (client, writes) = counting(&server, is_status, || {
        let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Conflict","message":"modified","code":409}"#;
        let answer = http::Response::builder().status(409);
        answer.body(Body::from(status.as_bytes().to_vec())).ok()
    });
    // without children, no watch of them triggers the object again
    let seen = Controllers::new().add(async |_: Setup| Ok(Seen), |watches| watches);
    let _running = Running::start(client, Settings::for_tests(), seen).await;
    create(&server, "a", "ok").await;
    until_status(&server, "a").await;
    assert_eq!(writes.load(Ordering::SeqCst), 2);
}
