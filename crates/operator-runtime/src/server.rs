//! `/healthz`, `/readyz` and `/metrics` over HTTP.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, CONTENT_TYPE},
};
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, task::JoinSet, time::sleep};

use crate::{
    error::Fatal,
    health::Health,
    metrics::Metrics,
    probe::{Probes, problems},
};

/// The registered media type of the OpenMetrics text format.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// How long the header of the next request may take before the connection is closed.
const HEADER_TIMEOUT: Duration = Duration::from_secs(120);

type Answer = (StatusCode, &'static str, String);

pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, Fatal> {
    TcpListener::bind(address)
        .await
        .map_err(|source| Fatal::Listen { address, source })
}

/// Serves until it is dropped, which closes its connections.
pub(crate) async fn serve(
    listener: TcpListener,
    health: Arc<Health>,
    probes: Arc<Probes>,
    metrics: Arc<Metrics>,
) -> Infallible {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Where it was not the client that went, too many files may be open: some will be closed.
                if !is_client_error(&error) {
                    sleep(Duration::from_secs(1)).await;
                }
                continue;
            }
        };
        let (health, probes, metrics) = (health.clone(), probes.clone(), metrics.clone());
        let service = service_fn(move |request: Request<_>| {
            let (health, probes, metrics) = (health.clone(), probes.clone(), metrics.clone());
            async move {
                let answer = page(request.uri().path(), &health, &probes, &metrics).await;
                let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
                let mut response = written(answer);
                if !is_read && response.status() != StatusCode::NOT_FOUND {
                    response = written((StatusCode::METHOD_NOT_ALLOWED, TEXT, String::new()));
                    let allowed = HeaderValue::from_static("GET, HEAD");
                    response.headers_mut().insert(ALLOW, allowed);
                }
                Ok::<_, Infallible>(response)
            }
        });
        // Who closes a connection has read enough.
        connections.spawn(http.serve_connection(TokioIo::new(stream), service));
    }
}

fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

async fn page(path: &str, health: &Health, probes: &Probes, metrics: &Metrics) -> Answer {
    match path {
        "/healthz" => match health.unhealthy() {
            None => answer_of(problems(&probes.liveness).await),
            problem => answer_of(problem),
        },
        "/readyz" => match health.unready() {
            None => match (problems(&probes.readiness).await, health.paused()) {
                (None, Some(reason)) => (StatusCode::OK, TEXT, reason),
                (problem, _) => answer_of(problem),
            },
            problem => answer_of(problem),
        },
        "/metrics" => match metrics.page() {
            Ok(page) => (StatusCode::OK, OPEN_METRICS, page),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, TEXT, error.to_string()),
        },
        _ => (StatusCode::NOT_FOUND, TEXT, String::new()),
    }
}

fn answer_of(problem: Option<String>) -> Answer {
    match problem {
        None => (StatusCode::OK, TEXT, "ok".into()),
        Some(problem) => (StatusCode::SERVICE_UNAVAILABLE, TEXT, problem),
    }
}

fn written((code, media, text): Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}
