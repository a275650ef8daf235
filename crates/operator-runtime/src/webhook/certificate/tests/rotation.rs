//! The rotation of the authority: it issues a certificate only when clients trust it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use http::{Method, Request};
use kube::{Client, client::Body};
use operator_testing::Server;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tower::service_fn;

use super::support::*;

/// The default of [`Lifetimes::propagation`](super::super::Lifetimes::propagation): how long objects must have a bundle until it is
/// trusted.
const PROPAGATION: Duration = Duration::from_secs(300);

/// Waits until the Secret has another serving certificate. Returns the time.
async fn wait_for_new_certificate(server: &Server) -> Instant {
    let old = entry(server, "tls.crt").await;
    while entry(server, "tls.crt").await == old {
        sleep(Duration::from_secs(1)).await;
    }
    Instant::now()
}

#[tokio::test(start_paused = true)]
async fn a_new_authority_issues_after_the_configurations_have_had_it_for_a_while() {
    let (server, time) = (installed().await, Time::new());
    let replicas = two_replicas(&server, &time).await;
    tamper(&server, &[("ca.key", None)]).await;
    let start = Instant::now();
    let old = all_bundles(&server).await;
    while all_bundles(&server)
        .await
        .iter()
        .any(|bundle| old.contains(bundle))
    {
        sleep(Duration::from_secs(1)).await;
    }
    assert!(
        start.elapsed() <= Duration::from_secs(31),
        "{:?}",
        start.elapsed()
    );
    let distributed = Instant::now();
    let switched = wait_for_new_certificate(&server).await - distributed;
    assert!(
        switched >= PROPAGATION - Duration::from_secs(1),
        "{switched:?}"
    );
    assert!(
        switched <= PROPAGATION + Duration::from_secs(61),
        "{switched:?}"
    );
    // Every replica soon serves with the new certificate.
    sleep(Duration::from_secs(31)).await;
    for replica in &replicas {
        let certificate = replica.connect_as_api_server(&server, &time).await;
        let pem = entry(&server, "tls.crt").await;
        let stored = super::super::x509::Certificate::read_all(&pem).unwrap();
        assert_eq!(certificate, stored[0].der);
    }
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_loses_the_bundle_delays_the_new_authority() {
    let (server, time) = (installed().await, Time::new());
    let _replica = Replica::managed(server.client(), &time);
    sleep(A_WHILE).await;
    tamper(&server, &[("ca.key", None)]).await;
    sleep(PROPAGATION - Duration::from_secs(30)).await;
    let removed = Instant::now();
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/op";
    let request = Request::patch(path)
        .header("content-type", "application/json-patch+json")
        .body(br#"[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]"#.to_vec());
    let client = server.client();
    client.request::<Value>(request.unwrap()).await.unwrap();
    let switched = wait_for_new_certificate(&server).await - removed;
    assert!(switched >= PROPAGATION, "{switched:?}");
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_cannot_be_patched_delays_the_new_authority() {
    let (server, time) = (installed().await, Time::new());
    let (log, _guard) = Log::capture();
    let admin = server.client();
    let is_refused = Arc::new(Mutex::new(false));
    let refused = is_refused.clone();
    let service = service_fn(move |request: Request<Body>| {
        let is_refused = *refused.lock().unwrap();
        let is_write = request.method() == Method::PATCH;
        let is_crd = request.uri().path().contains("customresourcedefinitions");
        let admin = admin.clone();
        async move {
            if is_refused && is_write && is_crd {
                return Err(kube::Error::Service("no route".into()));
            }
            admin.send(request).await
        }
    });
    let replica = Replica::managed(Client::new(service, NAMESPACE), &time);
    sleep(A_WHILE).await;
    *is_refused.lock().unwrap() = true;
    tamper(&server, &[("ca.key", None)]).await;
    let old = entry(&server, "tls.crt").await;
    let crd = || bundle(&server, "customresourcedefinitions", CRD);
    for _ in 0..20 {
        sleep(Duration::from_secs(120)).await;
        replica.connect(&crd().await, HOST, &time).await.unwrap();
        replica.connect_as_api_server(&server, &time).await;
    }
    assert_eq!(entry(&server, "tls.crt").await, old);
    let message = "cannot set the CA bundle of the webhooks: ";
    assert!(
        log.own().contains(message) && log.own().contains("no route"),
        "{}",
        log.own()
    );
    *is_refused.lock().unwrap() = false;
    wait_for_new_certificate(&server).await;
    sleep(Duration::from_secs(31)).await;
    replica.connect(&crd().await, HOST, &time).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_is_behind_does_not_overwrite_a_newer_bundle() {
    let (server, time) = (installed().await, Time::new());
    let first = Replica::managed(server.client(), &time);
    sleep(A_WHILE).await;
    drop(first);
    let old = entry(&server, "ca.crt").await;
    let (admin, is_first) = (server.clone(), Arc::new(Mutex::new(true)));
    let patched = Arc::new(Mutex::new(vec![]));
    let (patches, clock) = (patched.clone(), time.clone());
    let service = service_fn(move |request: Request<Body>| {
        let (server, is_first) = (admin.clone(), is_first.clone());
        let (patches, time) = (patches.clone(), clock.clone());
        async move {
            let path = request.uri().path();
            let is_configuration = path.contains("webhookconfigurations");
            if is_configuration && std::mem::take(&mut *is_first.lock().unwrap()) {
                // After this replica has read the Secret, another one changes it and all bundles.
                delete(&server).await;
                let other = Replica::managed(server.client(), &time);
                let mut loaded = other.loaded.clone();
                loaded.wait_for(|loaded| *loaded).await.unwrap();
            }
            if request.method() == Method::PATCH && is_configuration {
                patches.lock().unwrap().push(path.to_owned());
            }
            server.client().send(request).await
        }
    });
    let second = Replica::managed(Client::new(service, NAMESPACE), &time);
    sleep(A_WHILE).await;
    let new = entry(&server, "ca.crt").await;
    assert_ne!(new, old);
    assert_eq!(
        patched.lock().unwrap().as_slice(),
        [""; 0],
        "the newer bundle is there"
    );
    second.connect_as_api_server(&server, &time).await;
}
