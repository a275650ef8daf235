//! Where the API server of a test reaches the webhooks of the operator under test.

use std::fmt::Display;

use bytes::Bytes;

use crate::api::ApiServer;

/// Registers the webhooks of an operator with the API server of a test; see [`Server::webhook_calls`].
///
/// The API server in memory calls a service in this process, without TLS. A real one reaches webhooks over the network only.
///
/// [`Server::webhook_calls`]: crate::Server::webhook_calls
#[derive(Clone, Debug)]
pub struct WebhookCalls(Option<ApiServer>);

impl WebhookCalls {
    pub(crate) fn new(server: Option<ApiServer>) -> Self {
        Self(server)
    }

    /// Whether the API server reaches webhooks only over the network: it is a real one.
    pub fn needs_network(&self) -> bool {
        self.0.is_none()
    }

    /// Registers the service behind the webhooks of a host, for example `NAME-webhook.NAMESPACE.svc`, and replaces an earlier one, as
    /// [`Server::answer_webhooks`](crate::Server::answer_webhooks). A real server calls webhooks over the network, and ignores it.
    pub fn answer<S>(&self, host: &str, service: S)
    where
        S: tower::Service<http::Request<Bytes>, Response = http::Response<Bytes>>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
        S::Error: Display,
    {
        if let Some(server) = &self.0 {
            server.answer_webhooks(host, service);
        }
    }
}
