// Made by `cargo operator regenerate`. Do not edit: change operator.toml or crds/ and run it again.
//! Whatever befalls a request of the operator, it comes to the same state as without, and then to rest.
//!
//! `FAULTS="12:504" cargo test --test faults` runs one schedule alone, as a test that fails names it.

use operator_runtime::{Operator, Settings};
use operator_testing::Trial;

use reconciler as project;

const NAME: &str = "reconciler";

#[test]
fn memcached_survives_every_fault() {
    let sample = include_str!("../manifests/samples/memcacheds.cache.example.com.yaml");
    survives_every_fault(sample);
}

#[test]
fn cache_policy_survives_every_fault() {
    let sample = include_str!("../manifests/samples/cachepolicies.cache.example.com.yaml");
    survives_every_fault(sample);
}

fn survives_every_fault(sample: &str) {
    let user = format!("system:serviceaccount:{NAME}:{NAME}");
    let trial = Trial::new("manifests", &user, sample);
    trial.assert_converges(|client| {
        let connected = Operator::new(NAME, Settings::for_tests(), client);
        project::operator(connected, project::Options::default()).run()
    });
}
