//! Trials of small operators: one that tries again survives, and whatever one lacks is found.

use std::hash::BuildHasher;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use operator_testing::Trial;
use serde_json::json;

const SAMPLE: &str = "{apiVersion: v1, kind: Secret, metadata: {name: sample}}";

/// A trial of an operator with an administrator's rights, of which nothing is installed.
fn trial(name: &str) -> Trial {
    trial_as(name, "")
}

fn trial_as(name: &str, user: &str) -> Trial {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kustomization.yaml"), "resources: []\n").unwrap();
    Trial::new(folder, user, SAMPLE)
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

async fn retried(client: &Client, name: &str) {
    while apply(client, name).await.is_err() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[test]
fn an_operator_that_tries_again_survives() {
    trial("tries-again").assert_converges(async |client: Client| {
        retried(&client, "a").await;
        retried(&client, "b").await;
        std::future::pending::<Result<(), String>>().await
    });
}

#[test]
#[should_panic(expected = "the cluster is another")]
fn one_that_gives_up_is_found() {
    trial("gives-up").assert_converges(async |client: Client| {
        let _ = apply(&client, "a").await;
        std::future::pending::<Result<(), String>>().await
    });
}

#[test]
#[should_panic(
    expected = "at request 0, patch configmaps default/a\n  the operator ended: no luck"
)]
fn one_that_ends_is_found() {
    trial("ends").assert_converges(async |client: Client| {
        apply(&client, "a").await.map_err(|_| "no luck")?;
        std::future::pending::<Result<(), &str>>().await
    });
}

#[test]
#[should_panic(expected = "without a fault: it does not come to rest")]
fn one_that_never_rests_is_found() {
    trial("never-rests").assert_converges(async |client: Client| {
        loop {
            retried(&client, "a").await;
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        #[expect(unreachable_code, reason = "it says what the operator returns")]
        Ok::<(), String>(())
    });
}

#[test]
#[should_panic(expected = "without a fault: it does not come to rest: 5001 requests")]
fn one_that_asks_without_a_pause_does_not_stop_the_clock() {
    trial("no-pause").assert_converges(async |client: Client| {
        loop {
            retried(&client, "a").await;
        }
        #[expect(unreachable_code, reason = "it says what the operator returns")]
        Ok::<(), String>(())
    });
}

#[test]
#[should_panic(expected = "without a fault: it may not patch configmaps default/a")]
fn one_without_the_right_is_found() {
    trial_as("no-right", "somebody").assert_converges(async |client: Client| {
        let _ = apply(&client, "a").await;
        std::future::pending::<Result<(), String>>().await
    });
}

#[test]
#[should_panic(expected = "without a fault: it asks nothing of the server")]
fn one_that_asks_nothing_is_no_trial() {
    trial("asks-nothing")
        .assert_converges(async |_: Client| std::future::pending::<Result<(), String>>().await);
}

#[test]
fn a_value_that_is_another_each_time_is_not_compared() {
    trial("generated-value").assert_converges(async |client: Client| {
        let random = std::hash::RandomState::new().hash_one(0);
        let change = json!({"data": {"random": random.to_string()}});
        let config_maps = Api::<ConfigMap>::default_namespaced(client.clone());
        loop {
            retried(&client, "a").await;
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
