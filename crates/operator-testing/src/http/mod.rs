//! Serves a server in memory to other programs, such as kubectl or an operator's binary: HTTPS on the loopback interface.
//!
//! In: a service that answers requests, for example [`ApiServer`](crate::ApiServer). Out: its address, and a kubeconfig with the
//! permissions of an administrator. Requests without the token of that kubeconfig are answered with `401`. Other hosts cannot connect.
//!
//! ```no_run
//! # async fn example() -> Result<(), operator_testing::http::Error> {
//! use operator_testing::{ApiServer, http::Serving};
//!
//! let serving = Serving::start(ApiServer::new()).await?;
//! serving.write_kubeconfig("target/kubeconfig")?;
//! println!("kubectl --kubeconfig target/kubeconfig get namespaces   # {}", serving.url());
//! // …
//! serving.shutdown().await;
//! # Ok(()) }
//! ```

mod connection;
mod identity;
mod serving;

pub use serving::Serving;

use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is already in use, or does not belong to this host.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The requested address.
        address: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The address is not on the loopback interface. Other hosts are not served, because the token has all permissions.
    #[error("{0} is not an address of the loopback interface")]
    NotLoopback(SocketAddr),
    /// A certificate could not be created.
    #[error("cannot create a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A certificate or key was rejected, or no random numbers were available.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] tokio_rustls::rustls::Error),
    /// The kubeconfig could not be written.
    #[error("{path}: {source}")]
    File {
        /// The path of the kubeconfig.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}
