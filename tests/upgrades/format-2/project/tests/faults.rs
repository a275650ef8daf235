// Made by `cargo operator regenerate`. Do not edit: change operator.toml or crds/ and run it again.
//! Whatever befalls a request of the operator, it comes to the same state as without, and then to rest; and it needs all its rights.
//!
//! `FAULTS="12:504" cargo test --test faults` runs one schedule alone, as a test that fails names it.

use std::time::Duration;

use kube::Client;
use operator_runtime::{Operator, Settings};
use operator_testing::Trial;

use messaging_operator as project;

const NAME: &str = "messaging-operator";

#[test]
fn queue_survives_every_fault() {
    let sample = include_str!("../manifests/samples/queues.messaging.example.com.yaml");
    trial().sample(sample).assert_converges(alone);
}

#[test]
fn account_survives_every_fault() {
    let sample = include_str!("../manifests/samples/accounts.messaging.example.com.yaml");
    trial().sample(sample).assert_converges(alone);
}

#[test]
fn another_replica_may_take_the_lease() {
    let sample = include_str!("../manifests/samples/queues.messaging.example.com.yaml");
    trial().sample(sample).assert_yields(elected);
}

#[test]
fn every_right_is_needed() {
    let mut trial = trial();
    let sample = include_str!("../manifests/samples/queues.messaging.example.com.yaml");
    trial = trial.sample(sample);
    let sample = include_str!("../manifests/samples/accounts.messaging.example.com.yaml");
    trial = trial.sample(sample);
    let written = [r#"{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}"#];
    trial.assert_rights_are_needed(&written, elected);
}

fn trial() -> Trial {
    let user = format!("system:serviceaccount:{NAME}:{NAME}");
    Trial::new("manifests", &user)
}

async fn alone(client: Client) -> anyhow::Result<()> {
    run(client, Settings::for_tests()).await
}

/// With a lease, as one replica works at a time; a long one, as each renewal is a request more.
async fn elected(client: Client) -> anyhow::Result<()> {
    let mut settings = Settings::for_tests();
    settings.leader_election = true;
    settings.lease_duration = Duration::from_secs(30);
    settings.renew_deadline = Duration::from_secs(20);
    settings.retry_period = Duration::from_secs(10);
    run(client, settings).await
}

async fn run(client: Client, settings: Settings) -> anyhow::Result<()> {
    let connected = Operator::new(NAME, settings, client);
    let operator = project::operator(connected, project::Options::default());
    operator.run().await
}
