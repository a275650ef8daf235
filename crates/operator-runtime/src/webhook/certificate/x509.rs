//! Certificates and private keys: PEM in and out, and the few fields of a certificate that a renewal depends on.
//!
//! A private key is never printed: its `Debug` prints a placeholder, and no error repeats its input.

use std::fmt;

use k8s_openapi::jiff::Timestamp;
use pem::{EncodeConfig, LineEnding, Pem};
use thiserror::Error;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use yasna::{
    ASN1Result, BERReader, BERReaderSeq, Tag, models::ObjectIdentifier, tags::TAG_UTCTIME,
};

/// A certificate, with its subject and its validity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Certificate {
    pub der: CertificateDer<'static>,
    /// The name of the subject, as DER.
    subject: Vec<u8>,
    /// The first second in which it is valid, in Unix time.
    pub not_before: i64,
    /// The last second in which it is valid, in Unix time.
    pub not_after: i64,
}

/// Why a text is no certificate or no key.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(super) enum Unreadable {
    #[error("is not PEM")]
    Pem,
    #[error("has no certificate")]
    NoCertificate,
    #[error("has a certificate that cannot be parsed")]
    Certificate,
    #[error("has no private key")]
    NoKey,
}

impl Certificate {
    pub fn read(der: CertificateDer<'static>) -> Result<Self, Unreadable> {
        let fields = yasna::parse_der(&der, |reader| {
            reader.read_sequence(|certificate| {
                let fields = certificate.next().read_sequence(to_be_signed)?;
                skip_rest(certificate)?;
                Ok(fields)
            })
        });
        let (subject, not_before, not_after) = fields.map_err(|_| Unreadable::Certificate)?;
        Ok(Self {
            der,
            subject,
            not_before,
            not_after,
        })
    }

    /// Reads all certificates of a PEM text. Fails if there is none.
    pub fn read_all(pem: &[u8]) -> Result<Vec<Self>, Unreadable> {
        let ders: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let ders = ders.map_err(|_| Unreadable::Pem)?;
        if ders.is_empty() {
            return Err(Unreadable::NoCertificate);
        }
        ders.into_iter().map(Self::read).collect()
    }

    /// Whether the subject is only this common name.
    pub fn is_named(&self, common_name: &str) -> bool {
        const COMMON_NAME: [u64; 4] = [2, 5, 4, 3];
        let name = yasna::construct_der(|writer| {
            writer.write_sequence(|names| {
                names.next().write_set(|set| {
                    set.next().write_sequence(|pair| {
                        let kind = ObjectIdentifier::from_slice(&COMMON_NAME);
                        pair.next().write_oid(&kind);
                        pair.next().write_utf8_string(common_name);
                    });
                });
            });
        });
        self.subject == name
    }

    /// When it expires, as a date for the log.
    pub fn expires(&self) -> Timestamp {
        Timestamp::from_second(self.not_after).unwrap_or(Timestamp::MAX)
    }

    pub fn is_valid_at(&self, now: i64) -> bool {
        (self.not_before..=self.not_after).contains(&now)
    }
}

/// The subject and the validity of a [TBSCertificate](https://www.rfc-editor.org/rfc/rfc5280#section-4.1).
fn to_be_signed(body: &mut BERReaderSeq) -> ASN1Result<(Vec<u8>, i64, i64)> {
    let version = Tag::context(0);
    body.read_optional(|reader| reader.read_tagged(version, |reader| reader.read_der()))?;
    for _field in ["serialNumber", "signature", "issuer"] {
        body.next().read_der()?;
    }
    let (not_before, not_after) = body.next().read_sequence(|validity| {
        let not_before = time(validity.next())?;
        Ok((not_before, time(validity.next())?))
    })?;
    let subject = body.next().read_der()?;
    skip_rest(body)?;
    Ok((subject, not_before, not_after))
}

fn time(reader: BERReader) -> ASN1Result<i64> {
    if reader.lookahead_tag()? == TAG_UTCTIME {
        Ok(reader.read_utctime()?.datetime().unix_timestamp())
    } else {
        let time = reader.read_generalized_time()?;
        Ok(time.datetime().unix_timestamp())
    }
}

fn skip_rest(sequence: &mut BERReaderSeq) -> ASN1Result<()> {
    while sequence
        .read_optional(|reader| reader.read_der())?
        .is_some()
    {}
    Ok(())
}

/// A private key, which is never printed.
pub(super) struct PrivateKey(PrivateKeyDer<'static>);

impl PrivateKey {
    pub fn new(key: PrivateKeyDer<'static>) -> Self {
        Self(key)
    }

    pub fn read(pem: &[u8]) -> Result<Self, Unreadable> {
        let key = PrivateKeyDer::from_pem_slice(pem);
        // The error may repeat a line of the text.
        key.map(Self).map_err(|_| Unreadable::NoKey)
    }

    pub fn der(&self) -> &PrivateKeyDer<'static> {
        &self.0
    }

    pub fn to_pem(&self) -> String {
        let label = match &self.0 {
            PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
            PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
            _ => "PRIVATE KEY",
        };
        encode(label, self.0.secret_der())
    }
}

impl Clone for PrivateKey {
    fn clone(&self) -> Self {
        Self(self.0.clone_key())
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[private key]")
    }
}

/// The PEM text of certificates.
pub(super) fn to_pem<'a>(certificates: impl IntoIterator<Item = &'a Certificate>) -> String {
    certificates
        .into_iter()
        .map(|certificate| encode("CERTIFICATE", &certificate.der))
        .collect()
}

fn encode(label: &str, der: &[u8]) -> String {
    let lines = EncodeConfig::new().set_line_ending(LineEnding::LF);
    pem::encode_config(&Pem::new(label, der), lines)
}
