//! Serves the webhooks over TLS, by HTTP/2 and HTTP/1.1.

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig, server::TlsStream};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::router::{MAX_BODY, Router, text, too_large};

/// The most open connections; others wait. API servers share a connection for all their requests.
const CONNECTIONS: usize = 256;

/// The most requests in flight on a connection.
const STREAMS: u32 = 128;

/// How long a client may take for its side of the TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a client of HTTP/1.1 may take for the header of its next request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a client may take for the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a silent connection of HTTP/2 is checked.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Serves until `closing` is cancelled, then finishes the requests in flight, and returns. Dropping it closes all connections.
pub(super) async fn serve(
    listener: TcpListener,
    config: Arc<ServerConfig>,
    router: Arc<Router>,
    closing: CancellationToken,
) {
    let acceptor = TlsAcceptor::from(config);
    let graceful = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let accept = async {
            let permit = permits.clone().acquire_owned().await;
            let permit = permit.expect("the semaphore is never closed");
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            accepted = accept => accepted,
            Some(_) = connections.join_next() => continue,
            () = closing.cancelled() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Too many files may be open: some will be closed.
                debug!(%error, "cannot accept a connection");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (acceptor, router) = (acceptor.clone(), router.clone());
        let (watcher, closing) = (graceful.watcher(), closing.clone());
        connections.spawn(async move {
            let _permit = permit;
            let handshake = tokio::select! {
                handshake = handshake(acceptor, stream) => handshake,
                () = closing.cancelled() => return,
            };
            match handshake {
                Ok(stream) => connection(stream, router, watcher).await,
                Err(error) => debug!(%error, "the TLS handshake failed"),
            }
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

async fn handshake(acceptor: TlsAcceptor, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    stream.set_nodelay(true)?;
    timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await?
}

/// Serves a connection until it ends, or until its requests are finished after a shutdown.
async fn connection(
    stream: TlsStream<TcpStream>,
    router: Arc<Router>,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE);
    // As negotiated, not as the first bytes look: a silent client would not be disconnected.
    let http = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => http.http2_only(),
        _ => http.http1_only(),
    };
    let service = service_fn(move |request: Request<Incoming>| {
        let router = router.clone();
        async move { Ok::<_, Infallible>(respond(&router, request).await.map(Full::new)) }
    });
    let connection = http.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(connection).await {
        debug!(error, "a connection failed");
    }
}

async fn respond(router: &Router, request: Request<Incoming>) -> Response<Bytes> {
    let (parts, body) = request.into_parts();
    let body = timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY).collect()).await;
    match body {
        Ok(Ok(body)) => {
            router
                .respond(Request::from_parts(parts, body.to_bytes()))
                .await
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => too_large(),
        Ok(Err(error)) => text(StatusCode::BAD_REQUEST, error.to_string()),
        Err(_) => text(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
    }
}
