//! The server of a test: in memory, or a real one if the environment selects it.

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures::future::BoxFuture;
use kube::Client;
use kube::client::ClientBuilder;

use crate::fault::Faults;
use crate::real::Real;
use crate::request_log::Record;
use crate::{Error, Outcomes, Request, Result, WebhookRegistration, lock, watchdog};
use operator_apiserver::ApiServer;

/// A Kubernetes API server for one test.
///
/// It runs in memory by default. The environment variable `OPERATOR_TEST_SERVER` selects a real server for the same test:
/// - `assets` starts etcd, kube-apiserver and kube-controller-manager from the folder `KUBEBUILDER_ASSETS`, for this test only;
///   `OPERATOR_TEST_CONTROLLERS` may name the controllers to run, as the flag `--controllers` of kube-controller-manager does;
/// - `kubeconfig` uses the current context (and prints it), with a new namespace, and deletes what the test created.
///
/// `KUBECONFIG` alone has no effect.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::{Api, api::PostParams};
/// use operator_testing::{Server, sample};
///
/// let server = Server::in_memory();
/// server.install("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}").await?;
/// let greeting: ConfigMap = sample("{metadata: {name: greeting}}")?;
/// let config_maps: Api<ConfigMap> = Api::namespaced(server.client(), "shop");
/// config_maps.create(&PostParams::default(), &greeting).await?;
///
/// // a service account has no permissions before a role grants them
/// let account = server.client_as("system:serviceaccount:shop:clerk");
/// let config_maps: Api<ConfigMap> = Api::namespaced(account, "shop");
/// assert!(config_maps.get("greeting").await.is_err());
/// assert_eq!(server.requests().last().map(|request| request.code), Some(403));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    backend: Backend,
    record: Record,
    namespace: String,
    /// Why an operator of [`Server::run`] ended.
    ended: Arc<Mutex<Option<String>>>,
    outcomes: Outcomes,
}

enum Backend {
    Memory(ApiServer),
    Real(Arc<Real>),
}

impl Server {
    /// Starts the server that `OPERATOR_TEST_SERVER` selects. Fails if a real server cannot be started or reached.
    pub async fn start() -> Result<Self> {
        Self::start_selected_boxed().await
    }

