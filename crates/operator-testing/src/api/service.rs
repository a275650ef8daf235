//! The server as a [`tower::Service`]: HTTP in, HTTP out.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::request::Call;
use super::status::Failure;
use super::watch::Tick;
use super::{Reply, State};

/// The body of a response.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A [Kubernetes API server] in memory. Clones are the same server.
///
/// It is a [`tower::Service`] for `http` requests: put it behind a `kube::Client`, or serve it over HTTP as `examples/serve.rs` does.
///
/// [Kubernetes API server]: https://kubernetes.io/docs/reference/using-api/api-concepts/
#[derive(Clone)]
pub struct ApiServer {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: watch::Sender<Tick>,
}

impl ApiServer {
    /// A server with the namespaces that every cluster has, and nothing else.
    pub fn new() -> Self {
        let state = Mutex::new(State::new());
        Self {
            shared: Arc::new(Shared {
                state,
                changed: watch::Sender::new(Tick::default()),
            }),
        }
    }

    /// Ends every watch, as a server does that goes away. Clients go on from where they were.
    pub fn drop_watches(&self) {
        self.shared.changed.send_modify(|tick| tick.epoch += 1);
    }

    /// Ends every watch and forgets all changes, as etcd's compaction does: whoever goes on from where it was gets `410 Gone`.
    pub fn expire_watches(&self) {
        self.state().store.compact();
        self.drop_watches();
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn ticks(&self) -> watch::Receiver<Tick> {
        self.shared.changed.subscribe()
    }

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
        let call = Call::read(&parts, body);
        let form = match Form::read(&call.accept) {
            Ok(form) => form,
            Err(failure) => return failed(&failure),
        };
        let (reply, version) = {
            let mut state = self.state();
            let reply = state.serve(&call);
            (reply, state.store.version())
        };
        self.shared.changed.send_if_modified(|tick| {
            let is_new = tick.version != version;
            tick.version = version;
            is_new
        });
        let mut response = match reply {
            Ok(Reply::Object { code, object }) => respond(code, &form.show(object)),
            Ok(Reply::Text(text)) => text_response(text, 200),
            Ok(Reply::Watch(subscription)) => {
                let lines = subscription.stream(self, form);
                stream_response(lines)
            }
            Err(failure) => failed(&failure),
        };
        for warning in call.warnings.take() {
            let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
            if let Ok(value) = HeaderValue::try_from(format!("299 - \"{quoted}\"")) {
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

/// How much of an object the client wants to see.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Form {
    Whole,
    /// [Metadata only](https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches).
    Metadata,
}

impl Form {
    fn read(accept: &str) -> Result<Self, Failure> {
        let mut refused = None;
        for range in accept
            .split(',')
            .map(str::trim)
            .filter(|range| !range.is_empty())
        {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let as_ = parts.find_map(|part| part.strip_prefix("as="));
            match (media, as_) {
                ("application/json" | "*/*" | "application/*" | "text/plain", None) => {
                    return Ok(Self::Whole);
                }
                (
                    "application/json",
                    Some("PartialObjectMetadata" | "PartialObjectMetadataList"),
                ) => return Ok(Self::Metadata),
                _ => refused = refused.or(Some(range)),
            }
        }
        refused.map_or(Ok(Self::Whole), |_| Err(Failure::not_acceptable()))
    }

    /// The object, or list of objects, in this form.
    pub(super) fn show(self, object: Value) -> Value {
        let is_status = object["kind"] == "Status" && object["apiVersion"] == "v1";
        if self == Self::Whole || is_status {
            return object;
        }
        let partial = |object: &Value| {
            json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": object["metadata"],
            })
        };
        match object["items"].as_array() {
            Some(items) => {
                let mut metadata = object["metadata"].clone();
                if let (true, Some(fields)) = (metadata["continue"] == "", metadata.as_object_mut())
                {
                    fields.shift_remove("continue");
                }
                json!({
                    "kind": "PartialObjectMetadataList",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": metadata,
                    "items": items.iter().map(partial).collect::<Vec<_>>(),
                })
            }
            None => partial(&object),
        }
    }
}

fn failed(failure: &Failure) -> Response<Body> {
    match failure.is_text {
        true => text_response(failure.message.clone(), failure.code),
        false => respond(failure.code, &failure.to_json()),
    }
}

fn respond(code: u16, value: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(format!("{value}\n"))).boxed_unsync();
    with_type(body, code, "application/json")
}

fn text_response(text: impl Into<Bytes>, code: u16) -> Response<Body> {
    with_type(Full::new(text.into()).boxed_unsync(), code, "text/plain")
}

fn stream_response(lines: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let frames = lines.map(|line| Ok(Frame::data(line)));
    with_type(
        StreamBody::new(frames).boxed_unsync(),
        200,
        "application/json",
    )
}

fn with_type(body: Body, code: u16, media: &'static str) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::OK);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    response
}
