//! Serves the webhooks over TLS, by HTTP/2 and HTTP/1.1.

use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{
    body::{Body, Incoming},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
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
use crate::tls::handshake;

/// The maximum number of open connections; others wait. An API server sends all its requests over one connection.
const CONNECTIONS: usize = 256;

/// The maximum number of requests in flight on a connection.
const STREAMS: u32 = 128;

/// How long a client of HTTP/1.1 may take for the header of its next request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a client may take for the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A review is large if it has more bytes than this, or an unknown size.
const LARGE: u64 = 1 << 20;

/// How many large reviews are answered at a time. This limits their memory: everybody in the cluster may send some.
const LARGE_REVIEWS: usize = 2;

/// How often a silent HTTP/2 connection gets a ping, and how long its answer may take.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The maximum age of a connection. API servers then open another one, and no other client keeps a connection for ever.
const CONNECTION_AGE: Duration = Duration::from_secs(600);

/// How long connections are still accepted after the shutdown has begun: clients may have connected before it.
const LAST_CONNECTIONS: Duration = Duration::from_millis(50);

/// How long a client that has connected before the shutdown may take for its first request.
const FIRST_REQUEST: Duration = Duration::from_secs(1);

/// How long the last requests of a connection may take, which is more than API servers wait.
const LAST_REQUESTS: Duration = Duration::from_secs(60);

/// Serves until `closing` is cancelled, then finishes the requests in flight and the requests of clients that have just connected, and
/// returns. Dropping it closes all connections.
pub(super) async fn serve(
    listener: TcpListener,
    config: Arc<ServerConfig>,
    router: Arc<Router>,
    closing: CancellationToken,
) {
    let acceptor = TlsAcceptor::from(config);
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let large = Arc::new(Semaphore::new(LARGE_REVIEWS));
    let mut connections = JoinSet::new();
    let mut end = pin!(async {
        closing.cancelled().await;
        sleep(LAST_CONNECTIONS).await;
    });
    loop {
        let accept = async {
            let permit = permits.clone().acquire_owned().await;
            let permit = permit.expect("the semaphore is never closed");
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            accepted = accept => accepted,
            Some(_) = connections.join_next() => continue,
            () = end.as_mut() => break,
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
        let (acceptor, router, large) = (acceptor.clone(), router.clone(), large.clone());
        let closing = closing.clone();
        connections.spawn(async move {
            let _permit = permit;
            let handshake = tokio::select! {
                handshake = handshake(&acceptor, stream) => handshake,
                () = late(&closing) => return,
            };
            match handshake {
                Ok(stream) => connection(stream, router, large, closing).await,
                Err(error) => debug!(%error, "the TLS handshake failed"),
            }
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Completes when the shutdown has begun, and the time for a first request is over.
async fn late(closing: &CancellationToken) {
    closing.cancelled().await;
    sleep(FIRST_REQUEST).await;
}

/// Serves a connection until it ends. After a shutdown, or when the connection is old, it is closed once its requests are finished.
async fn connection(
    stream: TlsStream<TcpStream>,
    router: Arc<Router>,
    large: Arc<Semaphore>,
    closing: CancellationToken,
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
    // The negotiated protocol, instead of a guess from the first bytes, for which a silent client could make us wait for ever.
    let http = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => http.http2_only(),
        _ => http.http1_only(),
    };
    let begun = CancellationToken::new();
    let first = begun.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        first.cancel();
        let (router, large) = (router.clone(), large.clone());
        async move {
            let response = respond(&router, &large, request).await;
            Ok::<_, Infallible>(response.map(Full::new))
        }
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => Ok(ended),
        () = closing_after_a_request(&closing, &begun) => Err(()),
        () = sleep(CONNECTION_AGE) => Err(()),
    };
    let ended = match ended {
        Ok(ended) => ended,
        Err(()) => {
            connection.as_mut().graceful_shutdown();
            match timeout(LAST_REQUESTS, connection).await {
                Ok(ended) => ended,
                Err(_) => return debug!("a connection did not end"),
            }
        }
    };
    if let Err(error) = ended {
        debug!(error, "a connection failed");
    }
}

/// Completes when the shutdown has begun, and the first request of the connection has begun or the time for it is over.
async fn closing_after_a_request(closing: &CancellationToken, begun: &CancellationToken) {
    closing.cancelled().await;
    tokio::select! {
        () = begun.cancelled() => {}
        () = sleep(FIRST_REQUEST) => {}
    }
}

async fn respond(
    router: &Router,
    large: &Semaphore,
    request: Request<Incoming>,
) -> Response<Bytes> {
    let (parts, body) = request.into_parts();
    let length = body.size_hint();
    if length.lower() > MAX_BODY as u64 {
        return too_large();
    }
    let is_large = length.exact().is_none_or(|length| length > LARGE);
    // kept until the answer, because the decoded review takes more memory than the body
    let _permit = if is_large {
        match timeout(BODY_TIMEOUT, large.acquire()).await {
            Ok(permit) => Some(permit.expect("the semaphore is never closed")),
            Err(_) => return text(StatusCode::TOO_MANY_REQUESTS, "too many large requests"),
        }
    } else {
        None
    };
    let read = async {
        let body = timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY).collect()).await;
        match body {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
            Ok(Err(error)) => Err(text(StatusCode::BAD_REQUEST, error.to_string())),
            Err(_) => Err(text(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
        }
    };
    router.respond(parts, read).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        metrics::Metrics,
        webhook::{Webhooks, registry::Registration},
    };
    use futures::{channel::mpsc, stream};
    use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
    use http_body_util::StreamBody;
    use hyper::{
        body::Frame,
        client::conn::{http1, http2},
    };
    use tokio_rustls::{
        TlsConnector, client,
        rustls::{
            ClientConfig, RootCertStore, crypto,
            pki_types::{PrivateKeyDer, ServerName},
        },
    };

    type Stream = TokioIo<client::TlsStream<TcpStream>>;

    /// A server whose webhook at /review is starting, which answers 503 there and else 404.
    struct Served {
        address: std::net::SocketAddr,
        connector: TlsConnector,
        closing: CancellationToken,
    }

    async fn start(protocol: &str) -> Served {
        let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = signed.cert.der().clone();
        let key = PrivateKeyDer::Pkcs8(signed.signing_key.serialize_der().into());
        let provider = Arc::new(crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let metrics = Metrics::new("test", "test");
        let mut webhooks = Webhooks::new();
        webhooks.registrations.push(Registration {
            paths: vec!["/review".to_owned()],
            start: Box::new(|_| unreachable!("the router is not opened")),
        });
        let router = Arc::new(Router::new(&mut webhooks, &metrics));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let closing = CancellationToken::new();
        tokio::spawn(serve(listener, Arc::new(config), router, closing.clone()));

        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        Served {
            address,
            connector: TlsConnector::from(Arc::new(config)),
            closing,
        }
    }

    async fn handshake(served: &Served, stream: TcpStream) -> Stream {
        let name = ServerName::try_from("localhost").unwrap();
        TokioIo::new(served.connector.connect(name, stream).await.unwrap())
    }

    async fn connect(protocol: &str) -> Stream {
        let served = start(protocol).await;
        let stream = TcpStream::connect(served.address).await.unwrap();
        let stream = handshake(&served, stream).await;
        let negotiated = stream.inner().get_ref().1.alpn_protocol().unwrap();
        assert_eq!(negotiated, protocol.as_bytes());
        stream
    }

    fn request() -> Request<Full<Bytes>> {
        let request = Request::post("https://localhost/nowhere").header("host", "localhost");
        request.body(Full::new(Bytes::from("{}"))).unwrap()
    }

    #[tokio::test]
    async fn clients_that_connected_before_the_end_are_answered() {
        let served = start("http/1.1").await;
        let accepted = TcpStream::connect(served.address).await.unwrap();
        let silent = TcpStream::connect(served.address).await.unwrap();
        let ready = TcpStream::connect(served.address).await.unwrap();
        let ready = handshake(&served, ready).await;
        // the server has no chance to accept this one before the end
        let waiting = std::net::TcpStream::connect(served.address).unwrap();
        served.closing.cancel();
        waiting.set_nonblocking(true).unwrap();
        let waiting = TcpStream::from_std(waiting).unwrap();
        for stream in [
            handshake(&served, accepted).await,
            ready,
            handshake(&served, waiting).await,
        ] {
            let (mut sender, connection) = http1::handshake(stream).await.unwrap();
            tokio::spawn(connection);
            let response = sender.send_request(request()).await.unwrap();
            assert_eq!(response.status(), StatusCode::NOT_FOUND);
        }
        let ended = timeout(FIRST_REQUEST * 5, silent.readable()).await;
        ended.expect("it is closed").unwrap();
    }

    #[tokio::test]
    async fn http_2_is_served_with_several_requests_at_a_time() {
        let stream = connect("h2").await;
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream)
            .await
            .unwrap();
        tokio::spawn(connection);
        let mut other = sender.clone();
        let requests = (
            sender.send_request(request()),
            other.send_request(request()),
        );
        let (first, second) = futures::future::join(requests.0, requests.1).await;
        for response in [first, second] {
            assert_eq!(response.unwrap().status(), StatusCode::NOT_FOUND);
        }
    }

    #[tokio::test]
    async fn an_old_connection_is_ended_though_its_client_answers_pings() {
        let stream = connect("h2").await;
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream)
            .await
            .unwrap();
        let ended = tokio::spawn(connection);
        sender.send_request(request()).await.unwrap();
        tokio::time::pause();
        tokio::time::advance(CONNECTION_AGE - Duration::from_secs(60)).await;
        assert!(!ended.is_finished());
        let later = timeout(Duration::from_secs(120), ended).await;
        later.expect("the connection ends").unwrap().unwrap();
    }

    #[tokio::test]
    async fn http_1_is_served() {
        let stream = connect("http/1.1").await;
        let (mut sender, connection) = http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        for _ in 0..2 {
            let response = sender.send_request(request()).await.unwrap();
            assert_eq!(response.status(), StatusCode::NOT_FOUND);
            response.into_body().collect().await.unwrap();
            sender.ready().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_body_that_is_no_review_is_not_read() {
        let stream = connect("h2").await;
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream)
            .await
            .unwrap();
        tokio::spawn(connection);
        // a body without an end
        let body = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
        let request = Request::post("https://localhost/nowhere");
        let response = sender.send_request(request.body(body).unwrap());
        let response = timeout(BODY_TIMEOUT / 3, response).await;
        let status = response.expect("an early answer").unwrap().status();
        assert_eq!(status, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn two_large_reviews_are_answered_at_a_time() {
        let stream = connect("h2").await;
        let (sender, connection) = http2::handshake(TokioExecutor::new(), stream)
            .await
            .unwrap();
        tokio::spawn(connection);
        // a review ends when its sender is dropped
        let send = |length: Option<&str>| {
            let (end, body) = mpsc::unbounded::<Result<Frame<Bytes>, Infallible>>();
            let mut request =
                Request::post("https://localhost/review").header(CONTENT_TYPE, "application/json");
            if let Some(length) = length {
                request = request.header(CONTENT_LENGTH, length);
            }
            let request = request.body(StreamBody::new(body)).unwrap();
            let mut sender = sender.clone();
            let status = async move { sender.send_request(request).await.unwrap().status() };
            (end, tokio::spawn(status))
        };
        // of unknown size, so large
        let (end, first) = send(None);
        let _second = send(None);
        let (_, third) = send(None);
        let (_, small) = send(Some("0"));
        assert_eq!(small.await.unwrap(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(!third.is_finished());
        drop(end);
        assert_eq!(first.await.unwrap(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(third.await.unwrap(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
