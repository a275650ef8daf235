//! A Secret that somebody damaged is repaired, and clients never notice.

use std::time::{Duration, UNIX_EPOCH};

use tokio::time::sleep;

use super::super::{
    contents::{Entries, Material},
    identity::{Authority, Identity},
};
use super::support::*;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The entries of a Secret that another authority has signed.
fn foreign(operator: &str, service: &str, created: i64) -> Entries {
    let identity = Identity::new(operator, service, NAMESPACE, &[]).unwrap();
    let authority = identity.create_authority(created, 300 * DAY).unwrap();
    entries(&identity, authority, created)
}

fn entries(identity: &Identity, authority: Authority, created: i64) -> Entries {
    let serving = identity.issue(&authority, created, 90 * DAY).unwrap();
    let material = Material {
        authority,
        older: vec![],
        serving,
    };
    material
        .entries()
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text.into_bytes()))
        .collect()
}

fn seconds(time: &Time) -> i64 {
    let now = time.clock()().duration_since(UNIX_EPOCH).unwrap();
    now.as_secs().try_into().unwrap()
}

type Tampering = Vec<(&'static str, Option<Vec<u8>>)>;

/// Each damage, and what is logged about it.
fn damages(time: &Time) -> Vec<(Tampering, &'static str)> {
    let now = seconds(time);
    let other = foreign("op", "op-webhook", now);
    let stranger = foreign("stranger", "op-webhook", now);
    let elsewhere = foreign("op", "elsewhere", now);
    let expired = foreign("op", "op-webhook", now - 91 * 24 * 3600);
    let long_expired = foreign("op", "op-webhook", now - 400 * 24 * 3600);
    let garbage = b"-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----\n";
    let no_certificate = b"-----BEGIN CERTIFICATE-----\nbm90IGEga2V5\n-----END CERTIFICATE-----\n";
    let of = |entries: &Entries, names: &[&'static str]| -> Tampering {
        names
            .iter()
            .map(|name| (*name, Some(entries.0[*name].clone())))
            .collect()
    };
    const ALL: &[&str] = &["ca.crt", "ca.key", "tls.crt", "tls.key"];
    let one = |name, text: &[u8]| vec![(name, Some(text.to_vec()))];
    vec![
        (vec![("tls.crt", None)], "it has no tls.crt"),
        (vec![("tls.key", None)], "it has no tls.key"),
        (vec![("ca.crt", None)], "it has no ca.crt"),
        (vec![("ca.key", None)], "it has no ca.key"),
        (
            ALL.iter().map(|name| (*name, None)).collect(),
            "it has no ca.crt",
        ),
        (one("tls.crt", b""), "it has no tls.crt"),
        (one("tls.crt", b"damaged"), "tls.crt has no certificate"),
        (
            one("tls.crt", no_certificate),
            "tls.crt has a certificate that cannot be parsed",
        ),
        (
            one("tls.crt", b"-----BEGIN CERTIFICATE-----\n%\n"),
            "tls.crt is not PEM",
        ),
        (one("tls.key", b"damaged"), "tls.key has no private key"),
        (one("tls.key", garbage), "tls.key is not the key of tls.crt"),
        (one("ca.crt", b"\xff\xfe"), "ca.crt has no certificate"),
        (one("ca.key", b"damaged"), "ca.key has no private key"),
        (one("ca.key", garbage), "ca.key is not the key of ca.crt"),
        (
            of(&other, &["tls.key"]),
            "tls.key is not the key of tls.crt",
        ),
        (of(&other, &["ca.key"]), "ca.key is not the key of ca.crt"),
        (
            of(&other, &["tls.crt", "tls.key"]),
            "tls.crt is not signed by an authority of this operator",
        ),
        (
            of(&other, &["ca.crt", "ca.key"]),
            "tls.crt is not signed by an authority of this operator",
        ),
        (of(&expired, ALL), "tls.crt has expired or is not yet valid"),
        (
            of(&long_expired, ALL),
            "the first certificate of ca.crt has expired or is not yet valid",
        ),
        (
            of(&elsewhere, ALL),
            "tls.crt is not valid for the host op-webhook.shop.svc",
        ),
        (
            of(&stranger, &["ca.crt"]),
            "a certificate of ca.crt is not one of this operator",
        ),
        (
            of(&stranger, ALL),
            "a certificate of ca.crt is not one of this operator",
        ),
    ]
}

/// Asserts that the Secret has certificates that fit, and that every configuration has its bundle.
async fn assert_is_repaired(server: &operator_testing::Server, replica: &Replica, time: &Time) {
    let identity = Identity::new("op", "op-webhook", NAMESPACE, &[]).unwrap();
    let stored = secret(server).await.data.unwrap().into_iter();
    let stored: Entries = stored.map(|(name, text)| (name, text.0)).collect();
    let contents = super::super::contents::Contents::read(&stored, &identity, seconds(time));
    assert_eq!(contents.damages, []);
    for bundle in all_bundles(server).await {
        assert_eq!(bundle, stored.0["ca.crt"]);
    }
    replica.connect_as_api_server(server, time).await;
}

#[tokio::test(start_paused = true)]
async fn each_damage_is_repaired_while_clients_connect() {
    let (server, time) = (installed().await, Time::new());
    let replicas = two_replicas(&server, &time).await;
    for (entries, reason) in damages(&time) {
        let (log, _guard) = Log::capture();
        let borrowed: Vec<_> = entries
            .iter()
            .map(|(name, text)| (*name, text.as_deref()))
            .collect();
        tamper(&server, &borrowed).await;
        connect_for_a_while(&server, &replicas, &time).await;
        let text = log.own();
        assert!(text.contains(reason), "{reason} is not in {text}");
        assert_eq!(text.matches(reason).count(), 1, "reported once: {text}");
        assert_is_repaired(&server, &replicas[0], &time).await;
    }
}

#[tokio::test(start_paused = true)]
async fn each_damage_is_repaired_by_a_replica_that_starts() {
    let time = Time::new();
    for (entries, reason) in damages(&time) {
        let server = installed().await;
        let first = Replica::managed(server.client(), &time);
        sleep(A_WHILE).await;
        drop(first);
        let borrowed: Vec<_> = entries
            .iter()
            .map(|(name, text)| (*name, text.as_deref()))
            .collect();
        tamper(&server, &borrowed).await;
        let (log, _guard) = Log::capture();
        let second = Replica::managed(server.client(), &time);
        sleep(A_WHILE).await;
        assert!(log.own().contains(reason), "{reason}");
        assert_is_repaired(&server, &second, &time).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_was_deleted_gets_a_new_authority_while_clients_connect() {
    let (server, time) = (installed().await, Time::new());
    let replicas = two_replicas(&server, &time).await;
    let (key, certificate) = (
        entry(&server, "ca.key").await,
        entry(&server, "tls.crt").await,
    );
    delete(&server).await;
    connect_for_a_while(&server, &replicas, &time).await;
    assert_ne!(entry(&server, "ca.key").await, key);
    assert_ne!(entry(&server, "tls.crt").await, certificate);
}

#[tokio::test(start_paused = true)]
async fn a_foreign_bundle_of_a_configuration_is_replaced() {
    let (server, time) = (installed().await, Time::new());
    let replica = Replica::managed(server.client(), &time);
    sleep(A_WHILE).await;
    let foreign = foreign("stranger", "op-webhook", seconds(&time));
    let bundle = k8s_openapi::ByteString(foreign.0["ca.crt"].clone());
    let patch = serde_json::json!([{
        "op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle,
    }]);
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/op";
    let request = http::Request::patch(path)
        .header("content-type", "application/json-patch+json")
        .body(patch.to_string().into_bytes())
        .unwrap();
    let client = server.client();
    client.request::<serde_json::Value>(request).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_is_repaired(&server, &replica, &time).await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_without_permissions_stays_unready_and_recovers() {
    let (server, time) = (installed().await, Time::new());
    let client = server.client_as("system:serviceaccount:shop:op");
    let (log, _guard) = Log::capture();
    let replica = Replica::managed(client, &time);
    sleep(A_WHILE).await;
    assert!(!*replica.loaded.borrow());
    assert!(
        log.own().contains(
            "cannot keep the certificate of webhooks: secrets \"op-webhook\" is forbidden"
        ),
        "{}",
        log.own()
    );
    let admin = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: op}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{kind: ServiceAccount, name: op, namespace: shop}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: admin}
rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]
";
    server.install(admin).await.unwrap();
    sleep(A_WHILE).await;
    assert!(*replica.loaded.borrow());
    replica.connect_as_api_server(&server, &time).await;
}

#[tokio::test(start_paused = true)]
async fn replicas_that_repair_at_once_create_one_authority() {
    let (server, time) = (installed().await, Time::new());
    let replicas = [(); 5].map(|()| {
        // All replicas have read the Secret before one writes.
        let admin = server.client();
        let late = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let admin = admin.clone();
            async move {
                if request.method() != http::Method::GET {
                    sleep(Duration::from_secs(1)).await;
                }
                admin.send(request).await
            }
        });
        Replica::managed(kube::Client::new(late, NAMESPACE), &time)
    });
    sleep(A_WHILE).await;
    tamper(&server, &[("ca.key", None)]).await;
    let before = server.requests().len();
    connect_for_a_while(&server, &replicas, &time).await;
    let requests = server.requests().split_off(before);
    let (written, refused): (Vec<_>, Vec<_>) = requests
        .iter()
        .filter(|request| request.resource == "secrets" && request.verb == "patch")
        .partition(|request| request.code == 200);
    assert_eq!(written.len(), 2, "an authority, and what it issues");
    assert!(refused.len() >= 4 && refused.iter().all(|request| request.code == 409));
    let bundle = String::from_utf8(entry(&server, "ca.crt").await).unwrap();
    assert_eq!(bundle.matches("BEGIN CERTIFICATE").count(), 2);
}
