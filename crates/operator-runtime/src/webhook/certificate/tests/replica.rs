//! Replicas of the operator, and TLS clients that connect to them.

use std::{io, sync::Arc, time::Duration};

use kube::Client;
use operator_testing::Server;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex},
    sync::watch,
    task::JoinHandle,
    time::sleep,
};
use tokio_rustls::{
    TlsAcceptor, TlsConnector,
    rustls::{
        ClientConfig, RootCertStore, ServerConfig, crypto,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

use super::{
    super::Certificates,
    support::{A_WHILE, HOST, Time, bundle, config},
};

/// A running replica; it ends when it is dropped.
pub struct Replica {
    pub tls: Arc<ServerConfig>,
    pub loaded: watch::Receiver<bool>,
    pub expiry: watch::Receiver<Option<i64>>,
    task: JoinHandle<()>,
}

impl Replica {
    pub fn start(certificates: Certificates) -> Self {
        let tls = certificates.server_config();
        let (loaded, expiry) = (certificates.loaded(), certificates.expiry());
        let task = tokio::spawn(async move {
            certificates.run().await;
        });
        Self {
            tls,
            loaded,
            expiry,
            task,
        }
    }

    pub fn managed(client: Client, time: &Time) -> Self {
        Self::start(Certificates::managed(config(client, time.clock())).unwrap())
    }

    /// A handshake of a client that trusts this bundle. Returns the certificate of the server.
    pub async fn connect(
        &self,
        bundle: &[u8],
        host: &str,
        time: &Time,
    ) -> io::Result<CertificateDer<'static>> {
        let (near, far) = duplex(16 * 1024);
        let acceptor = TlsAcceptor::from(self.tls.clone());
        let serving = tokio::spawn(async move { echo(acceptor, far).await });
        let answer = call(near, bundle, host, time).await;
        let _ends_with_the_client = serving.await;
        answer
    }

    /// A handshake of an API server, which trusts the bundle of the configuration.
    pub async fn connect_as_api_server(
        &self,
        server: &Server,
        time: &Time,
    ) -> CertificateDer<'static> {
        let bundle = bundle(server, "validatingwebhookconfigurations", "op").await;
        self.connect(&bundle, HOST, time).await.unwrap()
    }
}

/// Two replicas that poll at different times.
pub async fn two_replicas(server: &Server, time: &Time) -> [Replica; 2] {
    let first = Replica::managed(server.client(), time);
    sleep(Duration::from_secs(11)).await;
    let second = Replica::managed(server.client(), time);
    sleep(A_WHILE).await;
    [first, second]
}

/// Connects to all replicas for seven minutes, more often at first. This is longer than it takes to replace an authority.
pub async fn connect_for_a_while(server: &Server, replicas: &[Replica], time: &Time) {
    let seconds = [4; 10].into_iter().chain([30; 13]);
    for seconds in seconds {
        sleep(Duration::from_secs(seconds)).await;
        for replica in replicas {
            replica.connect_as_api_server(server, time).await;
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers one byte of a client.
pub async fn echo(
    acceptor: TlsAcceptor,
    stream: impl AsyncRead + AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let byte = stream.read_u8().await?;
    stream.write_u8(byte).await?;
    stream.shutdown().await
}

/// Sends a byte and awaits the answer. Returns the certificate of the server.
pub async fn call(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    bundle: &[u8],
    host: &str,
    time: &Time,
) -> io::Result<CertificateDer<'static>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_details(provider, Arc::new(time.clone()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let host = ServerName::try_from(host.to_owned()).unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(host, stream).await?;
    stream.write_u8(7).await?;
    assert_eq!(stream.read_u8().await?, 7);
    let certificates = stream.get_ref().1.peer_certificates().unwrap();
    Ok(certificates[0].clone().into_owned())
}
