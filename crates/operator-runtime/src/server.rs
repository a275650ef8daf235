//! `/healthz`, `/readyz` and `/metrics` over HTTP.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, task::JoinSet, time::sleep};

use crate::{error::Fatal, health::Health, metrics::Metrics};

/// The registered media type of what the metrics are written in.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// A connection that sends nothing for so long is closed.
const SILENCE: Duration = Duration::from_secs(30);

type Answer = (StatusCode, &'static str, String);

pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, Fatal> {
    TcpListener::bind(address)
        .await
        .map_err(|source| Fatal::Listen { address, source })
}

/// Serves until it is dropped, and ends its connections then.
pub(crate) async fn serve(
    listener: TcpListener,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
) -> Infallible {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(SILENCE);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((stream, _)) = accepted else {
            // As where too many files are open: some will be closed.
            sleep(Duration::from_secs(1)).await;
            continue;
        };
        let (health, metrics) = (health.clone(), metrics.clone());
        let service = service_fn(move |request: Request<_>| {
            let answer = match request.method() {
                &Method::GET | &Method::HEAD => page(request.uri().path(), &health, &metrics),
                _ => (StatusCode::METHOD_NOT_ALLOWED, TEXT, String::new()),
            };
            async move { Ok::<_, Infallible>(written(answer)) }
        });
        // Who closes a connection has read enough.
        connections.spawn(http.serve_connection(TokioIo::new(stream), service));
    }
}

fn page(path: &str, health: &Health, metrics: &Metrics) -> Answer {
    match path {
        "/healthz" => told(health.unhealthy()),
        "/readyz" => told(health.unready()),
        "/metrics" => match metrics.page() {
            Ok(page) => (StatusCode::OK, OPEN_METRICS, page),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, TEXT, error.to_string()),
        },
        _ => (StatusCode::NOT_FOUND, TEXT, String::new()),
    }
}

fn told(trouble: Option<String>) -> Answer {
    match trouble {
        None => (StatusCode::OK, TEXT, "ok".into()),
        Some(trouble) => (StatusCode::SERVICE_UNAVAILABLE, TEXT, trouble),
    }
}

fn written((code, media, text): Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}
