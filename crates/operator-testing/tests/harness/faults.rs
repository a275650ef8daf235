//! Trials of small operators: an operator that retries passes, and the bug of each other one is found.

use std::hash::BuildHasher;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Secret};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use operator_testing::Trial;
use serde_json::json;
use tokio::time::Instant;

const SAMPLE: &str = "{apiVersion: v1, kind: Secret, metadata: {name: sample}}";

/// A trial of an operator that has the permissions of an administrator and no manifests.
fn trial(name: &str) -> Trial {
    trial_as(name, "")
}

fn trial_as(name: &str, user: &str) -> Trial {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kustomization.yaml"), "resources: []\n").unwrap();
    Trial::new(folder, user).sample(SAMPLE)
}

async fn apply(client: &Client, name: &str) -> kube::Result<ConfigMap> {
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    Api::<ConfigMap>::default_namespaced(client.clone())
        .patch(
            name,
            &PatchParams::apply("trial"),
            &Patch::Apply(config_map),
        )
        .await
}

async fn apply_with_retries(client: &Client, name: &str) {
    while apply(client, name).await.is_err() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[test]
fn an_operator_that_retries_passes() {
    trial("tries-again").assert_converges(async |client: Client| {
        apply_with_retries(&client, "a").await;
        apply_with_retries(&client, "b").await;
        std::future::pending::<Result<(), String>>().await
    });
}

#[test]
#[should_panic(expected = "the cluster ends in a different state")]
fn an_operator_that_gives_up_fails() {
    trial("gives-up").assert_converges(async |client: Client| {
        let _ = apply(&client, "a").await;
        std::future::pending::<Result<(), String>>().await
    });
}

#[test]
#[should_panic(
    expected = "at request 0, patch configmaps default/a\n  the operator ended: no luck"
)]
fn an_operator_that_ends_fails() {
    trial("ends").assert_converges(async |client: Client| {
        apply(&client, "a").await.map_err(|_| "no luck")?;
        std::future::pending::<Result<(), &str>>().await
    });
}

#[test]
#[should_panic(
    expected = "are patch configmaps default/a: does it write a different value each time?"
)]
fn an_operator_that_never_settles_fails() {
    trial("never-rests").assert_converges(async |client: Client| {
        loop {
            apply_with_retries(&client, "a").await;
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        #[expect(unreachable_code, reason = "it says what the operator returns")]
        Ok::<(), String>(())
    });
}

#[test]
#[should_panic(expected = "without a fault: it does not stop making requests: 5001 requests")]
fn an_operator_with_endless_requests_does_not_stop_the_clock() {
    trial("no-pause").assert_converges(async |client: Client| {
        loop {
            apply_with_retries(&client, "a").await;
        }
        #[expect(unreachable_code, reason = "it says what the operator returns")]
        Ok::<(), String>(())
    });
}

#[test]
#[should_panic(
    expected = "cannot patch resource \"configmaps\" in API group \"\" in the namespace \"default\""
)]
fn an_operator_without_the_permission_fails() {
    trial_as("no-right", "somebody").assert_converges(async |client: Client| {
        let _ = apply(&client, "a").await;
        std::future::pending::<Result<(), String>>().await
    });
}

#[test]
#[should_panic(expected = "without a fault: it makes no requests")]
fn an_operator_without_requests_fails() {
    trial("asks-nothing")
        .assert_converges(async |_: Client| std::future::pending::<Result<(), String>>().await);
}