    /// Boxed, so that the code for a real server is compiled in this crate and not in each test.
    fn start_selected_boxed() -> BoxFuture<'static, Result<Self>> {
        Box::pin(Self::start_selected())
    }

    async fn start_selected() -> Result<Self> {
        match std::env::var("OPERATOR_TEST_SERVER")
            .unwrap_or_default()
            .as_str()
        {
            "" | "memory" => Ok(Self::in_memory()),
            "assets" => Ok(Self::from_real(Real::from_assets("").await?)),
            "kubeconfig" => Ok(Self::from_real(Real::from_kubeconfig().await?)),
            other => Err(Error::Mode(other.to_owned())),
        }
    }

    /// Creates a server in memory, regardless of the environment.
    pub fn in_memory() -> Self {
        Self::of(ApiServer::new(), "default")
    }

    /// Enables the controllers of workloads of a server in memory; a real server has its own. See [`ApiServer::with_workloads`].
    #[cfg(feature = "workloads")]
    #[must_use]
    pub fn with_workloads(self, workloads: crate::Workloads) -> Self {
        if let Some(server) = self.service() {
            // Clones share the server, so the returned one is not needed.
            let _same = server.with_workloads(workloads);
        }
        self
    }

    /// Registers the service behind the [admission webhooks] and [conversion webhooks] of a host, for a server in memory; a real server
    /// calls webhooks over the network.
    ///
    /// The host is that of the `url` of a `clientConfig`, with or without its port, or `NAME.NAMESPACE.svc` of its `service`. The service
    /// gets the requests to any path of the host: each is a `POST` with an AdmissionReview or a ConversionReview. An error of the service
    /// counts as a failed connection. The service may send requests to this server.
    ///
    /// Configurations of webhooks are installed as on a cluster. A webhook at an address of this machine needs no registration; it is
    /// called over TLS. A request whose webhook has another unregistered host is answered with `501`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use operator_testing::Server;
    /// use serde_json::{Value, json};
    ///
    /// let server = Server::in_memory();
    /// let deny = tower::service_fn(|request: Request<Bytes>| async move {
    ///     assert_eq!(request.uri().path(), "/config-maps");
    ///     let review: Value = serde_json::from_slice(request.body())?;
    ///     let answer = json!({
    ///         "apiVersion": "admission.k8s.io/v1",
    ///         "kind": "AdmissionReview",
    ///         "response": {
    ///             "uid": review["request"]["uid"],
    ///             "allowed": false,
    ///             "status": {"code": 403, "message": "not today"},
    ///         },
    ///     });
    ///     Ok::<_, serde_json::Error>(Response::new(Bytes::from(answer.to_string())))
    /// });
    /// server.answer_webhooks("judge.courts.svc", deny);
    /// server.install("
    /// apiVersion: admissionregistration.k8s.io/v1
    /// kind: ValidatingWebhookConfiguration
    /// metadata: {name: judge}
    /// webhooks:
    ///   - name: judge.example.com
    ///     admissionReviewVersions: [v1]
    ///     sideEffects: None
    ///     clientConfig: {service: {name: judge, namespace: courts, path: /config-maps}}
    ///     rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}]
    /// ").await?;
    /// let denied = server.install("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}").await;
    /// let message = denied.unwrap_err().to_string();
    /// assert!(message.contains("admission webhook \"judge.example.com\" denied the request: not today"));
    /// # Ok(()) }
    /// ```
    ///
    /// [conversion webhooks]: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion
    /// [admission webhooks]: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
    pub fn answer_webhooks<S>(&self, host: &str, service: S)
    where
        S: tower::Service<http::Request<Bytes>, Response = http::Response<Bytes>>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
        S::Error: Display,
    {
        if let Some(server) = self.service() {
            server.answer_webhooks(host, service);
        }
    }

    /// Returns the registration of the operator's webhooks with this server.
    pub fn webhook_calls(&self) -> WebhookRegistration {
        WebhookRegistration::new(self.service())
    }

    /// A server in memory, with its default namespace.
    pub(crate) fn of(server: ApiServer, namespace: &str) -> Self {
        Self::with(Backend::Memory(server), namespace)
    }

    fn from_real(real: Real) -> Self {
        let namespace = real.namespace().to_owned();
        Self::on(Arc::new(real), &namespace)
    }

    /// A real server, with its own record of requests.
    pub(crate) fn on(real: Arc<Real>, namespace: &str) -> Self {
        Self::with(Backend::Real(real), namespace)
    }

    fn with(backend: Backend, namespace: &str) -> Self {
        let inner = Inner {
            backend,
            record: Record::default(),
            namespace: namespace.to_owned(),
            ended: Arc::default(),
            outcomes: Outcomes::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns a client for the administrator, who has all permissions.
    pub fn client(&self) -> Client {
        self.client_as("")
    }

    /// Returns a client with the permissions of a user, for example `system:serviceaccount:NAMESPACE:NAME`, by [impersonation]. For a
    /// service account, the default namespace of the client is that of the account, as in its pods.
    ///
    /// [impersonation]: https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
    pub fn client_as(&self, user: &str) -> Client {
        let layer = self.inner.record.layer(user);
        let namespace = self.namespace_of(user);
        match &self.inner.backend {
            Backend::Memory(server) => ClientBuilder::new(server.clone(), namespace)
                .with_layer(&layer)
                .build(),
            Backend::Real(real) => real.client(&layer, namespace),
        }
    }

    fn namespace_of<'a>(&'a self, user: &'a str) -> &'a str {
        account_namespace(user).unwrap_or(self.namespace())
    }

    /// A client of a user, with faults in its requests.
    pub(crate) fn faulty_client(&self, user: &str, faults: &Faults) -> Client {
        let namespace = self.namespace_of(user);
        match &self.inner.backend {
            Backend::Memory(server) => ClientBuilder::new(server.clone(), namespace)
                .with_layer(&self.inner.record.layer(user))
                .with_layer(faults)
                .build(),
            Backend::Real(_) => {
                let client = self.client_as(user);
                let send = move |request| {
                    let client = client.clone();
                    async move { client.send(request).await }
                };
                ClientBuilder::new(tower::service_fn(send), namespace)
                    .with_layer(faults)
                    .build()
            }
        }
    }

    /// Runs an operator in the background until the test's runtime ends. If the operator ends earlier, [`eventually`](Self::eventually)
    /// immediately fails with the operator's error. If the operator blocks the thread of the runtime for 30 seconds, the process is
    /// terminated.
    pub fn run<E: Display + Send + 'static>(
        &self,
        operator: impl Future<Output = std::result::Result<(), E>> + Send + 'static,
    ) {
        watchdog::watch();
        let running = tokio::spawn(operator);
        let ended = self.inner.ended.clone();
        tokio::spawn(async move {
            let reason = match running.await {
                Ok(Ok(())) => "it was told to".to_owned(),
                Ok(Err(error)) => format!("{error:#}"),
                Err(panic) => panic.to_string(),
            };
            *lock(&ended) = Some(reason);
        });
    }

    /// Returns the collector of the operator's results of reconciliations, which [`eventually`](Self::eventually) prints if it fails.
    pub fn outcomes(&self) -> Outcomes {
        self.inner.outcomes.clone()
    }

    pub(crate) fn ended(&self) -> MutexGuard<'_, Option<String>> {
        lock(&self.inner.ended)
    }

    /// Takes the reason why an operator ended, because another one replaces it.
    pub(crate) fn forget_end(&self) -> Option<String> {
        self.ended().take()
    }

    /// A client whose requests are not recorded.
    pub(crate) fn own_client(&self) -> Client {
        match &self.inner.backend {
            Backend::Memory(server) => Client::new(server.clone(), self.namespace()),
            Backend::Real(real) => real.own_client(),
        }
    }

    /// The default namespace of the clients.
    pub fn namespace(&self) -> &str {
        &self.inner.namespace
    }

    /// Returns the requests of this server's clients so far, in the order of their responses, without the requests of
    /// [`install`](Self::install).
    pub fn requests(&self) -> Vec<Request> {
        self.inner.record.requests()
    }

    /// Whether the server is a real one, which is slower and runs controllers.
    pub fn is_real(&self) -> bool {
        matches!(self.inner.backend, Backend::Real(_))
    }

    /// Returns the server in memory, for example to serve it to other programs or to end its watches; `None` for a real server.
    pub fn service(&self) -> Option<ApiServer> {
        match &self.inner.backend {
            Backend::Memory(server) => Some(server.clone()),
            Backend::Real(_) => None,
        }
    }

    pub(crate) fn real(&self) -> Option<&Real> {
        match &self.inner.backend {
            Backend::Memory(_) => None,
            Backend::Real(real) => Some(real),
        }
    }
}

/// The namespace of a service account; `None` for other users.
pub(crate) fn account_namespace(user: &str) -> Option<&str> {
    let account = user.strip_prefix("system:serviceaccount:")?;
    Some(account.split_once(':')?.0)
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("is_real", &self.is_real())
            .field("namespace", &self.namespace())
            .finish_non_exhaustive()
    }
}
