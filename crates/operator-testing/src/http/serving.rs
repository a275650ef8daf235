//! A running server: its address, its kubeconfig, and its shutdown.

use std::convert::Infallible;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Request, Response};
use hyper::body::Incoming;
use kube::config::{
    AuthInfo, Cluster, Context, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::Error;
use super::connection::accept;
use super::identity::Identity;
use crate::Body;
use crate::server::account_namespace;

/// A server that other programs on this host can use. Dropping it closes all connections; [`shutdown`](Self::shutdown) lets responses
/// finish.
pub struct Serving {
    address: SocketAddr,
    identity: Identity,
    closing: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Serving {
    /// Serves on a free port of 127.0.0.1. The service may be an [`ApiServer`](crate::ApiServer), also within layers of [`tower`].
    pub async fn start<S>(service: S) -> Result<Self, Error>
    where
        S: tower::Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send,
    {
        Self::start_at(service, (Ipv4Addr::LOCALHOST, 0).into()).await
    }

    /// Serves on an address of the loopback interface; port 0 selects a free port.
    pub async fn start_at<S>(service: S, address: SocketAddr) -> Result<Self, Error>
    where
        S: tower::Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send,
    {
        if !address.ip().is_loopback() {
            return Err(Error::NotLoopback(address));
        }
        let (identity, tls) = Identity::make()?;
        let unbound = |source| Error::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(unbound)?;
        let address = listener.local_addr().map_err(unbound)?;
        let (closing, closed) = watch::channel(false);
        let token = identity.token.clone();
        let accepting = tokio::spawn(accept(
            listener,
            TlsAcceptor::from(tls),
            service,
            token,
            closed,
        ));
        Ok(Self {
            address,
            identity,
            closing,
            accepting,
        })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The kubeconfig of an administrator.
    pub fn kubeconfig(&self) -> Kubeconfig {
        self.kubeconfig_as("")
    }

    /// The kubeconfig of a user, for example `system:serviceaccount:NAMESPACE:NAME`, with the permissions that the roles on the server
    /// grant, by [impersonation]. The default namespace of a service account is its own, as in its pods.
    ///
    /// [impersonation]: https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
    pub fn kubeconfig_as(&self, user: &str) -> Kubeconfig {
        let name = || env!("CARGO_PKG_NAME").to_owned();
        let cluster = Cluster {
            server: Some(self.url()),
            certificate_authority_data: Some(STANDARD.encode(&self.identity.authority)),
            ..Cluster::default()
        };
        let auth_info = AuthInfo {
            token: Some(self.identity.token.clone().into()),
            impersonate: (!user.is_empty()).then(|| user.to_owned()),
            ..AuthInfo::default()
        };
        let context = Context {
            cluster: name(),
            user: Some(name()),
            namespace: Some(account_namespace(user).unwrap_or("default").to_owned()),
            ..Context::default()
        };
        Kubeconfig {
            api_version: Some("v1".to_owned()),
            kind: Some("Config".to_owned()),
            clusters: vec![NamedCluster {
                name: name(),
                cluster: Some(cluster),
                ..NamedCluster::default()
            }],
            auth_infos: vec![NamedAuthInfo {
                name: name(),
                auth_info: Some(auth_info),
                ..NamedAuthInfo::default()
            }],
            contexts: vec![NamedContext {
                name: name(),
                context: Some(context),
                ..NamedContext::default()
            }],
            current_context: Some(name()),
            ..Kubeconfig::default()
        }
    }

    /// Writes the administrator's kubeconfig to a file that only the user of this process can read.
    pub fn write_kubeconfig(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.write_kubeconfig_as("", path)
    }

    /// Writes the kubeconfig of a [user](Self::kubeconfig_as) to a file that only the user of this process can read.
    pub fn write_kubeconfig_as(&self, user: &str, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let failed = |source| Error::File {
            path: path.to_owned(),
            source,
        };
        let text = serde_yaml::to_string(&self.kubeconfig_as(user))
            .map_err(|error| failed(io::Error::other(error)))?;
        write_private(path, &text).map_err(failed)
    }

    /// Accepts no more connections, ends watches, and waits up to a second for other responses to finish.
    pub async fn shutdown(mut self) {
        self.closing.send_replace(true);
        // An error is impossible: only `drop` aborts the task, and a panic of a connection does not reach it.
        let _ended = (&mut self.accepting).await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Writes a file that is private from the first byte on, because the token is a secret; even if the file existed with other permissions.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    file.write_all(text.as_bytes())
}