#[test]
fn nondeterministic_values_are_not_compared() {
    trial("generated-value").assert_converges(async |client: Client| {
        let random = std::hash::RandomState::new().hash_one(0);
        let change = json!({"data": {"random": random.to_string()}});
        let config_maps = Api::<ConfigMap>::default_namespaced(client.clone());
        loop {
            apply_with_retries(&client, "a").await;
            let changed = config_maps
                .patch("a", &PatchParams::default(), &Patch::Merge(&change))
                .await;
            if changed.is_ok() {
                return std::future::pending::<Result<(), String>>().await;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
}

/// An operator that tries to hold its lease every ten seconds, and recreates a missing ConfigMap. `acts` decides whether it does the latter
/// with or without the lease.
async fn leader(client: Client, acts: fn(bool) -> bool) -> Result<(), String> {
    let leases: Api<Lease> = Api::default_namespaced(client.clone());
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let mut seen = (String::new(), Instant::now());
    let me = std::hash::RandomState::new().hash_one(0).to_string();
    loop {
        let lease = leases.get_opt("leader").await.unwrap_or_default();
        let spec = lease
            .as_ref()
            .and_then(|lease| lease.spec.clone())
            .unwrap_or_default();
        let version = lease
            .and_then(|lease| lease.metadata.resource_version)
            .unwrap_or_default();
        if version != seen.0 {
            seen = (version, Instant::now());
        }
        let is_free = spec.holder_identity.is_none_or(|holder| holder == me)
            || seen.1.elapsed() > Duration::from_secs(30);
        let object = json!({"metadata": {"name": "leader", "resourceVersion": seen.0}, "spec": {"holderIdentity": me}});
        let (object, parameters) = (
            serde_json::from_value(object).unwrap(),
            PostParams::default(),
        );
        let leads = is_free
            && if seen.0.is_empty() {
                leases.create(&parameters, &object).await.is_ok()
            } else {
                leases.replace("leader", &parameters, &object).await.is_ok()
            };
        if acts(leads) && matches!(config_maps.get_opt("a").await, Ok(None)) {
            let _ = apply_child(&client).await;
        }
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
}

/// Applies a ConfigMap that the sample controls.
async fn apply_child(client: &Client) -> kube::Result<ConfigMap> {
    let owner = Api::<Secret>::default_namespaced(client.clone())
        .get("sample")
        .await?;
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "ownerReferences": [{
        "apiVersion": "v1", "kind": "Secret", "name": "sample", "uid": owner.metadata.uid, "controller": true,
    }]}});
    let config_maps = Api::<ConfigMap>::default_namespaced(client.clone());
    config_maps
        .patch("a", &PatchParams::apply("trial"), &Patch::Apply(config_map))
        .await
}

/// A trial of the service account `leader`, which has the name of the lease and all permissions.
fn elected(name: &str) -> Trial {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "leader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "leader", "namespace": "default"}],
    });
    std::fs::write(
        folder.join("kustomization.yaml"),
        "resources: [binding.yaml]\n",
    )
    .unwrap();
    std::fs::write(folder.join("binding.yaml"), binding.to_string()).unwrap();
    Trial::new(folder, "system:serviceaccount:default:leader").sample(SAMPLE)
}

#[test]
fn an_operator_that_stops_when_it_loses_its_lease_passes() {
    elected("yields").assert_stops_when_lease_is_lost(|client| leader(client, |leads| leads));
}

#[test]
#[should_panic(
    expected = "it makes a change while another replica holds the lease: patch configmaps default/a"
)]
fn an_operator_that_writes_without_its_lease_fails() {
    elected("goes-on").assert_stops_when_lease_is_lost(|client| leader(client, |_| true));
}

#[test]
#[should_panic(expected = "without a fault: it does not request a lease")]
fn an_operator_without_a_lease_fails_the_trial_of_leases() {
    trial("no-lease").assert_stops_when_lease_is_lost(async |client: Client| {
        apply_with_retries(&client, "a").await;
        std::future::pending::<Result<(), String>>().await
    });
}

/// The operator retries for two seconds, but the server restarts for three.
#[test]
#[should_panic(expected = "restart at request")]
fn an_operator_that_does_not_survive_a_restart_fails() {
    trial("no-restart").assert_converges(async |client: Client| {
        for _ in 0..3 {
            if apply(&client, "a").await.is_ok() {
                return std::future::pending::<Result<(), String>>().await;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        std::future::pending::<Result<(), String>>().await
    });
}

#[test]
#[should_panic(expected = "the operator failed with Secret sample, by its event Panicked: no luck")]
fn an_operator_that_reports_a_failure_of_its_sample_fails() {
    trial("complains").assert_converges(async |client: Client| {
        apply_with_retries(&client, "a").await;
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "sample.1"},
            "type": "Warning",
            "reason": "Panicked",
            "message": "no luck",
            "involvedObject": {"kind": "Secret", "name": "sample", "namespace": "default"},
        });
        let event = serde_json::from_value(event).unwrap();
        let events: Api<Event> = Api::default_namespaced(client);
        let _told = events.create(&PostParams::default(), &event).await;
        std::future::pending::<Result<(), String>>().await
    });
}
