//! Five attempts, a resync every 45 seconds, and one worker, on a clock that jumps ahead.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use k8s_openapi::api::{core::v1::ConfigMap, events::v1::Event};
use kube::{
    Api,
    api::{ListParams, ObjectMeta, PostParams},
};
use mixed::calls::Calls;
use operator_runtime::Settings;
use operator_testing::Server;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::support;

async fn start() -> Result<(Server, Calls)> {
    let server = Server::in_memory();
    server.install_kustomization("manifests").await?;
    let user = format!("system:serviceaccount:{0}:{0}", support::NAME);
    let client = server.client_as(&user);
    let calls = Calls::default();
    let operator = support::operator(client, Settings::for_tests(), server.outcomes()).await?;
    server.run(operator.provide(calls.clone()).run());
    Ok((server, calls))
}

async fn create(
    server: &Server,
    name: &str,
    labels: &[(&str, &str)],
    data: &[(&str, &str)],
) -> Result<()> {
    let owned = |pairs: &[(&str, &str)]| {
        let pairs = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Some(pairs.collect::<BTreeMap<_, _>>())
    };
    let config_map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            labels: owned(labels),
            ..Default::default()
        },
        data: owned(data),
        ..Default::default()
    };
    let config_maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    config_maps
        .create(&PostParams::default(), &config_map)
        .await?;
    Ok(())
}

const LABEL: [(&str, &str); 1] = [("programs.example.com/steady", "true")];

#[tokio::test(start_paused = true)]
async fn steady_looks_again_after_45_seconds_at_one_object_at_a_time() -> Result<()> {
    let (server, calls) = start().await?;
    for name in ["a", "b", "c", "d"] {
        create(&server, name, &LABEL, &[]).await?;
    }
    create(&server, "other", &[], &[]).await?;
    let all_were_reconciled = async {
        while ["a", "b", "c", "d"].iter().any(|name| calls.of(name) == 0) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(60), all_were_reconciled).await?;
    let start = Instant::now();
    for (seconds, count) in [(40, 1), (48, 2), (85, 2), (93, 3), (130, 3), (138, 4)] {
        sleep_until(start + Duration::from_secs(seconds)).await;
        assert_eq!(calls.of("a"), count, "after {seconds} s");
    }
    assert_eq!(calls.of("other"), 0, "it has no label");
    assert_eq!(calls.most_at_once(), 1);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn steady_leaves_an_object_alone_after_five_attempts() -> Result<()> {
    let (server, calls) = start().await?;
    create(&server, "a", &LABEL, &[("fail", "no luck")]).await?;
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(calls.of("a"), 5);
    let events: Api<Event> = Api::default_namespaced(server.client());
    let events = events.list(&ListParams::default()).await?;
    let mut reasons = events
        .items
        .iter()
        .filter_map(|event| event.reason.as_deref());
    assert!(reasons.any(|reason| reason == "RetryLimitReached"));
    Ok(())
}
