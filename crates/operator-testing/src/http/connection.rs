//! Connections: TLS, HTTP/1.1 or HTTP/2 by the client's choice, the check of the token, and a graceful shutdown.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use http::{Request, Response, header};
use http_body::Body as _;
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use crate::Body;
use operator_apiserver::unauthorized;

/// The timeout for TLS handshakes. A client on a busy machine may take long, and has sent its first request before it learns of the end.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The timeout for responses during a shutdown.
const PATIENCE: Duration = Duration::from_secs(1);

/// Accepts connections until `closed`, and then waits up to a second until they end. If this future is dropped, they are closed
/// immediately.
pub(crate) async fn accept<S>(
    listener: TcpListener,
    tls: TlsAcceptor,
    service: S,
    token: String,
    closed: Receiver<bool>,
) where
    S: tower::Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    let credentials: Arc<str> = format!("Bearer {token}").into();
    let mut connections = JoinSet::new();
    let mut end = pin!(until_closed(closed.clone()));
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // There are no free file descriptors, or the client has disconnected: the server continues in both cases.
                Err(_) => {
                    sleep(Duration::from_millis(10)).await;
                    continue;
                }
            },
            Some(_) = connections.join_next() => continue,
            () = &mut end => break,
        };
        let (tls, service) = (tls.clone(), service.clone());
        let (credentials, closed) = (credentials.clone(), closed.clone());
        connections.spawn(serve(stream, tls, service, credentials, closed));
    }
    drop(listener);
    let ends = async { while connections.join_next().await.is_some() {} };
    // Connections that take longer are closed.
    let _late = timeout(PATIENCE, ends).await;
}

/// Serves one connection until it ends. Errors are ignored, because the client causes them: it disconnected, or does not use TLS or HTTP.
async fn serve<S>(
    stream: TcpStream,
    tls: TlsAcceptor,
    service: S,
    credentials: Arc<str>,
    closed: Receiver<bool>,
) where
    S: tower::Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    // Without Nagle's algorithm, a small response is sent at once.
    let _slower = stream.set_nodelay(true);
    let Ok(Ok(stream)) = timeout(HANDSHAKE, tls.accept(stream)).await else {
        return;
    };
    let end = closed.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let is_known = request
            .headers()
            .get(header::AUTHORIZATION)
            .is_some_and(|given| given.as_bytes() == credentials.as_bytes());
        let (service, end) = (service.clone(), end.clone());
        async move {
            if !is_known {
                return Ok(unauthorized());
            }
            let response = service.oneshot(request).await?;
            Ok::<_, Infallible>(response.map(|body| ending(body, end)))
        }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ended = &mut connection => return,
        () = until_closed(closed) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ended = connection.await;
}

/// Ends a body with the server, because the body of a watch would not end by itself.
fn ending(body: Body, end: Receiver<bool>) -> Body {
    if body.size_hint().exact().is_some() {
        return body;
    }
    StreamBody::new(BodyStream::new(body).take_until(Box::pin(until_closed(end)))).boxed_unsync()
}

/// Waits until the server is closed, or the sender is dropped.
async fn until_closed(mut closed: Receiver<bool>) {
    drop(closed.wait_for(|closed| *closed).await);
}
