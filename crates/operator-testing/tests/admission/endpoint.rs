//! Where webhooks are reached: in memory by their host, by a real server over TLS.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use operator_testing::Server;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::{ServerConfig, crypto};
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

type Service = BoxCloneSyncService<Request<Bytes>, Response<Bytes>, String>;

/// A server with webhooks that the test answers for.
pub struct Scene {
    server: Server,
    /// How a real server reaches the webhooks.
    listener: Option<Listener>,
}

/// A listener on the loopback interface.
struct Listener {
    url: String,
    certificate: String,
    service: Arc<Mutex<Option<Service>>>,
}

impl Deref for Scene {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Scene {
    /// The server that the environment names.
    pub async fn start() -> Self {
        let server = Server::start().await.unwrap();
        let listener = match server.is_real() {
            true => Some(Listener::start().await),
            false => None,
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

    /// A server in memory, whatever the environment says.
    pub fn in_memory() -> Self {
        Self {
            server: Server::in_memory(),
            listener: None,
        }
    }

    /// Answers for the webhooks of `hooks.default.svc`, in place of what did so before.
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
            Some(listener) => {
                let service = service.map_err(|error: S::Error| error.to_string());
                let service = BoxCloneSyncService::new(service);
                *listener.service.lock().unwrap() = Some(service);
            }
        }
    }

    /// Installs a manifest. A real server gets some time to see its webhooks.
    pub async fn install(&self, yaml: &str) {
        let object = self.addressed(yaml);
        self.server.install(&object.to_string()).await.unwrap();
        if self.server.is_real() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// A manifest in which webhooks have their addresses, if there are any.
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
            None => {
                let webhooks = object.get_mut("webhooks").and_then(Value::as_array_mut);
                webhooks.into_iter().flatten().collect::<Vec<_>>()
            }
        };
        for webhook in webhooks {
            let config = &mut webhook["clientConfig"];
            let path = config["service"]["path"].as_str();
            let path = path.or_else(|| config["url"].as_str()?.split('/').next_back());
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

impl Listener {
    async fn start() -> Self {
        let generated = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(generated.signing_key.serialize_der());
        let config =
            ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![generated.cert.der().clone()], key.into())
                .unwrap();
        let tls = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let service: Arc<Mutex<Option<Service>>> = Arc::default();
        let answering = service.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, answering) = (tls.clone(), answering.clone());
                tokio::spawn(async move {
                    // An end of the connection is the API server's affair.
                    let Ok(stream) = tls.accept(stream).await else {
                        return;
                    };
                    let answer = service_fn(move |request| answer(request, answering.clone()));
                    let builder = auto::Builder::new(TokioExecutor::new());
                    let _ended = builder.serve_connection(TokioIo::new(stream), answer).await;
                });
            }
        });
        Self {
            url,
            certificate: pem::encode(&pem::Pem::new("CERTIFICATE", generated.cert.der().to_vec())),
            service,
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    service: Arc<Mutex<Option<Service>>>,
) -> Result<Response<Full<Bytes>>, String> {
    let service = service
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let service = service.ok_or("nobody answers")?;
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|error| error.to_string())?;
    let request = Request::from_parts(parts, body.to_bytes());
    let response = service.oneshot(request).await?;
    Ok(response.map(Full::new))
}
