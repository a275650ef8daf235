//! Traces (feature `otel`): exports a span for each reconciliation, and one for each of its requests, by
//! [OTLP](https://opentelemetry.io/docs/specs/otlp/) over HTTP. The standard environment variables of OpenTelemetry configure it; without
//! an endpoint, nothing is exported.
//!
//! The attributes are set on the spans of OpenTelemetry only, so that the lines of the log stay as they are.

use std::{
    env,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use kube::{
    Client, Resource,
    client::Body,
    runtime::reflector::{Lookup, ObjectRef},
};
use opentelemetry::trace::{Status, TracerProvider};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::{Resource as Origin, trace::SdkTracerProvider};
use tokio::{runtime::Handle, task::spawn_blocking, time::timeout};
use tracing::{Level, Span, Subscriber, debug_span, warn};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::{Layer, filter::Targets, registry::LookupSpan};

use crate::{
    engine::identity::Identity,
    error::{Error, Fatal},
};

/// The default timeout of OTLP exporters, according to the specification of OpenTelemetry.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum size of a collector's response, in bytes.
const MAX_ANSWER: usize = 1 << 20;

/// The exporter of this process, if there is one.
static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

/// The tracing layer that exports spans; `None` if no endpoint is set, or the environment turns the export off.
pub(crate) fn layer<S>(operator: &str) -> Result<Option<impl Layer<S> + use<S>>, Fatal>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let is = |name, value: &str| variable(name).is_some_and(|set| set.eq_ignore_ascii_case(value));
    if is("OTEL_SDK_DISABLED", "true")
        || is("OTEL_TRACES_EXPORTER", "none")
        || of_traces("ENDPOINT").is_none()
    {
        return Ok(None);
    }
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Collector::default())
        .build()
        .map_err(|error| Fatal::Traces(error.to_string()))?;
    // by default, the service has the name of the operator
    let named = variable("OTEL_SERVICE_NAME").is_some()
        || variable("OTEL_RESOURCE_ATTRIBUTES")
            .is_some_and(|attributes| attributes.contains("service.name="));
    let origin = if named {
        Origin::builder()
    } else {
        Origin::builder().with_service_name(operator.to_owned())
    };
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(origin.build())
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("operator-runtime"))
        .with_location(false)
        .with_threads(false);
    // kube has spans of its own around a reconciliation; those of a request are below the level.
    let spans = Targets::new()
        .with_default(Level::INFO)
        .with_target("kube", tracing::level_filters::LevelFilter::OFF)
        .with_target(module_path!(), Level::DEBUG);
    PROVIDER.get_or_init(|| provider);
    Ok(Some(layer.with_filter(spans)))
}

/// Exports the spans that have ended.
pub(crate) async fn flush() {
    let Some(provider) = PROVIDER.get() else {
        return;
    };
    // `force_flush` blocks this thread until the response, which a task of this runtime reads
    let flushed = spawn_blocking(|| provider.force_flush()).await;
    if let Ok(Err(error)) = flushed {
        warn!("the last traces were not exported: {error}");
    }
}

/// Adds the attributes of a reconciliation to its span.
pub(crate) fn describe<K>(span: &Span, controller: &Identity, object: &ObjectRef<K>, attempt: u32)
where
    K: Resource<DynamicType = ()> + Lookup<DynamicType = ()>,
{
    let kind = &controller.kind;
    span.set_attribute("controller", controller.name.clone());
    span.set_attribute("k8s.object.kind", kind.kind.clone());
    span.set_attribute("k8s.object.group", kind.group.clone());
    span.set_attribute("k8s.object.name", object.name.clone());
    if let Some(namespace) = &object.namespace {
        span.set_attribute("k8s.namespace.name", namespace.clone());
    }
    span.set_attribute("reconcile.attempt", i64::from(attempt));
}

/// Marks the span of a reconciliation that failed.
pub(crate) fn failed(error: &Error) {
    Span::current().set_status(Status::error(error.to_string()));
}

/// A span for a request that is made within another span, such as that of a reconciliation; otherwise none.
pub(crate) fn request(request: &Request<Body>) -> Span {
    if Span::current().is_none() {
        return Span::none();
    }
    let method = request.method().as_str();
    let span = debug_span!("request", otel.name = method, otel.kind = "client");
    if !span.is_disabled() {
        span.set_attribute("http.request.method", method.to_owned());
        span.set_attribute("url.path", request.uri().path().to_owned());
    }
    span
}

/// Adds the answer to the span of its request; `None` if there was none.
pub(crate) fn answered(span: &Span, code: Option<StatusCode>) {
    match code {
        Some(code) => {
            span.set_attribute("http.response.status_code", i64::from(code.as_u16()));
            if code.is_client_error() || code.is_server_error() {
                span.set_attribute("error.type", code.as_str().to_owned());
                span.set_status(Status::error(""));
            }
        }
        None => {
            span.set_attribute("error.type", "no_answer");
            span.set_status(Status::error("no answer"));
        }
    }
}

/// An environment variable that is not empty.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// A setting of the exporter of traces, or of all exporters.
fn of_traces(setting: &str) -> Option<String> {
    variable(&format!("OTEL_EXPORTER_OTLP_TRACES_{setting}"))
        .or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{setting}")))
}

/// The HTTP client of the exporter: that of kube, so that a program needs no second one.
#[derive(Clone)]
struct Collector {
    // The exporter runs in a thread of its own, which has no runtime.
    runtime: Handle,
    client: Arc<OnceLock<Client>>,
    timeout: Duration,
}

impl Default for Collector {
    fn default() -> Self {
        let timeout = of_traces("TIMEOUT").and_then(|millis| millis.parse().ok());
        Self {
            runtime: Handle::current(),
            client: Arc::default(),
            timeout: timeout.map_or(EXPORT_TIMEOUT, Duration::from_millis),
        }
    }
}

impl std::fmt::Debug for Collector {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Collector")
    }
}

impl Collector {
    /// Sends the request with a client for its server, which the first request creates.
    async fn send(self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (mut parts, body) = request.into_parts();
        let client = match self.client.get() {
            Some(client) => client,
            None => {
                let mut server = parts.uri.clone().into_parts();
                server.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
                let config = kube::Config::new(Uri::from_parts(server)?);
                let client = Client::try_from(config)?;
                self.client.get_or_init(|| client)
            }
        };
        // The client adds the server to the path.
        let path = parts.uri.path_and_query().cloned();
        parts.uri = path.map_or_else(Uri::default, Uri::from);
        let request = Request::from_parts(parts, Body::from(body.to_vec()));
        let (parts, body) = client.send(request).await?.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await?.to_bytes();
        Ok(Response::from_parts(parts, body))
    }
}

impl HttpClient for Collector {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Request<Bytes>,
    ) -> BoxFuture<'b, Result<Response<Bytes>, HttpError>>
    where
        'a: 'b,
        Self: 'b,
    {
        let collector = self.clone();
        let sent = self
            .runtime
            .spawn(async move { timeout(collector.timeout, collector.send(request)).await });
        Box::pin(async move { sent.await?? })
    }
}
