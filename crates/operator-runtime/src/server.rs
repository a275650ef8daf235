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
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{sleep, timeout},
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

/// The maximum number of open connections; further ones wait. All together take less than 10 MiB if they are idle.
const CONNECTIONS: usize = 512;

/// How long a client may take for the header of its request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection may take, with its request and the response.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

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
    let http = http();
    let pages = Arc::new(pages);
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let (stream, permit) = tokio::select! {
            accepted = accept(&listener, &permits) => accepted,
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
        let connection = http.serve_connection(TokioIo::new(stream), service);
        connections.spawn(async move {
            let _permit = permit;
            // errors are ignored: usually, the client has closed the connection
            let _ = timeout(CONNECTION_TIMEOUT, connection).await;
        });
    }
}

/// The HTTP/1.1 protocol with one request for each connection, so that those of unknown clients end soon.
pub(crate) fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .keep_alive(false);
    http
}

/// Accepts the next connection when there is a permit for it.
pub(crate) async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> (TcpStream, OwnedSemaphorePermit) {
    let permit = permits.clone().acquire_owned().await;
    let permit = permit.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, permit),
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
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        sync::watch,
    };

    use super::*;
    use crate::engine::progress::Progress;

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
    async fn connections_are_limited_and_idle_ones_are_closed() {
        let metrics = Arc::new(Metrics::new("test", "test"));
        let progress = Progress::new(Duration::from_secs(10), metrics);
        let works = watch::channel(false).0;
        let pages = Pages {
            health: Health::new(progress, Duration::from_secs(15), works),
            probes: Probes::default(),
            metrics: None,
        };
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { match serve(listener, pages).await {} });
        let mut idle = vec![];
        for _ in 0..CONNECTIONS {
            idle.push(TcpStream::connect(address).await.unwrap());
        }
        let mut client = TcpStream::connect(address).await.unwrap();
        client
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
            .await
            .unwrap();
        let mut response = String::new();
        let answered = timeout(
            Duration::from_millis(300),
            client.read_to_string(&mut response),
        );
        answered
            .await
            .expect_err("more connections than are allowed");
        // from now on, the test skips the time in which nothing happens: until the idle connections are closed
        tokio::time::pause();
        client.read_to_string(&mut response).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
    }

    #[tokio::test]
    async fn an_address_in_use_is_an_error() {
        let other = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
        let error = listen(other.local_addr().unwrap()).await.unwrap_err();
        assert!(error.to_string().contains("0.0.0.0"), "{error}");
    }
}
