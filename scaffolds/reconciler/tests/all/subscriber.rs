//! Another writer changes the list between each read and write of the operator: up to nine times in a row, the first reconciliation succeeds. No
//! line is lost: those of other writers keep their bytes and their order, and a line of the operator returns if another writer removes it.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::Result;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use operator_runtime::Settings;
use operator_testing::{Request, Server, sample};
use reconciler::api::subscriber::v1::Subscriber;
use serde_json::json;

use crate::support;

/// The results of the reconciliations: `None` if they succeeded, or the error.
type Results = Arc<Mutex<Vec<Option<String>>>>;

fn is_replace(request: &Request) -> bool {
    request.verb == "update" && request.resource == "configmaps"
}

/// A client of the operator. Before it replaces the list, another writer adds a line, as often as `times` says.
fn interrupted(server: &Server, times: usize) -> Client {
    let user = format!("system:serviceaccount:{0}:{0}", support::NAME);
    let client = server.client_as(&user);
    let lists: Api<ConfigMap> = Api::namespaced(server.client(), server.namespace());
    let written = Arc::new(AtomicUsize::new(0));
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request| {
        let number = match is_replace(&Request::of(&request)) {
            true => written.fetch_add(1, Ordering::Relaxed),
            false => times,
        };
        let (client, lists) = (client.clone(), lists.clone());
        async move {
            if number < times {
                let list = lists.get("members").await?;
                let text = format!(
                    "{}other-{number} x\n",
                    list.data.unwrap_or_default()["lines"]
                );
                let patch = Patch::Merge(json!({ "data": { "lines": text } }));
                lists
                    .patch("members", &PatchParams::default(), &patch)
                    .await?;
            }
            client.send(request).await
        }
    });
    Client::new(service, namespace)
}

/// Starts the operator beside another writer, and returns the server once `ann` has a line.
async fn start(times: usize) -> Result<(Server, Results)> {
    let server = Server::start().await?;
    server.install_kustomization("manifests").await?;
    create_list(&server, "").await?;
    let results = Results::default();
    let seen = results.clone();
    let operator = support::operator(
        interrupted(&server, times),
        Settings::for_tests(),
        server.outcomes(),
    )
    .await?;
    let operator = operator.on_reconciled(move |it| {
        let error = it.result.as_ref().err().map(ToString::to_string);
        seen.lock().unwrap().push(error);
    });
    server.run(operator.run());
    subscribe(&server, "ann", "ann@example.com").await?;
    server
        .eventually("the list is complete", async || {
            let generation = subscribers(&server)
                .get("ann")
                .await
                .ok()?
                .status?
                .observed_generation;
            (generation == Some(1)).then_some(())
        })
        .await;
    let mut expected: Vec<String> = (0..times)
        .map(|number| format!("other-{number} x"))
        .collect();
    expected.push("ann ann@example.com".into());
    assert_eq!(lines(&server).await?, sorted(expected));
    Ok((server, results))
}

fn subscribers(server: &Server) -> Api<Subscriber> {
    Api::namespaced(server.client(), server.namespace())
}

async fn subscribe(server: &Server, name: &str, address: &str) -> Result<()> {
    let mut subscriber: Subscriber = sample(
        "{apiVersion: programs.example.com/v1, kind: Subscriber, metadata: {name: any}, spec: {list: members, address: any}}",
    )?;
    subscriber.metadata.name = Some(name.into());
    subscriber.spec.address = address.into();
    subscribers(server)
        .create(&PostParams::default(), &subscriber)
        .await?;
    Ok(())
}

/// Deletes the object, and waits until its finalizer is removed.
async fn unsubscribe(server: &Server, name: &str) -> Result<()> {
    subscribers(server)
        .delete(name, &DeleteParams::default())
        .await?;
    server
        .eventually("the subscriber is deleted", async || {
            let subscriber = subscribers(server).get_opt(name).await.ok()?;
            subscriber.is_none().then_some(())
        })
        .await;
    Ok(())
}

