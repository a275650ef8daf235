//! Which handlers are called for three objects, and for a change of one of them.

use anyhow::Result;
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use mixed::{api::parcel::v1::Parcel, log::Log};
use operator_testing::{Server, sample};
use serde_json::json;

use crate::support;

/// Creates an object, and waits until it is handled. Returns its calls.
async fn create(server: &Server, log: &Log, text: &str) -> Result<Vec<String>> {
    let parcel: Parcel = sample(&format!(
        "{{apiVersion: programs.example.com/v1, kind: Parcel, {text}}}"
    ))?;
    let name = parcel.name_any();
    let parcels: Api<Parcel> = Api::namespaced(server.client(), server.namespace());
    parcels.create(&PostParams::default(), &parcel).await?;
    server
        .eventually("the object is handled", async || {
            let parcel = parcels.get(&name).await.ok()?;
            let is_handled = parcel.annotations().contains_key("mixed/handled");
            is_handled.then_some(())
        })
        .await;
    let lines = log.take().into_iter();
    Ok(lines
        .map(|line| line.replace(&format!("{name} "), ""))
        .filter(|line| !line.starts_with("watch-books"))
        .collect())
}

async fn logged(server: &Server, log: &Log, expected: &str) {
    server
        .eventually(expected, async || {
            let lines = log.lines();
            lines.iter().any(|line| line == expected).then_some(())
        })
        .await;
}

#[tokio::test]
async fn parcel_calls_only_the_handlers_that_accept_it() -> Result<()> {
    let server = support::start().await?;
    let log = support::shared(&server).get::<Log>();

    let large = "metadata: {name: large, labels: {size: large}, annotations: {stamp: red}}, spec: {content: toys}";
    let expected = [
        "label-value",
        "label-present",
        "label-matches",
        "annotation-value",
        "annotation-present",
        "content-present",
        "both",
    ];
    assert_eq!(create(&server, &log, large).await?, expected);
    let extra =
        "metadata: {name: extra, labels: {size: x-large}, annotations: {stamp: blue}}, spec: {}";
    let expected = ["label-present", "label-matches", "annotation-present"];
    assert_eq!(create(&server, &log, extra).await?, expected);
    let plain = "metadata: {name: plain}, spec: {content: books}";
    let expected = ["label-absent", "content-value", "content-present"];
    assert_eq!(create(&server, &log, plain).await?, expected);

    let parcels: Api<Parcel> = Api::namespaced(server.client(), server.namespace());
    let edit = async |name: &str, content: &str| {
        let patch = Patch::Merge(json!({"spec": {"content": content}}));
        parcels.patch(name, &PatchParams::default(), &patch).await
    };
    // the daemon ends, and the handler of this change is called
    edit("plain", "toys").await?;
    logged(&server, &log, "plain watch-books ends").await;
    logged(&server, &log, "plain books-to-toys").await;
    // another object gets its daemon, and no handler is called for this change
    log.take();
    edit("large", "books").await?;
    logged(&server, &log, "large watch-books begins").await;
    assert_eq!(log.lines(), ["large watch-books begins"]);
    Ok(())
}
