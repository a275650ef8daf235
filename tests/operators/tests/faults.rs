// Made by `cargo operator regenerate`. Do not edit: change operator.toml or crds/ and run it again.
//! The operator reconciles each sample successfully, also when any of its requests fails; it then stops making requests, and it needs
//! all its permissions.
//!
//! `FAULTS="12:504" cargo test --test faults` runs one schedule alone, as a test that fails names it.

use std::time::Duration;

use kube::Client;
use operator_runtime::Settings;
use operator_testing::{Outcomes, Trial};

mod support;

const NAME: &str = "operators";
const KINDS: [&str; 2] = ["Page.web.example.com", "Site.web.example.com"];

#[test]
fn page_survives_every_fault() {
    let sample = "manifests/samples/pages.web.example.com.yaml";
    let trial = trial().sample_file(sample);
    trial.assert_converges(alone);
}

#[test]
fn page_is_followed() {
    let sample = "manifests/samples/pages.web.example.com.yaml";
    let trial = trial().sample_file(sample);
    trial.assert_conforms(alone);
}

#[test]
fn site_survives_every_fault() {
    let sample = "manifests/samples/sites.web.example.com.yaml";
    let trial = trial().sample_file(sample);
    trial.assert_converges(alone);
}

#[test]
fn site_is_followed() {
    let sample = "manifests/samples/sites.web.example.com.yaml";
    let trial = trial().sample_file(sample);
    trial.assert_conforms(alone);
}

#[test]
fn another_replica_may_take_the_lease() {
    let sample = "manifests/samples/pages.web.example.com.yaml";
    let trial = trial().sample_file(sample);
    trial.assert_yields(elected);
}

#[test]
fn every_right_is_needed() {
    let mut trial = trial();
    let sample = "manifests/samples/pages.web.example.com.yaml";
    trial = trial.sample_file(sample);
    let sample = "manifests/samples/sites.web.example.com.yaml";
    trial = trial.sample_file(sample);
    let declared = [
        r#"{"kind":"Page","key":"owns","entry":"v1/ConfigMap","group":"","resource":"configmaps","verbs":["get","list","watch","create","patch"]}"#,
        r#"{"kind":"Site","key":"owns","entry":"apps/v1/Deployment","group":"apps","resource":"deployments","verbs":["get","list","watch","create","patch"]}"#,
        r#"{"kind":"Site","key":"owns","entry":"v1/ConfigMap","group":"","resource":"configmaps","verbs":["get","list","watch","create","patch"]}"#,
        r#"{"kind":"Site","key":"watches","entry":"v1/Secret","group":"","resource":"secrets","verbs":["list","watch"]}"#,
    ];
    let written = [
        r#"{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}"#,
        r#"{"apiGroups":[""],"resources":["configmaps"],"verbs":["create","delete"]}"#,
    ];
    let trial = trial.declares(&declared);
    trial.assert_rights_are_needed(&written, elected);
}

fn trial() -> Trial {
    let user = format!("system:serviceaccount:{NAME}:{NAME}");
    let trial = Trial::new("manifests", &user).reconciles(&KINDS);
    let trial = trial.in_namespaces(&support::NAMESPACES);
    trial.fixtures("tests/fixtures")
}

async fn alone(client: Client, outcomes: Outcomes) -> anyhow::Result<()> {
    run(client, outcomes, Settings::for_tests()).await
}

/// With a lease, as one replica works at a time; a long one, as each renewal is a request more.
async fn elected(client: Client, outcomes: Outcomes) -> anyhow::Result<()> {
    let mut settings = Settings::for_tests();
    settings.leader_election = true;
    settings.lease_duration = Duration::from_secs(30);
    settings.renew_deadline = Duration::from_secs(20);
    settings.retry_period = Duration::from_secs(10);
    run(client, outcomes, settings).await
}

async fn run(client: Client, outcomes: Outcomes, settings: Settings) -> anyhow::Result<()> {
    support::operator(client, settings, outcomes).run().await
}
