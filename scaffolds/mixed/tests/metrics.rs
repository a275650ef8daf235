//! The metrics of the controllers are served, and move with the reconciliations.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{Api, api::PostParams};
use operator_runtime::Settings;
use operator_testing::{Server, sample_file};
use tokio::{net::TcpListener, task::spawn_blocking};

#[path = "all/support/mod.rs"]
mod support;

/// The page of the metrics.
async fn page(address: SocketAddr) -> Result<String> {
    spawn_blocking(move || {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        Ok(page)
    })
    .await?
}

/// The sum of all samples whose names and labels have these parts.
fn sum(page: &str, parts: &[&str]) -> f64 {
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    let samples = samples.filter(|line| parts.iter().all(|part| line.contains(part)));
    let values = samples.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
    values.sum()
}

#[tokio::test]
async fn the_metrics_move_with_the_reconciliations() -> Result<()> {
    let server = Server::start().await?;
    server.install_kustomization("manifests").await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let user = format!("system:serviceaccount:{0}:{0}", support::NAME);
    let client = server.client_as(&user);
    let operator = support::operator(client, Settings::for_tests(), server.outcomes()).await?;
    server.run(operator.listener(listener).run());

    let succeeded = ["reconcile", "_total{", "result=\"success\""];
    let failed = ["reconcile", "_total{", "result=\"error\""];
    let timed = ["reconcile", "_seconds_count{"];
    let before: Vec<f64> = server
        .eventually("the metrics are served", async || {
            let page = page(address).await.ok()?;
            let sums = [&succeeded[..], &failed, &timed].map(|parts| sum(&page, parts));
            page.contains("reconcile").then_some(sums.to_vec())
        })
        .await;
    let pods: Api<Pod> = Api::default_namespaced(server.client());
    let pod: Pod = sample_file("manifests/samples/pods.yaml")?;
    pods.create(&PostParams::default(), &pod).await?;
    let config_maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let mut config_map: ConfigMap = sample_file("manifests/samples/configmaps.yaml")?;
    config_map.data = Some(BTreeMap::from([("fail".into(), "no luck".into())]));
    config_maps
        .create(&PostParams::default(), &config_map)
        .await?;
    server
        .eventually("successes, errors and times are counted", async || {
            let page = page(address).await.ok()?;
            let sums = [&succeeded[..], &failed, &timed].map(|parts| sum(&page, parts));
            sums.iter()
                .zip(&before)
                .all(|(now, before)| now > before)
                .then_some(())
        })
        .await;
    Ok(())
}
