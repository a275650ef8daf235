//! The TLS handshake of a server.

use std::{io, time::Duration};

use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// How long a client may take for its side of the TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Begins TLS on a connection that was accepted.
pub(crate) async fn handshake(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    stream.set_nodelay(true)?;
    timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await?
}
