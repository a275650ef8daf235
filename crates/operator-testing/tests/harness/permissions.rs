//! The admission plugin OwnerReferencesPermissionEnforcement, and the check that all permissions are needed.

use std::future::pending;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::api::{Patch, PatchParams, PostParams, WatchParams};
use kube::{Api, Client, ResourceExt};
use operator_testing::{Server, Trial};
use serde_json::{Value, json};
use tokio::time::sleep;

const USER: &str = "system:serviceaccount:default:maker";

/// A role of the namespace with these rules, and its binding to the user.
fn role(rules: &Value) -> String {
    let metadata = json!({"name": "maker", "namespace": "default"});
    let api_version = "rbac.authorization.k8s.io/v1";
    let role =
        json!({"apiVersion": api_version, "kind": "Role", "metadata": metadata, "rules": rules});
    let binding = json!({
        "apiVersion": api_version, "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maker"},
        "subjects": [{"kind": "ServiceAccount", "name": "maker", "namespace": "default"}],
    });
    format!("{role}\n---\n{binding}\n")
}

fn rule(resource: &str, verbs: &[&str]) -> Value {
    json!({"apiGroups": [""], "resources": [resource], "verbs": verbs})
}

/// A ConfigMap that blocks the foreground deletion of its owner.
fn child(owner: &Secret) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "child", "ownerReferences": [{
            "apiVersion": "v1", "kind": "Secret", "name": owner.name_any(), "uid": owner.uid(),
            "controller": true, "blockOwnerDeletion": true,
        }]},
    })
}

async fn refusal(server: &Server, child: &Value) -> Option<String> {
    let config_maps: Api<ConfigMap> = Api::default_namespaced(server.client_as(USER));
    let applied = config_maps
        .patch("child", &PatchParams::apply("maker"), &Patch::Apply(child))
        .await;
    applied.err().map(|error| error.to_string())
}

#[tokio::test]
async fn setting_an_owner_needs_the_permission() {
    let server = Server::in_memory();
    let secrets: Api<Secret> = Api::default_namespaced(server.client());
    let mut owner = Secret::default();
    owner.metadata.name = Some("owner".into());
    let owner = secrets
        .create(&PostParams::default(), &owner)
        .await
        .unwrap();
    let child = child(&owner);
    let config_maps = rule("configmaps", &["create", "patch"]);
    server.install(&role(&json!([config_maps]))).await.unwrap();

    server.service().unwrap().enforce_owner_references();
    let refused = refusal(&server, &child).await.unwrap();
    let expected = "configmaps \"child\" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>";
    assert!(refused.contains(expected), "{refused}");

    let finalizers = rule("secrets/finalizers", &["update"]);
    server
        .install(&role(&json!([config_maps, finalizers])))
        .await
        .unwrap();
    assert_eq!(refusal(&server, &child).await, None);
    assert_eq!(refusal(&server, &child).await, None, "the owner stays");

    let mut ownerless = child.clone();
    ownerless["metadata"]["ownerReferences"] = json!([]);
    let refused = refusal(&server, &ownerless).await.unwrap();
    let expected = "configmaps \"child\" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>";
    assert!(refused.contains(expected), "{refused}");
}

/// A trial of the maker with these rules.
fn trial(name: &str, rules: &Value) -> Trial {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("kustomization.yaml"),
        "resources: [role.yaml]\n",
    )
    .unwrap();
    std::fs::write(folder.join("role.yaml"), role(rules)).unwrap();
    let sample = "{apiVersion: v1, kind: Secret, metadata: {name: owner}}";
    Trial::new(folder, USER).sample(sample)
}

/// Applies a ConfigMap until that succeeds, and reads a Secret after each failure.
async fn maker(client: Client) -> Result<(), String> {
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}});
    let parameters = PatchParams::apply("maker");
    while config_maps
        .patch("made", &parameters, &Patch::Apply(&object))
        .await
        .is_err()
    {
        let secrets: Api<Secret> = Api::default_namespaced(client.clone());
        let _ = secrets.get_opt("diary").await;
        sleep(Duration::from_secs(1)).await;
    }
    pending().await
}

#[test]
fn permissions_are_used_by_writes_and_by_the_handling_of_failures() {
    let rules = json!([
        rule("configmaps", &["create", "patch"]),
        rule("secrets", &["get"])
    ]);
    trial("needed", &rules).assert_permissions_are_needed(&[], maker);
}

#[test]
#[should_panic(
    expected = "role.yaml: Role maker: list configmaps\n\nhelp: these permissions follow from"
)]
fn a_permission_that_nothing_needs_is_found() {
    let rules = json!([rule("configmaps", &["create", "list", "patch"])]);
    trial("unneeded", &rules).assert_permissions_are_needed(&[], maker);
}

#[test]
fn faults_in_changed_resources_come_first() {
    static STARTS: AtomicUsize = AtomicUsize::new(0);
    let watcher = async |client: Client| {
        STARTS.fetch_add(1, Ordering::SeqCst);
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        for _ in 0..5 {
            let _ = pods.watch(&WatchParams::default(), "0").await;
        }
        maker(client).await
    };
    let rules = json!([
        rule("configmaps", &["create", "patch"]),
        rule("pods", &["watch"]),
        rule("secrets", &["get"])
    ]);
    trial("watches", &rules).assert_permissions_are_needed(&[], watcher);
    let starts = STARTS.load(Ordering::SeqCst);
    assert_eq!(
        starts, 2,
        "one without a fault, and one with an outage of the write"
    );
}

#[test]
fn the_users_own_rules_allow_unused_permissions() {
    let rules = json!([rule("configmaps", &["create", "list", "patch"])]);
    let written = rule("*", &["list"]).to_string();
    trial("written", &rules).assert_permissions_are_needed(&[&written], maker);
}