fn lists(server: &Server) -> Api<ConfigMap> {
    Api::namespaced(server.client(), server.namespace())
}

async fn create_list(server: &Server, text: &str) -> Result<()> {
    let mut list: ConfigMap =
        sample("{apiVersion: v1, kind: ConfigMap, metadata: {name: members}}")?;
    list.data = Some([("lines".into(), text.into())].into());
    lists(server).create(&PostParams::default(), &list).await?;
    Ok(())
}

async fn text(server: &Server) -> Result<String> {
    let list = lists(server).get("members").await?;
    Ok(list
        .data
        .unwrap_or_default()
        .remove("lines")
        .unwrap_or_default())
}

/// Waits until the text of the list is exactly this.
async fn has(server: &Server, expected: &str) {
    server
        .eventually(&format!("the list is {expected:?}"), async || {
            (text(server).await.ok()? == expected).then_some(())
        })
        .await;
}

async fn lines(server: &Server) -> Result<Vec<String>> {
    let text = text(server).await?;
    Ok(sorted(text.lines().map(str::to_owned).collect()))
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// The codes of the operator's attempts to replace the list.
fn codes(server: &Server) -> Vec<u16> {
    let requests = server.requests().into_iter().filter(is_replace);
    requests.map(|request| request.code).collect()
}

#[tokio::test]
async fn subscriber_meets_a_second_writer_in_ten_tries() -> Result<()> {
    let (server, results) = start(9).await?;
    assert_eq!(codes(&server), [vec![409; 9], vec![200]].concat());
    let failed = results.lock().unwrap().iter().flatten().count();
    assert_eq!(failed, 0, "one reconciliation was enough");

    unsubscribe(&server, "ann").await?;
    assert_eq!(
        lines(&server).await?.len(),
        9,
        "the lines of the other writer remain"
    );
    Ok(())
}

#[tokio::test]
async fn subscriber_tries_again_later_after_ten_conflicts() -> Result<()> {
    let (server, results) = start(12).await?;
    assert_eq!(codes(&server), [vec![409; 12], vec![200]].concat());
    let results = results.lock().unwrap();
    let failed: Vec<&String> = results.iter().flatten().collect();
    assert_eq!(failed, ["others change the list members all the time"]);
    Ok(())
}

#[tokio::test]
async fn subscriber_keeps_the_bytes_of_other_writers() -> Result<()> {
    let server = support::start().await?;
    let before = "# who gets mail\n\nzoe z@example.com\nbob 1\n";
    let after = "annabel x\nbob 2\n  indented\r\nno newline";
    create_list(&server, &format!("{before}ann old\n{after}")).await?;
    subscribe(&server, "ann", "ann@example.com").await?;
    has(&server, &format!("{before}ann ann@example.com\n{after}")).await;
    subscribe(&server, "eve", "eve@example.com").await?;
    let both = format!("{before}ann ann@example.com\n{after}\neve eve@example.com\n");
    has(&server, &both).await;

    unsubscribe(&server, "ann").await?;
    unsubscribe(&server, "eve").await?;
    assert_eq!(text(&server).await?, format!("{before}{after}\n"));
    Ok(())
}

#[tokio::test]
async fn subscriber_returns_to_a_list_that_lost_it() -> Result<()> {
    let server = support::start().await?;
    create_list(&server, "").await?;
    subscribe(&server, "ann", "ann@example.com").await?;
    has(&server, "ann ann@example.com\n").await;
    let edit = Patch::Merge(json!({ "data": { "lines": "zoe z\n" } }));
    lists(&server)
        .patch("members", &PatchParams::default(), &edit)
        .await?;
    has(&server, "zoe z\nann ann@example.com\n").await;
    Ok(())
}

#[tokio::test]
async fn subscriber_has_an_address_without_spaces() -> Result<()> {
    let server = support::start().await?;
    for address in ["", "a b", "a\nzoe z", "a\n"] {
        let refused = subscribe(&server, "ann", address).await.unwrap_err();
        assert!(refused.to_string().contains("spec.address"), "{refused}");
    }
    Ok(())
}
