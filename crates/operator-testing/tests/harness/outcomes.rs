//! Trials of operators that report their reconciliations: an operator that fails, or never succeeds, is found, and its own error is shown.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use operator_testing::{Outcomes, Trial, real_time};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::timeout;

const SAMPLE: &str = "{apiVersion: v1, kind: Secret, metadata: {name: sample}}";

/// A trial of an operator that has the permissions of an administrator and no manifests.
fn trial(name: &str) -> Trial {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kustomization.yaml"), "resources: []\n").unwrap();
    Trial::new(folder, "")
}

/// Lists Secrets every five seconds, reconciles each that has changed until that succeeds, at most five times, and reports each result.
async fn reconcile_all<F, R>(client: Client, outcomes: Outcomes, reconcile: F) -> Result<(), String>
where
    F: Fn(Client, Secret) -> R,
    R: Future<Output = Result<(), String>>,
{
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let mut tries: BTreeMap<Option<String>, usize> = BTreeMap::new();
    loop {
        for secret in secrets
            .list(&ListParams::default())
            .await
            .into_iter()
            .flatten()
        {
            let tried = tries.entry(secret.resource_version()).or_default();
            if *tried >= 5 {
                continue;
            }
            let result = reconcile(client.clone(), secret.clone()).await;
            *tried = if result.is_ok() { 5 } else { *tried + 1 };
            let (namespace, name) = (secret.namespace(), secret.name_any());
            outcomes.report("", "Secret", namespace.as_deref(), &name, result);
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

async fn apply_child(client: Client) -> Result<(), String> {
    let child = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let applied = config_maps
        .patch("a", &PatchParams::apply("trial"), &Patch::Apply(child))
        .await;
    applied.map(drop).map_err(|error| error.to_string())
}

async fn succeeding(client: Client, outcomes: Outcomes) -> Result<(), String> {
    reconcile_all(client, outcomes, |client, _| async move {
        apply_child(client).await
    })
    .await
}

async fn failing(client: Client, outcomes: Outcomes) -> Result<(), String> {
    reconcile_all(client, outcomes, |_, _| async { Err("no luck".to_owned()) }).await
}

#[test]
fn an_operator_that_succeeds_passes() {
    trial("succeeds")
        .sample(SAMPLE)
        .assert_converges(succeeding);
}

#[test]
fn an_operator_without_requests_for_its_objects_passes() {
    trial("prints")
        .sample(SAMPLE)
        .assert_converges(async |client: Client, outcomes: Outcomes| {
            reconcile_all(client, outcomes, |_, _| async { Ok(()) }).await
        });
}

#[test]
#[should_panic(
    expected = "without a fault: Secret default/sample was never reconciled successfully: 5 reconciliations failed, the last with: no luck"
)]
fn an_operator_that_always_fails_is_found() {
    trial("fails").sample(SAMPLE).assert_converges(failing);
}

/// The address of a server that has a thread of its own, and answers after a while.
fn outside() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::sleep(Duration::from_millis(5));
            stream.unwrap().write_all(b"yes").unwrap();
        }
    });
    address
}

async fn ask(address: SocketAddr) -> Result<(), String> {
    let answered = async { TcpStream::connect(address).await?.readable().await };
    let answered = timeout(Duration::from_secs(5), answered).await;
    let answered = answered.map_err(|elapsed| elapsed.to_string())?;
    answered.map_err(|error| error.to_string())
}

#[test]
#[should_panic(
    expected = "with: deadline has elapsed\n      help: the clock of this test is simulated"
)]
fn an_operator_that_waits_for_something_outside_gets_help() {
    let outside = outside();
    trial("outside")
        .sample(SAMPLE)
        .assert_converges(move |client: Client, outcomes: Outcomes| {
            reconcile_all(client, outcomes, move |_, _| ask(outside))
        });
}

#[test]
fn an_operator_that_waits_for_something_outside_in_real_time_passes() {
    let outside = outside();
    trial("real-time").sample(SAMPLE).assert_converges(
        move |client: Client, outcomes: Outcomes| {
            reconcile_all(client, outcomes, move |_, _| real_time(ask(outside)))
        },
    );
}

