//! A server with configurations, replicas that share its Secret, a clock that tests set forward, and TLS clients.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use operator_testing::Server;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex},
    task::JoinHandle,
    time::Instant,
};
use tokio_rustls::{
    TlsAcceptor, TlsConnector,
    rustls::{
        ClientConfig, RootCertStore, ServerConfig, crypto,
        pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
        time_provider::TimeProvider,
    },
};
use tracing::{level_filters::LevelFilter, subscriber::DefaultGuard};

use super::super::{Certificates, Clock, Lifetimes, ManagedConfig};

pub const NAMESPACE: &str = "shop";
pub const HOST: &str = "op-webhook.shop.svc";
pub const CRD: &str = "carts.shop.example.com";

/// How long a test lets replicas run, which is longer than two polls and the first pauses.
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

/// A running replica; it ends when it is dropped.
pub struct Replica {
    pub tls: Arc<ServerConfig>,
    pub loaded: tokio::sync::watch::Receiver<bool>,
    pub expiry: tokio::sync::watch::Receiver<Option<i64>>,
    task: JoinHandle<()>,
}

impl Replica {
    pub fn start(certificates: Certificates) -> Self {
        let tls = certificates.server_config();
        let (loaded, expiry) = (certificates.loaded(), certificates.expiry());
        let task = tokio::spawn(async move {
            certificates.run().await;
        });
        Self {
            tls,
            loaded,
            expiry,
            task,
        }
    }

    pub fn managed(client: Client, time: &Time) -> Self {
        Self::start(Certificates::managed(config(client, time.clock())).unwrap())
    }

    /// A handshake of a client that trusts this bundle. Returns the certificate of the server.
    pub async fn connect(
        &self,
        bundle: &[u8],
        host: &str,
        time: &Time,
    ) -> io::Result<CertificateDer<'static>> {
        let (near, far) = duplex(16 * 1024);
        let acceptor = TlsAcceptor::from(self.tls.clone());
        let serving = tokio::spawn(async move { echo(acceptor, far).await });
        let answer = call(near, bundle, host, time).await;
        let _ends_with_the_client = serving.await;
        answer
    }

    /// As an API server connects.
    pub async fn connect_as(&self, server: &Server, time: &Time) -> CertificateDer<'static> {
        let bundle = bundle(server, "validatingwebhookconfigurations", "op").await;
        self.connect(&bundle, HOST, time).await.unwrap()
    }
}

/// Two replicas that poll at different times.
pub async fn two_replicas(server: &Server, time: &Time) -> [Replica; 2] {
    let first = Replica::managed(server.client(), time);
    tokio::time::sleep(Duration::from_secs(11)).await;
    let second = Replica::managed(server.client(), time);
    tokio::time::sleep(A_WHILE).await;
    [first, second]
}

/// Connects to all replicas for seven minutes, more often at first. This is longer than it takes to replace an authority.
pub async fn connect_for_a_while(server: &Server, replicas: &[Replica], time: &Time) {
    let seconds = [4; 10].into_iter().chain([30; 13]);
    for seconds in seconds {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        for replica in replicas {
            replica.connect_as(server, time).await;
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers one byte of a client.
pub async fn echo(
    acceptor: TlsAcceptor,
    stream: impl AsyncRead + AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let byte = stream.read_u8().await?;
    stream.write_u8(byte).await?;
    stream.shutdown().await
}

/// Sends a byte and awaits the answer. Returns the certificate of the server.
pub async fn call(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    bundle: &[u8],
    host: &str,
    time: &Time,
) -> io::Result<CertificateDer<'static>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_details(provider, Arc::new(time.clone()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let host = ServerName::try_from(host.to_owned()).unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(host, stream).await?;
    stream.write_u8(7).await?;
    assert_eq!(stream.read_u8().await?, 7);
    let certificates = stream.get_ref().1.peer_certificates().unwrap();
    Ok(certificates[0].clone().into_owned())
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

/// Changes entries of the Secret; `None` removes one. It becomes one of any type, which may lack entries.
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
    let writes = requests.iter().filter(|request| request.verb != "get");
    writes.count()
}

/// What is logged on this thread, at all levels.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub fn capture() -> (Self, DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::TRACE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    /// What the operator logged.
    pub fn own(&self) -> String {
        let text = self.text();
        let own = text
            .lines()
            .filter(|line| line.contains("operator_runtime"));
        own.flat_map(|line| [line, "\n"]).collect()
    }

    pub fn text(&self) -> String {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8(text.clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
