//! An object from its creation to its deletion, and the writes that it takes.

use std::sync::Arc;

use crate::support::{
    self, Calls, Running, Widget, create, patch, ready, server, until_quiet, widgets, writes,
};
use futures::StreamExt;
use http_body_util::{BodyExt, BodyStream, StreamBody};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
    client::Body,
};
use operator_runtime::Settings;
use serde_json::json;
use tokio::sync::watch;

#[tokio::test]
async fn an_object_takes_two_writes_or_three_with_a_finalizer_and_none_once_settled() {
    let server = server().await;
    for (name, cleanup, expected) in [
        (
            "plain",
            false,
            &["patch configmaps/", "patch widgets/status"][..],
        ),
        (
            "held",
            true,
            &[
                "patch widgets/",
                "patch configmaps/",
                "patch widgets/status",
            ],
        ),
    ] {
        let calls = Arc::new(Calls::default());
        let controllers = if cleanup {
            widgets::<true>(&calls)
        } else {
            widgets::<false>(&calls)
        };
        let running = Running::start(server.client(), Settings::for_tests(), controllers).await;
        let before = server.requests().len();
        create(&server, name, "ok").await;
        ready(&server, name).await;
        until_quiet(&server).await;
        let mut made = writes(&server.requests()[before..]);
        made.retain(|write| write != "create widgets/");
        assert_eq!(made, expected);
        running.stop().await.unwrap();
        Api::<Widget>::default_namespaced(server.client())
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
        if cleanup {
            patch(&server, name, json!({ "metadata": { "finalizers": null } })).await;
        }
    }
}

#[tokio::test]
async fn a_restart_writes_nothing() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<true>(&calls),
    )
    .await;
    create(&server, "a", "ok").await;
    ready(&server, "a").await;
    until_quiet(&server).await;
    running.stop().await.unwrap();

    let before = server.requests().len();
    let calls = Arc::new(Calls::default());
    let running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<true>(&calls),
    )
    .await;
    server
        .eventually("it is reconciled again", async || {
            (calls.finished() > 0).then_some(())
        })
        .await;
    until_quiet(&server).await;
    assert_eq!(writes(&server.requests()[before..]), [""; 0]);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_deleted_or_changed_child_is_restored() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let _running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<false>(&calls),
    )
    .await;
    create(&server, "a", "ok").await;
    ready(&server, "a").await;
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let first = api.get("a").await.unwrap();

    let edit = json!({ "data": { "size": "99", "other": "stays" } });
    api.patch("a", &PatchParams::default(), &Patch::Merge(edit))
        .await
        .unwrap();
    let data = server
        .eventually("the edit is undone", async || {
            let data = api.get("a").await.unwrap().data?;
            (data["size"] == "1").then_some(data)
        })
        .await;
    assert_eq!(data["other"], "stays", "what others set is theirs");

    api.delete("a", &DeleteParams::default()).await.unwrap();
    let second = server
        .eventually("it is back", async || api.get_opt("a").await.unwrap())
        .await;
    assert_ne!(first.uid(), second.uid());
    let owners = second.owner_references();
    assert_eq!(
        (owners[0].name.as_str(), owners[0].controller),
        ("a", Some(true))
    );
}

#[tokio::test]
async fn cleanup_runs_before_an_object_is_deleted() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let _running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<true>(&calls),
    )
    .await;
    create(&server, "a", "ok").await;
    let widget = ready(&server, "a").await;
    assert_eq!(widget.finalizers(), [support::FINALIZER]);
    support::set_way(&server, "a", "stuck").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    until_quiet(&server).await;
    assert!(
        api.get_opt("a").await.unwrap().is_some(),
        "it was deleted before its cleanup"
    );
    support::set_way(&server, "a", "ok").await;
    server
        .eventually("it goes", async || {
            api.get_opt("a").await.unwrap().is_none().then_some(())
        })
        .await;
    assert_eq!(calls.cleaned(), 1);
}

#[tokio::test]
async fn a_finalizer_of_an_earlier_version_is_removed() {
    let server = server().await;
    create(&server, "alive", "ok").await;
    create(&server, "going", "ok").await;
    let finalizers = json!({ "metadata": { "finalizers": [support::FINALIZER] } });
    patch(&server, "alive", finalizers.clone()).await;
    patch(&server, "going", finalizers).await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete("going", &DeleteParams::default()).await.unwrap();

    let calls = Arc::new(Calls::default());
    let _running = Running::start(
        server.client(),
        Settings::for_tests(),
        widgets::<false>(&calls),
    )
    .await;
    server
        .eventually("the finalizers are gone", async || {
            let alive = api.get("alive").await.unwrap().finalizers().is_empty();
            (alive && api.get_opt("going").await.unwrap().is_none()).then_some(())
        })
        .await;
    ready(&server, "alive").await;
    assert_eq!(calls.cleaned(), 0);
}

/// The client, but the events of its watches of widgets are held back while the gate is closed.
fn gated(client: Client, gate: watch::Receiver<bool>) -> Client {
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let is_held = request.uri().path().ends_with("/widgets")
            && request
                .uri()
                .query()
                .is_some_and(|query| query.contains("watch"));
        let (client, gate) = (client.clone(), gate.clone());
        async move {
            let response = client.send(request).await?;
            Ok::<_, kube::Error>(response.map(|body| {
                if is_held {
                    let frames = BodyStream::new(body).then(move |frame| {
                        let mut gate = gate.clone();
                        async move {
                            gate.wait_for(|is_open| *is_open).await.unwrap();
                            frame
                        }
                    });
                    StreamBody::new(frames).boxed_unsync()
                } else {
                    body.boxed_unsync()
                }
            }))
        }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn children_of_a_deleted_object_are_not_recreated() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let (gate, is_open) = watch::channel(true);
    let _running = Running::start(
        gated(server.client(), is_open),
        Settings::for_tests(),
        widgets::<false>(&calls),
    )
    .await;
    create(&server, "a", "ok").await;
    let held = json!({ "metadata": { "finalizers": ["example.com/held"] } });
    patch(&server, "a", held).await;
    ready(&server, "a").await;
    until_quiet(&server).await;

    gate.send_replace(false);
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let children: Api<ConfigMap> = Api::default_namespaced(server.client());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let (before, reconciled) = (server.requests().len(), calls.reconciled());
    let params = DeleteParams::default();
    children.delete("a", &params).await.unwrap();
    server
        .eventually("the child is missed", async || {
            (calls.reconciled() > reconciled).then_some(())
        })
        .await;
    until_quiet(&server).await;
    let mut written = writes(&server.requests()[before..]);
    written.retain(|write| write.ends_with(" configmaps/"));
    assert_eq!(written, ["delete configmaps/"]);
    gate.send_replace(true);
}