#[test]
#[should_panic(
    expected = "Secret default/sample still fails, after 1 reconciliation that succeeded and 5 that failed, with: no luck"
)]
fn an_operator_whose_last_reconciliation_fails_is_found() {
    trial("fails-again").sample(SAMPLE).assert_converges(
        async |client: Client, outcomes: Outcomes| {
            reconcile_all(client, outcomes, |client, secret| async move {
                if secret.labels().contains_key("seen") {
                    return Err("no luck".to_owned());
                }
                let label = json!({"metadata": {"labels": {"seen": "yes"}}});
                let secrets: Api<Secret> = Api::default_namespaced(client.clone());
                let patched = secrets
                    .patch(
                        &secret.name_any(),
                        &PatchParams::default(),
                        &Patch::Merge(label),
                    )
                    .await;
                patched.map(drop).map_err(|error| error.to_string())
            })
            .await
        },
    );
}

#[test]
#[should_panic(expected = "Secret default/sample was never reconciled\n")]
fn an_operator_that_reconciles_nothing_fails() {
    trial("idle")
        .sample(SAMPLE)
        .assert_converges(async |client: Client, _: Outcomes| {
            apply_child(client).await?;
            std::future::pending::<Result<(), String>>().await
        });
}

#[test]
#[should_panic(expected = "ConfigMap default/a was never reconciled\n")]
fn an_unreconciled_object_of_another_kind_fails() {
    trial("other-kind")
        .reconciles(&["ConfigMap"])
        .sample(SAMPLE)
        .assert_converges(succeeding);
}

/// After a fault, the operator always fails, although the cluster has the same state: only the reported results show it.
#[test]
#[should_panic(
    expected = "FAULTS=\"2:409\": 409 at request 2, patch configmaps default/a\n  Secret default/sample was never reconciled successfully: 5"
)]
fn an_operator_that_does_not_recover_from_a_fault_is_found() {
    trial("does-not-recover").sample(SAMPLE).assert_converges(
        async |client: Client, outcomes: Outcomes| {
            let broken = Arc::new(AtomicBool::new(false));
            reconcile_all(client, outcomes, |client, _| {
                let broken = broken.clone();
                async move {
                    if apply_child(client.clone()).await.is_err() {
                        broken.store(true, Ordering::Relaxed);
                    }
                    apply_child(client).await?;
                    if broken.load(Ordering::Relaxed) {
                        Err("no luck".to_owned())
                    } else {
                        Ok(())
                    }
                }
            })
            .await
        },
    );
}

#[test]
#[should_panic(
    expected = "Secret default/sample was never reconciled successfully: 5 reconciliations failed"
)]
fn the_test_of_permissions_reports_an_operator_that_fails() {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "trial"},
        "rules": [{"apiGroups": [""], "resources": ["secrets", "pods"], "verbs": ["list", "watch"]}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "trial"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "trial"},
        "subjects": [{"kind": "User", "name": "trial", "apiGroup": "rbac.authorization.k8s.io"}],
    });
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rights-of-one-that-fails");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, object) in [("role.yaml", role), ("binding.yaml", binding)] {
        std::fs::write(folder.join(name), object.to_string()).unwrap();
    }
    let resources = "resources: [role.yaml, binding.yaml]\n";
    std::fs::write(folder.join("kustomization.yaml"), resources).unwrap();
    Trial::new(folder, "trial")
        .sample(SAMPLE)
        .assert_permissions_are_needed(&[], failing);
}

#[test]
fn a_sample_that_is_declared_to_fail_passes() {
    trial("declared")
        .sample_that_fails(SAMPLE, "luck")
        .assert_converges(failing);
}

#[test]
#[should_panic(
    expected = "Secret default/sample is declared to fail with `luck`, but its last reconciliation succeeded"
)]
fn a_sample_that_is_declared_to_fail_and_succeeds_is_found() {
    trial("declared-in-vain")
        .sample_that_fails(SAMPLE, "luck")
        .assert_converges(succeeding);
}

#[test]
#[should_panic(expected = "is declared to fail with `another`, but was never reconciled")]
fn a_sample_that_fails_with_another_error_fails() {
    trial("declared-otherwise")
        .sample_that_fails(SAMPLE, "another")
        .assert_converges(failing);
}
