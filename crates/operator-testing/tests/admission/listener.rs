//! An HTTPS server on the loopback interface, for the webhooks of a test.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{CertificateParams, CertifiedKey, KeyPair};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::{ServerConfig, crypto};
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

type Service = BoxCloneSyncService<Request<Bytes>, Response<Bytes>, String>;

/// A listener on the loopback interface.
pub struct Listener {
    /// `https://` with its address.
    pub url: String,
    /// Its certificate, in PEM.
    pub certificate: String,
    service: Arc<Mutex<Option<Service>>>,
}

impl Listener {
    pub async fn start() -> Self {
        Self::presenting(self_signed(params())).await
    }

    pub async fn presenting(certified: CertifiedKey<KeyPair>) -> Self {
        let CertifiedKey { cert, signing_key } = certified;
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
        let config =
            ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![cert.der().clone()], key.into())
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
                    // A failed handshake fails the request of the API server, not the test.
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
            certificate: pem::encode(&pem::Pem::new("CERTIFICATE", cert.der().to_vec())),
            service,
        }
    }

    /// Answers with this service from now on. Its errors close the connection.
    pub fn serve<S>(&self, service: S)
    where
        S: tower::Service<Request<Bytes>, Response = Response<Bytes>>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send,
        S::Error: Display,
    {
        let service = service.map_err(|error: S::Error| error.to_string());
        let service = BoxCloneSyncService::new(service);
        *self.service.lock().unwrap() = Some(service);
    }
}

/// A certificate for the hosts of a listener.
pub fn params() -> CertificateParams {
    CertificateParams::new(["127.0.0.1", "hooks.default.svc"].map(str::to_owned)).unwrap()
}

pub fn self_signed(params: CertificateParams) -> CertifiedKey<KeyPair> {
    let signing_key = KeyPair::generate().unwrap();
    let cert = params.self_signed(&signing_key).unwrap();
    CertifiedKey { cert, signing_key }
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
