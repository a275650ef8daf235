//! The Secret and the bundles of an operator that starts, alone and with others.

use std::time::Duration;

use kube::Client;
use tokio::time::sleep;
use tower::service_fn;

use super::support::*;

#[tokio::test(start_paused = true)]
async fn a_new_operator_creates_its_secret_and_sets_every_bundle() {
    let (server, time) = (installed().await, Time::new());
    let replica = Replica::managed(server.client(), &time);
    assert!(!*replica.loaded.borrow());
    sleep(Duration::from_secs(1)).await;

    assert!(*replica.loaded.borrow());
    let secret = secret(&server).await;
    assert_eq!(secret.type_.as_deref(), Some("kubernetes.io/tls"));
    let names: Vec<_> = secret.data.iter().flat_map(|data| data.keys()).collect();
    assert_eq!(names, ["ca.crt", "ca.key", "tls.crt", "tls.key"]);
    let authorities = entry(&server, "ca.crt").await;
    for bundle in all_bundles(&server).await {
        assert_eq!(bundle, authorities);
        replica.connect(&bundle, HOST, &time).await.unwrap();
        let other = replica.connect(&bundle, "localhost", &time).await;
        assert!(other.is_err(), "not valid for other hosts");
    }
    let expiry = replica.expiry.borrow().unwrap();
    let lifetime = expiry - i64::try_from(time.now().as_secs()).unwrap();
    assert!((lifetime - 90 * 24 * 3600).abs() < 5, "{lifetime}");
}

