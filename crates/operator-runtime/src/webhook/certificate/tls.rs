//! The TLS configuration of the server. Its certificate is replaced while it serves: a handshake uses the one that is current when it
//! begins.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use tokio::sync::watch;
use tokio_rustls::rustls::{
    self, ServerConfig, crypto,
    pki_types::CertificateDer,
    server::{ClientHello, NoServerSessionStorage, ResolvesServerCert},
    sign::CertifiedKey,
};

use super::identity::Serving;
use crate::lock::lock;

/// The current certificate.
pub(super) struct Tls {
    current: Mutex<Option<Arc<CertifiedKey>>>,
    loaded: watch::Sender<bool>,
    expiry: watch::Sender<Option<i64>>,
}

impl Tls {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            current: Mutex::default(),
            loaded: watch::Sender::new(false),
            expiry: watch::Sender::new(None),
        })
    }

    /// Serves with this certificate from now on. Returns whether it is another one than before.
    pub fn serve(&self, serving: &Serving) -> Result<bool, rustls::Error> {
        let current = self.current();
        let current = current.as_ref().and_then(|current| current.cert.first());
        if current.is_some_and(|current| is_same(current, serving)) {
            return Ok(false);
        }
        let key = Arc::new(serving.certified_key()?);
        *lock(&self.current) = Some(key);
        self.expiry
            .send_replace(Some(serving.certificate.not_after));
        Ok(true)
    }

    /// Reports that the server is ready, if it has a certificate.
    pub fn report_loaded(&self) {
        let is_loaded = self.current().is_some();
        self.loaded
            .send_if_modified(|loaded| std::mem::replace(loaded, is_loaded) != is_loaded);
    }

    pub fn loaded(&self) -> watch::Receiver<bool> {
        self.loaded.subscribe()
    }

    pub fn expiry(&self) -> watch::Receiver<Option<i64>> {
        self.expiry.subscribe()
    }

    pub fn server_config(self: &Arc<Self>) -> Arc<ServerConfig> {
        // An explicit provider: there is no default if a program is built with two of them.
        let provider = Arc::new(crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports the default versions")
            .with_no_client_auth()
            .with_cert_resolver(self.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // No resumption: a resumed session would keep the certificate of its first handshake.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Arc::new(config)
    }

    fn current(&self) -> Option<Arc<CertifiedKey>> {
        lock(&self.current).clone()
    }
}

fn is_same(current: &CertificateDer, serving: &Serving) -> bool {
    *current == serving.certificate.der
}

impl ResolvesServerCert for Tls {
    fn resolve(&self, _hello: ClientHello) -> Option<Arc<CertifiedKey>> {
        self.current()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expiry = *self.expiry.borrow();
        f.debug_struct("Tls")
            .field("expiry", &expiry)
            .finish_non_exhaustive()
    }
}
