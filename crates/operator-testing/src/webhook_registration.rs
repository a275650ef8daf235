//! Registers the webhooks of the operator under test with the API server of the test.

use std::fmt::Display;

use bytes::Bytes;

use crate::webhook_fault::WebhookFaults;
use operator_apiserver::ApiServer;

/// Registers the webhooks of an operator with the API server of a test; see [`Server::webhook_calls`].
///
/// The API server in memory calls a service in this process, without TLS. A real one reaches webhooks over the network only.
///
/// [`Server::webhook_calls`]: crate::Server::webhook_calls
#[derive(Clone, Debug)]
pub struct WebhookRegistration {
    server: Option<ApiServer>,
    faults: Option<WebhookFaults>,
}

impl WebhookRegistration {
    pub(crate) fn new(server: Option<ApiServer>) -> Self {
        Self {
            server,
            faults: None,
        }
    }

    /// Injects faults into the calls of all webhooks that are registered later.
    pub(crate) fn with_faults(self, faults: WebhookFaults) -> Self {
        let faults = Some(faults);
        Self { faults, ..self }
    }

    /// Whether the API server reaches webhooks only over the network: it is a real one.
    pub fn needs_network(&self) -> bool {
        self.server.is_none()
    }

    /// Registers the service behind the webhooks of a host, for example `NAME-webhook.NAMESPACE.svc`, and replaces an earlier one, like
    /// [`Server::answer_webhooks`](crate::Server::answer_webhooks). Does nothing for a real server, which calls webhooks over the network.
    pub fn answer<S>(&self, host: &str, service: S)
    where
        S: tower::Service<http::Request<Bytes>, Response = http::Response<Bytes>>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
        S::Error: Display,
    {
        match (&self.server, &self.faults) {
            (Some(server), Some(faults)) => server.answer_webhooks(host, faults.wrap(service)),
            (Some(server), None) => server.answer_webhooks(host, service),
            (None, _) => {}
        }
    }
}
