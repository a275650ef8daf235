//! Of two replicas one works, and when it stops, the other one takes over.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::PostParams};
use operator_runtime::{Settings, ShutdownHandle};
use operator_testing::{Server, sample_file};
use tokio::time::sleep;

#[path = "all/support/mod.rs"]
mod support;

/// Which replica reconciled which pod.
type Log = Arc<Mutex<Vec<(&'static str, String)>>>;

/// Starts a replica with leader election.
async fn replica(server: &Server, name: &'static str, log: &Log) -> Result<ShutdownHandle> {
    let mut settings = Settings::for_tests();
    settings.leader_election = true;
    let user = format!("system:serviceaccount:{0}:{0}", support::NAME);
    let operator = support::operator(server.client_as(&user), settings, server.outcomes()).await?;
    let log = log.clone();
    let operator = operator.on_reconciled(move |it| {
        if it.kind == "Pod" {
            log.lock().unwrap().push((name, it.name.to_owned()));
        }
    });
    let handle = operator.shutdown_handle();
    tokio::spawn(operator.run());
    Ok(handle)
}

#[tokio::test(start_paused = true)]
async fn another_replica_takes_over_when_the_leader_stops() -> Result<()> {
    let server = Server::in_memory();
    server.install_kustomization("manifests").await?;
    let log = Log::default();
    let leader = replica(&server, "first", &log).await?;
    sleep(Duration::from_secs(5)).await;
    let _standby = replica(&server, "second", &log).await?;
    let pods: Api<Pod> = Api::default_namespaced(server.client());
    let mut pod: Pod = sample_file("manifests/samples/pods.yaml")?;
    let replicas = |pod: &str| {
        let log = log.lock().unwrap();
        let mut replicas: Vec<_> = log.iter().filter(|it| it.1 == pod).map(|it| it.0).collect();
        replicas.dedup();
        replicas
    };

    pod.metadata.name = Some("early".into());
    pods.create(&PostParams::default(), &pod).await?;
    sleep(Duration::from_secs(120)).await;
    assert_eq!(replicas("early"), ["first"]);

    leader.shutdown();
    pod.metadata.name = Some("late".into());
    sleep(Duration::from_secs(60)).await;
    pods.create(&PostParams::default(), &pod).await?;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(
        replicas("early"),
        ["first", "second"],
        "it looks at what is there"
    );
    assert_eq!(replicas("late"), ["second"]);
    Ok(())
}
