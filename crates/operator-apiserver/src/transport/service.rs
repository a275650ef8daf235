//! The server as a [`tower::Service`] for HTTP requests.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;
#[cfg(feature = "workloads")]
use tokio::time::Instant;

use super::cluster::Cluster;
use super::view::{View, view};
use super::watch::{Tick, lines};
use crate::model::{Failure, Key};
use crate::read::Reply;
use crate::request::format::{Format, JSON};
use crate::request::{Call, warning};
use crate::serve::route::{self, Served};
use crate::store::Conversions;
use crate::webhook::address::target;
use crate::webhook::client::{Target, url};
#[cfg(feature = "workloads")]
use crate::workload::Workloads;

/// The body of a response.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A [Kubernetes API server] in memory. Clones are the same server.
///
/// It is a [`tower::Service`] for `http` requests: put it behind a `kube::Client`, or serve it to other programs.
///
/// [Kubernetes API server]: https://kubernetes.io/docs/reference/using-api/api-concepts/
#[derive(Clone)]
pub struct ApiServer {
    shared: Arc<Shared>,
}

/// What the clones of a server share.
struct Shared {
    cluster: Mutex<Cluster>,
    changed: watch::Sender<Tick>,
}

impl ApiServer {
    /// Creates a server with only the initial objects of every cluster, such as its namespaces.
    pub fn new() -> Self {
        Self::of(Cluster::new())
    }

    /// Creates another server, with a copy of the state of this one.
    pub fn fork(&self) -> Self {
        Self::of(self.cluster().clone())
    }

    fn of(cluster: Cluster) -> Self {
        let tick = Tick {
            version: cluster.state.store.version(),
            ..Tick::default()
        };
        Self {
            shared: Arc::new(Shared {
                cluster: Mutex::new(cluster),
                changed: watch::Sender::new(tick),
            }),
        }
    }

    /// Enables the admission plugin [OwnerReferencesPermissionEnforcement], as OpenShift does.
    ///
    /// [OwnerReferencesPermissionEnforcement]: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#ownerreferencespermissionenforcement
    pub fn enforce_owner_references(&self) {
        self.cluster().state.settings.enforces_owner_references = true;
    }

    /// Registers the service that answers the calls to webhooks of a host: that of the `url` of a `clientConfig`, with or without its port,
    /// or `NAME.NAMESPACE.svc` of its `service`. A webhook whose host is neither registered nor an address of this machine is not called: the
    /// request is answered with `501`.
    pub fn answer_webhooks<S>(&self, host: &str, service: S)
    where
        S: tower::Service<Request<Bytes>, Response = Response<Bytes>>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
        S::Error: fmt::Display,
    {
        self.cluster()
            .state
            .settings
            .endpoints
            .insert(host, service);
    }

    /// Registers the address at which the webhooks of a host are called over TLS. The host of a webhook with a Service is
    /// `NAME.NAMESPACE.svc`. The certificate at the address must be for the host, and signed by a CA in `caBundle`.
    pub fn call_webhooks_at(&self, host: &str, address: SocketAddr) {
        self.cluster()
            .state
            .settings
            .endpoints
            .locate(host, address);
    }

    /// Where the webhook of a client configuration is called, if it can be reached from this process.
    pub fn webhook(&self, config: &Value) -> Option<Target> {
        target(
            url(config, 5),
            config,
            &self.cluster().state.settings.endpoints,
        )
    }

    /// Ends all watches, as a server does when it shuts down. Clients can continue from the last resource version that they received.
    pub fn drop_watches(&self) {
        self.shared.changed.send_modify(|tick| tick.epoch += 1);
    }

    /// Ends all watches and discards all changes, like a compaction of etcd: a client that continues from an older resource version gets
    /// `410 Gone`.
    pub fn expire_watches(&self) {
        self.cluster().state.store.compact();
        self.drop_watches();
    }

    /// Enables the workload controllers: Deployments, StatefulSets, DaemonSets, Jobs and CronJobs then create pods, and get the status that
    /// they would have on a cluster. Creates a node for the pods if there is none.
    ///
    /// Controllers finish immediate work before the server answers the request that triggered it. For delayed work, see [`Workloads`]. The
    /// controllers use tokio's clock, which a test can pause and advance. They have no background task: the first request or watch after a
    /// delay does the delayed work.
    #[cfg(feature = "workloads")]
    #[must_use]
    pub fn with_workloads(self, workloads: Workloads) -> Self {
        self.cluster().start_controllers(workloads);
        self.announce();
        self
    }

    /// Does the work that is due, and returns when more work will be due.
    #[cfg(feature = "workloads")]
    pub(crate) fn advance(&self) -> Option<Instant> {
        let due = self.cluster().advance();
        self.announce();
        due
    }

