//! A server with configurations, its Secret, and a clock that tests set forward.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use operator_testing::Server;
use serde_json::Value;
use tokio::time::Instant;
use tokio_rustls::rustls::{pki_types::UnixTime, time_provider::TimeProvider};

use super::super::{Clock, Lifetimes, ManagedConfig};
pub use super::{log::Log, replica::*};

pub const NAMESPACE: &str = "shop";
pub const HOST: &str = "op-webhook.shop.svc";
pub const CRD: &str = "carts.shop.example.com";

/// How long a test lets replicas run: longer than two polls and the pauses after the first failures.
pub const A_WHILE: Duration = Duration::from_secs(70);

pub const VALIDATING: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: op}
webhooks:
  - name: validate.carts.op
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: {service: {name: op-webhook, namespace: shop, path: /validate-carts}}
    rules: [{operations: [CREATE], apiGroups: [shop.example.com], apiVersions: [v1], resources: [carts]}]
  - name: validate.other.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: {service: {name: other, namespace: shop, path: /validate-carts}, caBundle: b3RoZXI=}
    rules: [{operations: [CREATE], apiGroups: [shop.example.com], apiVersions: [v1], resources: [boxes]}]
";

pub const MUTATING: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: op}
webhooks:
  - name: mutate.carts.op
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: {service: {name: op-webhook, namespace: shop, path: /mutate-carts}}
    rules: [{operations: [CREATE], apiGroups: [shop.example.com], apiVersions: [v1], resources: [carts]}]
";

pub const CONVERTED: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {plural: carts, singular: cart, kind: Cart, listKind: CartList}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {name: op-webhook, namespace: shop, path: /convert}}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
    - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
";

/// A clock that follows tokio's, and can be set forward.
#[derive(Clone, Debug)]
pub struct Time {
    start: Instant,
    epoch: Duration,
    ahead: Arc<Mutex<Duration>>,
}

impl Time {
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            epoch: Duration::from_secs(1_800_000_000),
            ahead: Arc::default(),
        }
    }

    /// The time of the system.
    pub fn real() -> Self {
        let since_epoch = SystemTime::UNIX_EPOCH.elapsed().unwrap();
        Self {
            start: Instant::now(),
            epoch: since_epoch,
            ahead: Arc::default(),
        }
    }

    pub fn advance(&self, by: Duration) {
        *self.ahead.lock().unwrap() += by;
    }

    pub fn now(&self) -> Duration {
        let ahead = *self.ahead.lock().unwrap();
        self.epoch + self.start.elapsed() + ahead
    }

    pub fn clock(&self) -> Clock {
        let time = self.clone();
        Arc::new(move || SystemTime::UNIX_EPOCH + time.now())
    }
}

impl TimeProvider for Time {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(self.now()))
    }
}

/// A server with a namespace.
pub async fn server() -> Server {
    let server = Server::in_memory();
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}";
    server.install(namespace).await.unwrap();
    server
}

/// A server with all configurations.
pub async fn installed() -> Server {
    let server = server().await;
    for object in [VALIDATING, MUTATING, CONVERTED] {
        server.install(object).await.unwrap();
    }
    server
}

pub fn config(client: Client, clock: Clock) -> ManagedConfig {
    ManagedConfig {
        client,
        namespace: NAMESPACE.into(),
        operator: "op".into(),
        crds: vec![CRD.into()],
        url: None,
        hosts: vec![],
        lifetimes: Lifetimes::default(),
        clock,
    }
}

pub async fn object(client: &Client, plural: &str, name: &str) -> Value {
    let group = match plural {
        "customresourcedefinitions" => "apiextensions.k8s.io",
        _ => "admissionregistration.k8s.io",
    };
    let path = format!("/apis/{group}/v1/{plural}/{name}");
    let request = http::Request::get(path).body(vec![]).unwrap();
    client.request(request).await.unwrap()
}

/// The bundle of the first webhook, or of the conversion.
pub async fn bundle(server: &Server, plural: &str, name: &str) -> Vec<u8> {
    let object = object(&server.client(), plural, name).await;
    let places = [
        "/webhooks/0/clientConfig",
        "/spec/conversion/webhook/clientConfig",
    ];
    let config = places
        .iter()
        .find_map(|place| object.pointer(place))
        .unwrap();
    let bytes: ByteString = serde_json::from_value(config["caBundle"].clone()).unwrap();
    bytes.0
}

pub async fn all_bundles(server: &Server) -> [Vec<u8>; 3] {
    [
        bundle(server, "validatingwebhookconfigurations", "op").await,
        bundle(server, "mutatingwebhookconfigurations", "op").await,
        bundle(server, "customresourcedefinitions", CRD).await,
    ]
}

pub fn secrets(server: &Server) -> Api<Secret> {
    Api::namespaced(server.client(), NAMESPACE)
}

pub async fn secret(server: &Server) -> Secret {
    secrets(server).get("op-webhook").await.unwrap()
}

pub async fn entry(server: &Server, name: &str) -> Vec<u8> {
    secret(server).await.data.unwrap()[name].0.clone()
}

pub async fn delete(server: &Server) {
    let params = DeleteParams::default();
    let deleted = secrets(server).delete("op-webhook", &params).await;
    deleted.unwrap();
}

/// Changes entries of the Secret; `None` removes one. The Secret gets the type `Opaque`, which requires no entries.
pub async fn tamper(server: &Server, entries: &[(&str, Option<&[u8]>)]) {
    let mut secret = secret(server).await;
    let data = secret.data.get_or_insert_default();
    for (name, text) in entries {
        match text {
            Some(text) => data.insert((*name).to_owned(), ByteString(text.to_vec())),
            None => data.remove(*name),
        };
    }
    secret.type_ = Some("Opaque".into());
    secret.metadata.resource_version = None;
    delete(server).await;
    let params = PostParams::default();
    secrets(server).create(&params, &secret).await.unwrap();
}

/// The requests that write the Secret or a configuration.
pub fn writes(server: &Server) -> usize {
    let requests = server.requests();
    requests
        .iter()
        .filter(|request| request.verb != "get")
        .count()
}
