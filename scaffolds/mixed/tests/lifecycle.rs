//! Operators that start and stop: one with a higher priority pauses the other, and hooks run at the start and the end.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use anyhow::{Result, anyhow};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use mixed::{
    api::chronicle::v1::{Chronicle, ChronicleSpec},
    log::Log,
};
use operator_runtime::{Hook, Operator, Settings, Shared};
use operator_testing::Server;
use serde_json::json;

#[path = "all/support/mod.rs"]
mod support;

/// An operator with a log of its own.
async fn operator(server: &Server, priority: i32) -> Result<(Operator, Arc<Log>)> {
    let mut settings = Settings::for_tests();
    settings.leader_election = true;
    settings.priority = priority;
    let user = format!("system:serviceaccount:{0}:{0}", support::NAME);
    let operator = support::operator(server.client_as(&user), settings, server.outcomes()).await?;
    let shared = Shared::default();
    let log = shared.get::<Log>();
    Ok((operator.provide(shared), log))
}

async fn calls(server: &Server, log: &Log, expected: &str) {
    server
        .eventually(&format!("{expected} is called"), async || {
            let lines = log.lines();
            lines.iter().any(|line| line == expected).then_some(())
        })
        .await;
    log.take();
}

#[tokio::test]
async fn the_operator_with_the_higher_priority_pauses_the_other() -> Result<()> {
    let server = Server::start().await?;
    server.install_kustomization("manifests").await?;
    let chronicles: Api<Chronicle> = Api::namespaced(server.client(), server.namespace());
    let edit = async |title: &str| {
        let patch = Patch::Merge(json!({"spec": {"title": title}}));
        let parameters = PatchParams::default();
        chronicles.patch("life", &parameters, &patch).await
    };

    let (deployed, of_deployed) = operator(&server, 0).await?;
    let stop_deployed = deployed.shutdown_handle();
    let deployed = tokio::spawn(deployed.run());
    let title = "Birth".to_owned();
    let chronicle = Chronicle::new("life", ChronicleSpec { title });
    chronicles
        .create(&PostParams::default(), &chronicle)
        .await?;
    calls(&server, &of_deployed, "create-2").await;

    // the object is not new to the other one
    let (local, of_local) = operator(&server, 1).await?;
    let stop_local = local.shutdown_handle();
    let local = tokio::spawn(local.run());
    calls(&server, &of_local, "resume-2").await;
    of_deployed.take();
    edit("School").await?;
    calls(&server, &of_local, "update: spec.title").await;
    assert_eq!(of_deployed.lines(), [""; 0]);

    stop_local.shutdown();
    local.await??;
    calls(&server, &of_deployed, "resume-2").await;
    edit("Work").await?;
    calls(&server, &of_deployed, "update: spec.title").await;
    stop_deployed.shutdown();
    deployed.await?
}

#[tokio::test]
async fn hooks_run_at_the_start_and_the_end() -> Result<()> {
    let server = Server::start().await?;
    server.install_kustomization("manifests").await?;
    let (operator, log) = operator(&server, 0).await?;
    let (attempts, connected) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let log_in = {
        let (log, connected) = (log.clone(), connected.clone());
        move |_| {
            let attempt = attempts.fetch_add(1, Ordering::SeqCst) + 1;
            log.add(format!("log in, attempt {attempt}"));
            connected.store(attempt == 3, Ordering::SeqCst);
            async move {
                match attempt {
                    3 => Ok(()),
                    _ => Err(anyhow!("nobody answers").into()),
                }
            }
        }
    };
    let log_out = {
        let (log, connected) = (log.clone(), connected.clone());
        move |_| {
            log.add("log out");
            connected.store(false, Ordering::SeqCst);
            async { Ok(()) }
        }
    };
    let operator = operator
        .on_start(Hook::new("log-in", log_in))
        .on_stop(Hook::new("log-out", log_out));
    let (mut ready, handle) = (operator.ready_handle(), operator.shutdown_handle());
    let running = tokio::spawn(operator.run());
    assert!(ready.ready().await);
    let attempts = [
        "log in, attempt 1",
        "log in, attempt 2",
        "log in, attempt 3",
    ];
    assert_eq!(log.take(), attempts);
    handle.shutdown();
    running.await??;
    assert_eq!(log.take(), ["log out"]);
    assert!(!connected.load(Ordering::SeqCst));
    Ok(())
}
