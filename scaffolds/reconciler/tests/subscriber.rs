//! Another writer changes the list between each read and write of the operator: up to nine times in a row, the first reconciliation succeeds. No
//! line is lost.

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

mod support;

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
    let lists: Api<ConfigMap> = Api::namespaced(server.client(), server.namespace());
    let list: ConfigMap =
        sample("{apiVersion: v1, kind: ConfigMap, metadata: {name: members}, data: {lines: ''}}")?;
    lists.create(&PostParams::default(), &list).await?;
    let results = Results::default();
    let seen = results.clone();
    let operator = support::operator(
        interrupted(&server, times),
        Settings::for_tests(),
        server.outcomes(),
    );
    let operator = operator.on_reconciled(move |it| {
        let error = it.result.as_ref().err().map(ToString::to_string);
        seen.lock().unwrap().push(error);
    });
    server.run(operator.run());
    let subscriber: Subscriber = sample(
        "{apiVersion: programs.example.com/v1, kind: Subscriber, metadata: {name: ann},
          spec: {list: members, address: ann@example.com}}",
    )?;
    subscribers(&server)
        .create(&PostParams::default(), &subscriber)
        .await?;
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

async fn lines(server: &Server) -> Result<Vec<String>> {
    let lists: Api<ConfigMap> = Api::namespaced(server.client(), server.namespace());
    let list = lists.get("members").await?;
    let text = list
        .data
        .unwrap_or_default()
        .remove("lines")
        .unwrap_or_default();
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

    subscribers(&server)
        .delete("ann", &DeleteParams::default())
        .await?;
    server
        .eventually("the subscriber is deleted", async || {
            subscribers(&server)
                .get_opt("ann")
                .await
                .ok()?
                .is_none()
                .then_some(())
        })
        .await;
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
