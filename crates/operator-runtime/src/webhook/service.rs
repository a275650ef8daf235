//! The webhooks of an operator as a service in its process, without sockets and TLS.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use http::{Request, Response};
use tokio::sync::watch;

use super::router::Router;

/// Answers requests to the webhooks of an operator while [`Operator::run`](crate::Operator::run) serves them; see
/// [`Operator::webhook_service`](crate::Operator::webhook_service).
#[derive(Clone)]
pub struct WebhookService {
    state: watch::Sender<State>,
}

/// A request that no operator answers, because it does not run, or ended before the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("connection refused")]
pub struct ConnectionRefused;

#[derive(Clone, Default)]
enum State {
    /// Before the operator runs, and after it ended.
    #[default]
    Closed,
    Open(Arc<Router>),
    /// Requests in flight finish, and there are no new ones.
    Draining,
}

/// A service that is open. Dropping it closes the service.
pub(super) struct OpenService(WebhookService);

impl WebhookService {
    pub(crate) fn new() -> Self {
        Self {
            state: watch::Sender::default(),
        }
    }

    pub(super) fn open(&self, router: Arc<Router>) -> OpenService {
        self.state.send_replace(State::Open(router));
        OpenService(self.clone())
    }

    async fn respond(self, request: Request<Bytes>) -> Result<Response<Bytes>, ConnectionRefused> {
        let State::Open(router) = self.state.borrow().clone() else {
            return Err(ConnectionRefused);
        };
        let (parts, body) = request.into_parts();
        let mut state = self.state.subscribe();
        let closed = state.wait_for(|state| matches!(state, State::Closed));
        tokio::select! {
            biased;
            _ = closed => Err(ConnectionRefused),
            response = router.respond(parts, ready(Ok(body))) => Ok(response),
        }
    }
}

impl OpenService {
    /// Refuses new requests, and waits for those in flight.
    pub async fn drain(&self) {
        self.0.state.send_replace(State::Draining);
        // Each request in flight has a receiver of the state, and `closed` waits until there is none.
        self.0.state.closed().await;
    }
}

impl Drop for OpenService {
    fn drop(&mut self) {
        self.0.state.send_replace(State::Closed);
    }
}

impl tower::Service<Request<Bytes>> for WebhookService {
    type Response = Response<Bytes>;
    type Error = ConnectionRefused;
    type Future = BoxFuture<'static, Result<Response<Bytes>, ConnectionRefused>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectionRefused>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        self.clone().respond(request).boxed()
    }
}
