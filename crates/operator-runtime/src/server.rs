//! `/healthz`, `/readyz` and `/metrics` over HTTP.

use std::{
    convert::Infallible,
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, CONTENT_TYPE},
};
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};

use crate::{
    error::Fatal,
    health::Health,
    metrics::Metrics,
    probe::{Probes, problems},
};

/// The registered media type of the OpenMetrics text format.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

/// How long the header of the next request may take before the connection is closed.
const HEADER_TIMEOUT: Duration = Duration::from_secs(120);

/// The path of the metrics.
pub(crate) const METRICS: &str = "/metrics";

/// The status code, the media type and the text of a response.
pub(crate) type Answer = (StatusCode, &'static str, String);

/// Listens on an address. `0.0.0.0` includes all IPv6 addresses, because in some clusters pods have no others.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, Fatal> {
    if address.ip() == Ipv4Addr::UNSPECIFIED
        && let Ok(listener) = TcpListener::bind((Ipv6Addr::UNSPECIFIED, address.port())).await
        && let Ok(bound) = listener.local_addr()
    {
        // succeeds if the IPv6 socket does not accept connections over IPv4
        let other = TcpListener::bind((Ipv4Addr::UNSPECIFIED, bound.port())).await;
        if other.is_err() {
            return Ok(listener);
        }
    }
    TcpListener::bind(address)
        .await
        .map_err(|source| Fatal::Listen { address, source })
}

/// The pages that are served.
pub(crate) struct Pages {
    pub health: Arc<Health>,
    pub probes: Probes,
    /// `None` if the metrics are served only to clients with a permission.
    pub metrics: Option<Arc<Metrics>>,
}

/// Serves until it is dropped, which closes its connections.
pub(crate) async fn serve(listener: TcpListener, pages: Pages) -> Infallible {
    let http = http(HEADER_TIMEOUT);
    let pages = Arc::new(pages);
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            stream = accept(&listener) => stream,
            Some(_) = connections.join_next() => continue,
        };
        let pages = pages.clone();
        let service = service_fn(move |request: Request<_>| {
            let pages = pages.clone();
            async move {
                let answer = pages.page(request.uri().path()).await;
                Ok::<_, Infallible>(respond(request.method(), answer))
            }
        });
        // errors are ignored: usually, the client has closed the connection
        connections.spawn(http.serve_connection(TokioIo::new(stream), service));
    }
}

/// The HTTP/1.1 protocol; it closes a connection on which no request header arrives for this long.
pub(crate) fn http(header_timeout: Duration) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(header_timeout);
    http
}

/// Accepts the next connection.
pub(crate) async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if is_client_error(&error) => {}
            // for example, too many files are open: waits until some are closed
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
    }
}

/// Whether only one connection has failed, so that the next one can be accepted at once.
fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

impl Pages {
    async fn page(&self, path: &str) -> Answer {
        let Self {
            health,
            probes,
            metrics,
        } = self;
        match (path, metrics) {
            ("/healthz", _) => match health.unhealthy() {
                None => answer_of(problems(&probes.liveness).await),
                problem => answer_of(problem),
            },
            ("/readyz", _) => match health.unready() {
                None => match (problems(&probes.readiness).await, health.paused()) {
                    (None, Some(reason)) => (StatusCode::OK, TEXT, reason),
                    (problem, _) => answer_of(problem),
                },
                problem => answer_of(problem),
            },
            (METRICS, Some(metrics)) => metrics_page(metrics),
            _ => (StatusCode::NOT_FOUND, TEXT, String::new()),
        }
    }
}

/// The page of the metrics.
pub(crate) fn metrics_page(metrics: &Metrics) -> Answer {
    match metrics.page() {
        Ok(page) => (StatusCode::OK, OPEN_METRICS, page),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, TEXT, error.to_string()),
    }
}

/// The answer of a probe: `ok`, or 503 with the problem.
fn answer_of(problem: Option<String>) -> Answer {
    match problem {
        None => (StatusCode::OK, TEXT, "ok".into()),
        Some(problem) => (StatusCode::SERVICE_UNAVAILABLE, TEXT, problem),
    }
}

/// The response to a request for a page, which may only be read.
pub(crate) fn respond(method: &Method, answer: Answer) -> Response<Full<Bytes>> {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    if is_read || answer.0 == StatusCode::NOT_FOUND {
        return written(answer);
    }
    let mut response = written((StatusCode::METHOD_NOT_ALLOWED, TEXT, String::new()));
    let allowed = HeaderValue::from_static("GET, HEAD");
    response.headers_mut().insert(ALLOW, allowed);
    response
}

/// Writes the answer as a response.
pub(crate) fn written((code, media, text): Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_addresses_are_those_of_both_protocols() {
        let listener = listen((Ipv4Addr::UNSPECIFIED, 0).into()).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .unwrap();
        // a system without IPv6 has no such address
        if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.is_ok() {
            TcpStream::connect((Ipv6Addr::LOCALHOST, port))
                .await
                .unwrap();
        }
    }

    #[tokio::test]
    async fn an_address_in_use_is_an_error() {
        let other = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
        let error = listen(other.local_addr().unwrap()).await.unwrap_err();
        assert!(error.to_string().contains("0.0.0.0"), "{error}");
    }
}