#[tokio::test(start_paused = true)]
async fn a_webhook_of_another_service_is_left_alone() {
    let (server, time) = (installed().await, Time::new());
    let client = server.client();
    let plural = "validatingwebhookconfigurations";
    let before = object(&client, plural, "op").await;
    let _replica = Replica::managed(server.client(), &time);
    sleep(A_WHILE).await;
    let mut after = object(&client, plural, "op").await;
    assert_eq!(after["webhooks"][1], before["webhooks"][1]);
    let config = after["webhooks"][0]["clientConfig"].as_object_mut();
    config.unwrap().remove("caBundle").unwrap();
    assert_eq!(after["webhooks"], before["webhooks"], "only the bundle");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_when_nothing_differs() {
    let (server, time) = (installed().await, Time::new());
    let _replica = Replica::managed(server.client(), &time);
    sleep(A_WHILE).await;
    assert_eq!(writes(&server), 4, "the Secret and three bundles");
    let _other = Replica::managed(server.client(), &time);
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(writes(&server), 4);
}

#[tokio::test(start_paused = true)]
async fn the_documented_permissions_suffice() {
    let server = installed().await;
    server
        .install(
            "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: op, namespace: shop}
rules:
  - {apiGroups: [''], resources: [secrets], verbs: [create]}
  - {apiGroups: [''], resources: [secrets], resourceNames: [op-webhook], verbs: [get, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: op, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: op}
subjects: [{kind: ServiceAccount, name: op, namespace: shop}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: op}
rules:
  - apiGroups: [admissionregistration.k8s.io]
    resources: [validatingwebhookconfigurations, mutatingwebhookconfigurations]
    resourceNames: [op]
    verbs: [get, patch]
  - apiGroups: [apiextensions.k8s.io]
    resources: [customresourcedefinitions]
    resourceNames: [carts.shop.example.com]
    verbs: [get, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: op}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: op}
subjects: [{kind: ServiceAccount, name: op, namespace: shop}]
",
        )
        .await
        .unwrap();
    let time = Time::new();
    let client = server.client_as("system:serviceaccount:shop:op");
    let replica = Replica::managed(client, &time);
    sleep(A_WHILE).await;
    // A repair needs no other permissions than the creation.
    tamper(&server, &[("ca.key", None)]).await;
    sleep(A_WHILE).await;
    replica.connect_as_api_server(&server, &time).await;
    let refused: Vec<_> = server.requests();
    let refused = refused.into_iter().filter(|request| request.code == 403);
    assert_eq!(
        refused
            .map(|request| request.to_string())
            .collect::<Vec<_>>(),
        [""; 0]
    );
}

#[tokio::test(start_paused = true)]
async fn replicas_that_start_at_once_create_one_authority() {
    for count in [2, 5] {
        let (server, time) = (installed().await, Time::new());
        let replicas: Vec<_> = (0..count)
            .map(|_| Replica::managed(server.client(), &time))
            .collect();
        sleep(A_WHILE).await;
        let [bundle, others @ ..] = all_bundles(&server).await;
        assert!(others.iter().all(|other| *other == bundle));
        let text = String::from_utf8(bundle.clone()).unwrap();
        assert_eq!(text.matches("BEGIN CERTIFICATE").count(), 1);
        let mut served = vec![];
        for replica in &replicas {
            served.push(replica.connect(&bundle, HOST, &time).await.unwrap());
        }
        served.dedup();
        assert_eq!(served.len(), 1, "all serve with the same certificate");
        let requests = server.requests();
        let created = requests
            .iter()
            .filter(|request| request.verb == "create" && request.code == 201);
        assert_eq!(created.count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_appears_later_gets_the_bundle_soon() {
    let (server, time) = (server().await, Time::new());
    let replica = Replica::managed(server.client(), &time);
    sleep(Duration::from_secs(1)).await;
    assert!(*replica.loaded.borrow(), "ready without any configuration");
    server.install(VALIDATING).await.unwrap();
    sleep(Duration::from_secs(3)).await;
    replica.connect_as_api_server(&server, &time).await;
}

#[tokio::test(start_paused = true)]
async fn a_crd_that_gains_its_conversion_gets_the_bundle_soon() {
    let (server, time) = (server().await, Time::new());
    let (names, rest) = CONVERTED.split_once("  conversion:").unwrap();
    let (_, versions) = rest.split_once("  versions:").unwrap();
    let plain = format!("{names}  versions:{versions}");
    for object in [VALIDATING, MUTATING, &plain] {
        server.install(object).await.unwrap();
    }
    let replica = Replica::managed(server.client(), &time);
    sleep(Duration::from_secs(1)).await;
    assert!(*replica.loaded.borrow(), "ready without the conversion");
    replace(&server.client(), "CustomResourceDefinition", CONVERTED).await;
    sleep(Duration::from_secs(3)).await;
    let [expected, _, bundle] = all_bundles(&server).await;
    assert_eq!(bundle, expected);
}

#[tokio::test(start_paused = true)]
async fn a_bundle_that_was_removed_is_set_again_within_a_minute() {
    let (server, time) = (installed().await, Time::new());
    let replica = Replica::managed(server.client(), &time);
    sleep(A_WHILE).await;
    let bundles = all_bundles(&server).await;
    for object in [VALIDATING, MUTATING, CONVERTED] {
        let (_, kind) = object.split_once("kind: ").unwrap();
        let kind = kind.lines().next().unwrap();
        replace(&server.client(), kind, object).await;
    }
    sleep(Duration::from_secs(60)).await;
    assert_eq!(all_bundles(&server).await, bundles);
    replica.connect_as_api_server(&server, &time).await;
}

/// Replaces an object, like `kubectl replace`.
async fn replace(client: &Client, kind: &str, yaml: &str) {
    let mut object: serde_json::Value = operator_testing::sample(yaml).unwrap();
    let plural = format!("{}s", kind.to_lowercase());
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    let current = super::support::object(client, &plural, &name).await;
    object["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"].clone();
    let group = current["apiVersion"].as_str().unwrap();
    let request = http::Request::put(format!("/apis/{group}/{plural}/{name}"));
    let request = request.header("content-type", "application/json");
    let request = request.body(object.to_string().into_bytes()).unwrap();
    client.request::<serde_json::Value>(request).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_change_at_the_same_time_is_kept() {
    let (server, time) = (installed().await, Time::new());
    let admin = server.client();
    let racing = {
        let (admin, is_first) = (server.client(), std::sync::atomic::AtomicBool::new(true));
        let is_first = std::sync::Arc::new(is_first);
        service_fn(move |request: http::Request<kube::client::Body>| {
            let (admin, is_first) = (admin.clone(), is_first.clone());
            async move {
                let is_patch = request.method() == "PATCH"
                    && request.uri().path().contains("validatingwebhook");
                if is_patch && is_first.swap(false, std::sync::atomic::Ordering::SeqCst) {
                    // Another manager changes the order of the webhooks, and one of them.
                    let mut webhooks =
                        object(&admin, "validatingwebhookconfigurations", "op").await;
                    let webhooks = webhooks["webhooks"].as_array_mut().unwrap();
                    webhooks.swap(0, 1);
                    webhooks[0]["timeoutSeconds"] = 3.into();
                    let patch = serde_json::json!({ "webhooks": webhooks });
                    let path = request.uri().path();
                    let patched = http::Request::patch(path)
                        .header("content-type", "application/merge-patch+json")
                        .body(patch.to_string().into_bytes())
                        .unwrap();
                    admin.request::<serde_json::Value>(patched).await.unwrap();
                }
                admin.send(request).await
            }
        })
    };
    let _replica = Replica::managed(Client::new(racing, NAMESPACE), &time);
    sleep(A_WHILE).await;
    let after = object(&admin, "validatingwebhookconfigurations", "op").await;
    let [other, own] = [0, 1].map(|index| &after["webhooks"][index]);
    assert_eq!(other["name"], "validate.other.example.com");
    assert_eq!(other["timeoutSeconds"], 3);
    assert_eq!(other["clientConfig"]["caBundle"], "b3RoZXI=");
    let bundle = k8s_openapi::ByteString(entry(&server, "ca.crt").await);
    assert_eq!(own["clientConfig"]["caBundle"], serde_json::json!(bundle));
}
