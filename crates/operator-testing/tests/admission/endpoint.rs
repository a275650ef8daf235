//! How webhooks are reached: by the server in memory directly, by a real server over TLS.

use std::net::SocketAddr;
use std::ops::Deref;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use operator_testing::Server;
use rcgen::{CertificateParams, CertifiedKey, DnType, Issuer, KeyPair};
use serde_json::Value;

use crate::listener::Listener;

/// A server with webhooks that the test answers for.
pub struct WebhookServer {
    server: Server,
    /// Where the webhooks are reached over TLS; `None` if the server in memory calls them directly.
    listener: Option<Listener>,
}

impl Deref for WebhookServer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl WebhookServer {
    /// The server that the environment selects.
    pub async fn start() -> Self {
        let server = Server::start().await.unwrap();
        let listener = if server.is_real() {
            Some(Listener::start().await)
        } else {
            None
        };
        Self { server, listener }
    }

    /// A server in memory that reaches the webhooks over TLS, as a real one does.
    pub async fn over_tls() -> Self {
        Self {
            server: Server::in_memory(),
            listener: Some(Listener::start().await),
        }
    }

    /// The server that the environment selects, which reaches the webhooks over TLS with this certificate.
    pub async fn presenting(certified: CertifiedKey<KeyPair>) -> Self {
        Self {
            server: Server::start().await.unwrap(),
            listener: Some(Listener::presenting(certified).await),
        }
    }

    /// A server in memory, regardless of the environment.
    pub fn in_memory() -> Self {
        Self {
            server: Server::in_memory(),
            listener: None,
        }
    }

    /// Where webhooks are reached over TLS.
    pub fn address(&self) -> SocketAddr {
        let listener = self.listener.as_ref().unwrap();
        listener.url["https://".len()..].parse().unwrap()
    }

    /// Registers the service behind the webhooks of `hooks.default.svc`, and replaces an earlier one.
    pub fn serve<S>(&self, service: S)
    where
        S: tower::Service<Request<Bytes>, Response = Response<Bytes>>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send,
        S::Error: std::fmt::Display,
    {
        match &self.listener {
            None => self.server.answer_webhooks("hooks.default.svc", service),
            Some(listener) => listener.serve(service),
        }
    }

    /// Installs a manifest. A real server gets some time to notice its webhooks.
    pub async fn install(&self, yaml: &str) {
        let object = self.addressed(yaml);
        self.server.install(&object.to_string()).await.unwrap();
        if self.server.is_real() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// The manifest, with the address of the listener in its webhooks if there is a listener.
    pub fn addressed(&self, yaml: &str) -> Value {
        let mut object: Value = serde_yaml::from_str(yaml).unwrap();
        let Some(listener) = &self.listener else {
            return object;
        };
        let webhooks = match object.pointer("/spec/conversion/webhook") {
            Some(_) => object
                .pointer_mut("/spec/conversion/webhook")
                .into_iter()
                .collect(),
            None => object
                .get_mut("webhooks")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
                .collect::<Vec<_>>(),
        };
        for webhook in webhooks {
            let config = &mut webhook["clientConfig"];
            let path = config["service"]["path"]
                .as_str()
                .or_else(|| config["url"].as_str()?.split('/').next_back());
            if let Some(path) = path {
                *config = serde_json::json!({
                    "url": format!("{}/{}", listener.url, path.trim_start_matches('/')),
                    "caBundle": STANDARD.encode(&listener.certificate),
                });
            }
        }
        object
    }
}

/// A certificate of a CA that nobody knows, as envtest of controller-runtime makes it.
pub fn signed_by_unknown(params: CertificateParams) -> CertifiedKey<KeyPair> {
    let (signing_key, ca_key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut ca = CertificateParams::default();
    ca.distinguished_name.push(DnType::CommonName, "unknown");
    let cert = params
        .signed_by(&signing_key, &Issuer::new(ca, ca_key))
        .unwrap();
    CertifiedKey { cert, signing_key }
}
