//! Reads the Secret: what of it is usable, and what is wrong with the rest. A pure function of the data, the operator's identity and the
//! time.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{
    identity::{Authority, Identity, Rejected, Serving},
    x509::{Certificate, PrivateKey, Unreadable, to_pem},
};

/// The entries of the Secret; see <https://kubernetes.io/docs/concepts/configuration/secret/#tls-secrets>.
pub(super) const SERVING: &str = "tls.crt";
pub(super) const SERVING_KEY: &str = "tls.key";
/// The authority that signs, and after it the older ones that clients still trust.
pub(super) const AUTHORITIES: &str = "ca.crt";
/// The key of the first authority.
pub(super) const AUTHORITY_KEY: &str = "ca.key";

/// The data of a Secret. Has no `Debug`, because there are keys in it.
#[derive(Clone, Default)]
pub(super) struct Entries(pub BTreeMap<String, Vec<u8>>);

impl FromIterator<(String, Vec<u8>)> for Entries {
    fn from_iter<I: IntoIterator<Item = (String, Vec<u8>)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

/// All that the operator needs to serve and to renew.
#[derive(Clone, Debug)]
pub(super) struct Material {
    pub authority: Authority,
    /// Authorities that may have signed a certificate that a replica still serves with, the newest first.
    pub older: Vec<Certificate>,
    pub serving: Serving,
}

/// What is wrong with the Secret.
#[derive(Clone, Debug, Error, PartialEq)]
pub(super) enum Damage {
    #[error("it has no {0}")]
    Missing(&'static str),
    #[error("{0} {1}")]
    Unreadable(&'static str, Unreadable),
    #[error("{key} is not the key of {certificate}")]
    OtherKey {
        certificate: &'static str,
        key: &'static str,
    },
    #[error("the first certificate of {AUTHORITIES} has expired or is not yet valid")]
    Expired,
    #[error("a certificate of {AUTHORITIES} is not one of this operator")]
    Foreign,
    #[error("{SERVING} {0}")]
    Rejected(Rejected),
}

/// The usable parts of a Secret, and what is wrong with the others.
#[derive(Default)]
pub(super) struct Contents {
    pub authority: Option<Authority>,
    /// The operator's own authorities, including the one that signs.
    pub authorities: Vec<Certificate>,
    pub serving: Option<Serving>,
    pub damages: Vec<Damage>,
}

impl Material {
    pub fn authorities(&self) -> impl Iterator<Item = &Certificate> {
        [&self.authority.certificate].into_iter().chain(&self.older)
    }

    /// The PEM text of all authorities, which clients should trust.
    pub fn bundle(&self) -> String {
        to_pem(self.authorities())
    }

    pub fn entries(&self) -> [(&'static str, String); 4] {
        let serving = &self.serving;
        let chain = [&serving.certificate]
            .into_iter()
            .chain(&serving.intermediates);
        [
            (SERVING, to_pem(chain)),
            (SERVING_KEY, serving.key.to_pem()),
            (AUTHORITIES, self.bundle()),
            (AUTHORITY_KEY, self.authority.key.to_pem()),
        ]
    }
}

impl Contents {
    pub fn read(entries: &Entries, identity: &Identity, now: i64) -> Self {
        let mut damages = vec![];
        let certificates = usable(certificates(entries, AUTHORITIES), &mut damages);
        let (authorities, foreign): (Vec<_>, Vec<_>) = certificates
            .unwrap_or_default()
            .into_iter()
            .partition(|authority| identity.is_own(authority));
        if !foreign.is_empty() {
            damages.push(Damage::Foreign);
        }
        let authority = authorities
            .first()
            .map(|first| authority(first, entries, now))
            .and_then(|part| usable(part, &mut damages));
        let serving = serving(entries).and_then(|serving| {
            let trusted = authorities.iter().filter(|one| one.is_valid_at(now));
            let accepted = identity.accepts(&serving, trusted, now);
            accepted.map_err(Damage::Rejected).map(|()| serving)
        });
        let serving = usable(serving, &mut damages);
        Self {
            authority,
            authorities,
            serving,
            damages,
        }
    }
}

/// Returns the part if it is usable; otherwise adds its damage to the list.
fn usable<T>(part: Result<T, Damage>, damages: &mut Vec<Damage>) -> Option<T> {
    part.map_err(|damage| damages.push(damage)).ok()
}

fn authority(certificate: &Certificate, entries: &Entries, now: i64) -> Result<Authority, Damage> {
    if !certificate.is_valid_at(now) {
        return Err(Damage::Expired);
    }
    let authority = Serving {
        certificate: certificate.clone(),
        intermediates: vec![],
        key: key(entries, AUTHORITY_KEY)?,
    };
    check_key(&authority, AUTHORITIES, AUTHORITY_KEY)?;
    Ok(Authority {
        certificate: authority.certificate,
        key: authority.key,
    })
}

/// Reads the serving certificate of a Secret or a folder. Does not check who has signed it.
pub(super) fn serving(entries: &Entries) -> Result<Serving, Damage> {
    let mut chain = certificates(entries, SERVING)?;
    let intermediates = chain.split_off(1);
    let certificate = chain
        .pop()
        .ok_or(Damage::Unreadable(SERVING, Unreadable::NoCertificate))?;
    let serving = Serving {
        certificate,
        intermediates,
        key: key(entries, SERVING_KEY)?,
    };
    check_key(&serving, SERVING, SERVING_KEY)?;
    Ok(serving)
}

fn check_key(pair: &Serving, certificate: &'static str, key: &'static str) -> Result<(), Damage> {
    match pair.certified_key() {
        Ok(_) => Ok(()),
        Err(_) => Err(Damage::OtherKey { certificate, key }),
    }
}

fn entry<'a>(entries: &'a Entries, name: &'static str) -> Result<&'a [u8], Damage> {
    let text = entries.0.get(name).filter(|text| !text.is_empty());
    text.map(Vec::as_slice).ok_or(Damage::Missing(name))
}

fn certificates(entries: &Entries, name: &'static str) -> Result<Vec<Certificate>, Damage> {
    let read = Certificate::read_all(entry(entries, name)?);
    read.map_err(|unreadable| Damage::Unreadable(name, unreadable))
}

fn key(entries: &Entries, name: &'static str) -> Result<PrivateKey, Damage> {
    let read = PrivateKey::read(entry(entries, name)?);
    read.map_err(|unreadable| Damage::Unreadable(name, unreadable))
}
