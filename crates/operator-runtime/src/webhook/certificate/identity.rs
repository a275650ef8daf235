//! The names of an operator in its certificates, and the certificates that it issues and accepts.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType, date_time_ymd,
};
use thiserror::Error;
use tokio_rustls::rustls::{
    self, RootCertStore,
    client::{verify_server_cert_signed_by_trust_anchor, verify_server_name},
    crypto,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime},
    server::ParsedCertificate,
    sign::CertifiedKey,
};

use super::x509::{Certificate, PrivateKey, Unreadable};

/// How many seconds the clock of an API server may be behind ours.
pub(super) const CLOCK_SKEW: i64 = 3600;

/// The names of an operator in its certificates.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    /// The common name of its certificate authorities, by which it recognizes its own.
    authority: String,
    /// The common name of its serving certificates.
    service: String,
    /// The hosts by which API servers call it.
    hosts: Vec<ServerName<'static>>,
}

/// Why API servers cannot call webhooks at an address.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum InvalidAddress {
    #[error("{url:?} is not a URL of webhooks, as in https://HOST:PORT/PATH")]
    Url { url: String },
    #[error("{host:?} is neither a DNS name nor an IP address")]
    Host { host: String },
}

/// Why no certificate was issued.
#[derive(Debug, Error)]
pub(super) enum IssueError {
    #[error("cannot create a certificate: {0}")]
    Create(#[from] rcgen::Error),
    #[error("cannot create a certificate: it {0}")]
    Read(#[from] Unreadable),
}

/// A certificate authority that can sign.
#[derive(Clone, Debug)]
pub(super) struct Authority {
    pub certificate: Certificate,
    pub key: PrivateKey,
}

/// A certificate to serve with, and its key.
#[derive(Clone, Debug)]
pub(super) struct Serving {
    pub certificate: Certificate,
    /// The certificates between `certificate` and an authority.
    pub intermediates: Vec<Certificate>,
    pub key: PrivateKey,
}

/// Why a certificate is not accepted.
#[derive(Clone, Debug, Error, PartialEq)]
pub(super) enum Rejected {
    #[error("has expired or is not yet valid")]
    Expired,
    #[error("is not signed by an authority of this operator: {0}")]
    Untrusted(rustls::Error),
    #[error("is not valid for the host {0}")]
    OtherHosts(String),
}

impl Identity {
    /// `hosts` are further hosts besides the name of the Service, which is `NAME-webhook.NAMESPACE.svc`.
    pub fn new(
        operator: &str,
        service: &str,
        namespace: &str,
        hosts: &[String],
    ) -> Result<Self, InvalidAddress> {
        let of_service = format!("{service}.{namespace}.svc");
        let hosts = [&of_service].into_iter().chain(hosts).map(|host| {
            let name = ServerName::try_from(host.clone());
            name.map_err(|_| InvalidAddress::Host { host: host.clone() })
        });
        Ok(Self {
            authority: format!("{operator}-ca"),
            service: service.to_owned(),
            hosts: hosts.collect::<Result<_, _>>()?,
        })
    }

    /// Whether it is an authority that an operator of this name created.
    pub fn is_own(&self, authority: &Certificate) -> bool {
        authority.is_named(&self.authority)
    }

    pub fn create_authority(&self, now: i64, lifetime: Duration) -> Result<Authority, IssueError> {
        let key = KeyPair::generate()?;
        let mut params = self.authority_params();
        set_validity(&mut params, now, end_of(now, lifetime));
        let certificate = params.self_signed(&key)?;
        Ok(Authority {
            certificate: Certificate::read(certificate.der().clone())?,
            key: pkcs8(&key),
        })
    }

    /// Issues a certificate for all hosts. It does not outlive the authority.
    pub fn issue(
        &self,
        authority: &Authority,
        now: i64,
        lifetime: Duration,
    ) -> Result<Serving, IssueError> {
        let issuer = KeyPair::try_from(authority.key.der())?;
        let issuer = Issuer::new(self.authority_params(), issuer);
        let key = KeyPair::generate()?;
        let mut params = params_named(&self.service);
        let until = end_of(now, lifetime).min(authority.certificate.not_after);
        set_validity(&mut params, now, until);
        for host in &self.hosts {
            params.subject_alt_names.push(match host {
                ServerName::DnsName(name) => SanType::DnsName(name.as_ref().try_into()?),
                host => match host.to_str().parse() {
                    Ok(address) => SanType::IpAddress(address),
                    Err(_) => SanType::DnsName(host.to_str().as_ref().try_into()?),
                },
            });
        }
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&key, &issuer)?;
        Ok(Serving {
            certificate: Certificate::read(certificate.der().clone())?,
            intermediates: vec![],
            key: pkcs8(&key),
        })
    }

    fn authority_params(&self) -> CertificateParams {
        let mut params = params_named(&self.authority);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params
    }

    /// Whether clients that trust only these authorities accept the certificate for each host now.
    pub fn accepts<'a>(
        &self,
        serving: &Serving,
        authorities: impl IntoIterator<Item = &'a Certificate>,
        now: i64,
    ) -> Result<(), Rejected> {
        if !serving.certificate.is_valid_at(now) {
            return Err(Rejected::Expired);
        }
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots
                .add(authority.der.clone())
                .map_err(Rejected::Untrusted)?;
        }
        let certificate =
            ParsedCertificate::try_from(&serving.certificate.der).map_err(Rejected::Untrusted)?;
        let intermediates = serving.intermediates.iter();
        let intermediates: Vec<_> = intermediates.map(|one| one.der.clone()).collect();
        let algorithms = crypto::ring::default_provider().signature_verification_algorithms;
        let now = Duration::from_secs(now.try_into().unwrap_or_default());
        verify_server_cert_signed_by_trust_anchor(
            &certificate,
            &roots,
            &intermediates,
            UnixTime::since_unix_epoch(now),
            algorithms.all,
        )
        .map_err(Rejected::Untrusted)?;
        let is_other = |host: &&ServerName| verify_server_name(&certificate, host).is_err();
        match self.hosts.iter().find(is_other) {
            Some(host) => Err(Rejected::OtherHosts(host.to_str().into_owned())),
            None => Ok(()),
        }
    }
}

impl Serving {
    /// The form in which rustls needs it. Fails if the key is unusable or belongs to another certificate.
    pub fn certified_key(&self) -> Result<CertifiedKey, rustls::Error> {
        let chain = [&self.certificate].into_iter().chain(&self.intermediates);
        let chain = chain.map(|certificate| certificate.der.clone()).collect();
        let provider = crypto::ring::default_provider();
        CertifiedKey::from_der(chain, self.key.der().clone_key(), &provider)
    }
}

/// The parameters of a certificate whose subject is only this common name.
fn params_named(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params
}

/// When a certificate expires that is issued now, in Unix time.
fn end_of(now: i64, lifetime: Duration) -> i64 {
    now.saturating_add(lifetime.as_secs().try_into().unwrap_or(i64::MAX))
}

fn set_validity(params: &mut CertificateParams, now: i64, until: i64) {
    let time = |time: i64| {
        let since_epoch = Duration::from_secs(time.try_into().unwrap_or_default());
        date_time_ymd(1970, 1, 1) + since_epoch
    };
    params.not_before = time(now - CLOCK_SKEW);
    params.not_after = time(until);
}

fn pkcs8(key: &KeyPair) -> PrivateKey {
    let der = PrivatePkcs8KeyDer::from(key.serialize_der());
    PrivateKey::new(PrivateKeyDer::Pkcs8(der))
}
