//! The credentials of a server: a certificate authority, the server's certificate and an administrator's token, created for each server and
//! kept only in memory.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::{self, ServerConfig, crypto};

use super::Error;

/// The credentials that clients need.
pub(crate) struct Identity {
    /// The certificate of the authority, as PEM.
    pub authority: String,
    /// 256 random bits, in hexadecimal.
    pub token: String,
}

impl Identity {
    /// Creates new credentials, and the server's TLS configuration with them.
    pub fn make() -> Result<(Self, Arc<ServerConfig>), Error> {
        let authority_key = KeyPair::generate()?;
        let mut authority = named("operator-testing-ca");
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority_certificate = authority.self_signed(&authority_key)?;

        let key = KeyPair::generate()?;
        let mut server = named("operator-testing");
        server.subject_alt_names = vec![
            SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            SanType::IpAddress(IpAddr::V6(Ipv6Addr::LOCALHOST)),
            SanType::DnsName("localhost".try_into()?),
        ];
        // Strict clients, such as Python's, require these extensions.
        server.use_authority_key_identifier_extension = true;
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = server.signed_by(&key, &Issuer::new(authority, authority_key))?;

        // Without a choice, rustls panics in a program that is built with two providers.
        let provider = Arc::new(crypto::ring::default_provider());
        let token = token(&provider)?;
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.into())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];

        let authority = pem::Pem::new("CERTIFICATE", authority_certificate.der().to_vec());
        let lines = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
        let identity = Self {
            authority: pem::encode_config(&authority, lines),
            token,
        };
        Ok((identity, Arc::new(config)))
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn token(provider: &CryptoProvider) -> Result<String, rustls::Error> {
    let mut bytes = [0; 32];
    provider.secure_random.fill(&mut bytes)?;
    let mut text = String::new();
    for byte in bytes {
        // Writing to a String cannot fail.
        let _written = write!(text, "{byte:02x}");
    }
    Ok(text)
}
