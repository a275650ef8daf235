//! The server for other programs: HTTPS on the loopback interface, for kubectl, an operator's binary, or any client.
//!
//! In: a service that answers requests, as [`ApiServer`](crate::ApiServer) is one. Out: its address, and a kubeconfig with the rights of an
//! administrator. Requests without the token of that kubeconfig are answered with `401`; nothing is served to other hosts.
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

/// Why a server is not reachable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is taken, or not of this host.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// What was wanted.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// Nobody but this host is served: the token has all rights.
    #[error("{0} is not an address of the loopback interface")]
    NotLoopback(SocketAddr),
    /// A certificate could not be made.
    #[error("cannot create a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A certificate or key was not taken, or there was no random number for one.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] tokio_rustls::rustls::Error),
    /// The kubeconfig could not be written.
    #[error("{path}: {source}")]
    File {
        /// The kubeconfig.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}