    /// Notifies watches of the newest version of the store.
    pub(crate) fn announce(&self) {
        let version = self.cluster().state.store.version();
        self.shared.changed.send_if_modified(|tick| {
            let is_new = tick.version != version;
            tick.version = version;
            is_new
        });
    }

    /// Returns all objects as they are stored, by `GROUP/PLURAL/NAMESPACE/NAME`.
    pub fn objects(&self) -> BTreeMap<String, Arc<Value>> {
        #[cfg(feature = "workloads")]
        self.advance();
        let cluster = self.cluster();
        let path = |key: &Key| [&*key.group, &*key.plural, &*key.namespace, &*key.name].join("/");
        let objects = cluster.state.store.all();
        objects
            .map(|(key, object)| (path(key), object.clone()))
            .collect()
    }

    pub(crate) fn cluster(&self) -> MutexGuard<'_, Cluster> {
        self.shared
            .cluster
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ticks(&self) -> watch::Receiver<Tick> {
        self.shared.changed.subscribe()
    }

    /// Answers a request: parses it, serves it under the lock, calls webhooks without it, and formats the reply.
    async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: fmt::Display,
    {
        let (parts, body) = request.into_parts();
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => {
                let failure = Failure::bad_request(format!("the body ended early: {error}"));
                return failed(&failure);
            }
        };
        if body.len() > MOST {
            return failed(&Failure::too_large(MOST));
        }
        let call = Call::read(&parts, body);
        #[cfg(feature = "faces")]
        let call = match super::wire::as_json(call) {
            Ok(call) => call,
            Err(failure) => return failed(&failure),
        };
        let mut call = call;
        let format = Format::read(&call);
        let format_shown = *format.as_ref().unwrap_or(&Format::Whole);
        let mut conversions = Conversions::awaited();
        let (served, view) = loop {
            let (result, missing) = self.attempt(&mut conversions, |state| {
                let view = view(&state.registry, format_shown, &call);
                (route::serve(state, &call, format.clone()), view)
            });
            match missing {
                None => break result,
                // boxed, so that the futures of other requests stay small
                Some(missing) => Box::pin(missing.answer(&mut conversions)).await,
            }
        };
        let reply = match served {
            Ok(Served::Answered(reply)) => Ok(reply),
            Ok(Served::AwaitsWebhooks(admission)) => {
                Box::pin(self.admit(&mut call, admission)).await
            }
            Err(failure) => Err(failure),
        };
        let mut response = match reply {
            Ok(Reply::Object { code, object }) => shown(&view, code, object),
            Ok(Reply::List(list)) if view.is_whole() => respond(200, &list, JSON),
            Ok(Reply::List(list)) => shown(&view, 200, list.into_value()),
            Ok(Reply::Text(text)) => text_response(text, 200, view.text_media()),
            Ok(Reply::Watch(subscription)) => {
                let lines = lines(subscription, self, view);
                stream_response(lines)
            }
            Err(failure) => failed(&failure),
        };
        for warning in warning::headers(&call.warnings.take()) {
            if let Ok(value) = HeaderValue::try_from(warning) {
                response.headers_mut().append(header::WARNING, value);
            }
        }
        response
    }
}

impl Default for ApiServer {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").finish_non_exhaustive()
    }
}

impl<B> tower::Service<Request<B>> for ApiServer
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: fmt::Display,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.answer(request).await) })
    }
}

/// The response to an unauthenticated request.
#[cfg(feature = "faces")]
pub fn unauthorized() -> Response<Body> {
    failed(&Failure::unauthorized())
}

/// The maximum size of a request body, in bytes.
const MOST: usize = 3 * 1024 * 1024;

fn failed(failure: &Failure) -> Response<Body> {
    if failure.is_text {
        return text_response(failure.message.clone(), failure.code, "text/plain");
    }
    let status = failure.to_json();
    let mut response = respond(failure.code, &status, JSON);
    if let Some(seconds) = status["details"]["retryAfterSeconds"].as_u64() {
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

fn shown(view: &View, code: u16, object: Value) -> Response<Body> {
    match view.show(object) {
        Ok(object) => respond(code, &object, view.media(&object)),
        Err(failure) => failed(&failure),
    }
}

fn respond(code: u16, value: &impl Serialize, media: &'static str) -> Response<Body> {
    // cannot fail: all keys of a value are strings
    let mut text = serde_json::to_vec(value).unwrap_or_default();
    text.push(b'\n');
    with_type(Full::new(text.into()).boxed_unsync(), code, media)
}

fn text_response(text: impl Into<Bytes>, code: u16, media: &'static str) -> Response<Body> {
    with_type(Full::new(text.into()).boxed_unsync(), code, media)
}

fn stream_response(lines: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let frames = lines.map(|line| Ok(Frame::data(line)));
    with_type(StreamBody::new(frames).boxed_unsync(), 200, JSON)
}

fn with_type(body: Body, code: u16, media: &'static str) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::OK);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    response
}
