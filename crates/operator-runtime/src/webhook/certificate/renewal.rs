//! Decides what the Secret should contain next. A pure function of what it contains, of what this replica has, and of the time.
//!
//! Invariant: a certificate of an authority is served only when clients trust the authority. A new authority therefore comes first and
//! alone: its certificate joins the bundle, while an older authority still signs the serving certificate. When the bundle has reached the
//! clients, the new authority issues the next serving certificate. An authority leaves the bundle when nobody can serve with it any more,
//! because all certificates that it signed have expired.

use std::time::Duration;

use thiserror::Error;

use super::{
    Lifetimes,
    contents::{Contents, Damage, Material},
    identity::{CLOCK_SKEW, Identity, IssueError},
    x509::Certificate,
};

/// The maximum number of older authorities: a Secret that is damaged again and again must not fill the bundle.
const MAX_OLDER: usize = 4;

/// Why the Secret changes.
#[derive(Clone, Debug, Error, PartialEq)]
pub(super) enum Reason {
    #[error("there was none")]
    Missing,
    #[error("{0}")]
    Damaged(#[from] Damage),
    #[error("the certificate authority was due for renewal")]
    AuthorityDue,
    #[error("the serving certificate was due for renewal")]
    ServingDue,
    #[error("API servers trust the new certificate authority")]
    AuthorityTrusted,
    #[error("no certificate of an older certificate authority is valid any more")]
    AuthorityRetired,
}

/// The next content of the Secret.
#[derive(Debug)]
pub(super) struct Next {
    pub material: Material,
    /// Empty if the Secret stays as it is.
    pub reasons: Vec<Reason>,
}

/// Decides what comes after `contents`, which is `None` if there is no Secret. `memory` is what this replica serves with; `is_trusted`
/// returns whether clients trust an authority.
pub(super) fn next(
    contents: Option<Contents>,
    memory: Option<&Material>,
    is_trusted: impl Fn(&Certificate) -> bool,
    identity: &Identity,
    lifetimes: &Lifetimes,
    now: i64,
) -> Result<Next, IssueError> {
    let mut reasons = vec![];
    let contents = contents.unwrap_or_else(|| {
        reasons.push(Reason::Missing);
        Contents::default()
    });
    reasons.extend(contents.damages.into_iter().map(Reason::Damaged));

    // Use what this replica has only if the Secret is missing or damaged: otherwise, whoever has changed the Secret decides.
    let memory = memory.filter(|_| !reasons.is_empty());
    let mut older = contents.authorities.clone();
    older.extend(memory.into_iter().flat_map(Material::authorities).cloned());

    // A serving certificate never outlives its authority.
    let due = (lifetimes.authority / 3).max(lifetimes.serving);
    let is_due = |certificate: &Certificate| remaining(certificate, now) <= due;
    let authority = match contents.authority {
        Some(authority) if !is_due(&authority.certificate) => authority,
        found => {
            if found.is_some() {
                reasons.push(Reason::AuthorityDue);
            }
            identity.create_authority(now, lifetimes.authority)?
        }
    };
    retire(&mut older, &authority.certificate, lifetimes, now);
    let has_retired = |one: &Certificate| *one != authority.certificate && !older.contains(one);
    if contents.authorities.iter().any(has_retired) {
        reasons.push(Reason::AuthorityRetired);
    }

    let is_accepted = |serving: &_, authorities: &[&Certificate]| {
        let authorities = authorities.iter().copied();
        identity.accepts(serving, authorities, now).is_ok()
    };
    let trusted: Vec<_> = [&authority.certificate].into_iter().chain(&older).collect();
    let found = contents
        .serving
        .or_else(|| memory.map(|memory| memory.serving.clone()))
        .filter(|serving| is_accepted(serving, &trusted));
    let serving = found.filter(|serving| {
        let remaining = remaining(&serving.certificate, now);
        if is_accepted(serving, &[&authority.certificate]) {
            if remaining <= lifetimes.serving / 3 {
                reasons.push(Reason::ServingDue);
                return false;
            }
        } else if is_trusted(&authority.certificate) {
            reasons.push(Reason::AuthorityTrusted);
            return false;
        } else if remaining <= lifetimes.serving / 6 {
            // Some client does not trust the new authority yet. Soon, none would accept the old certificate.
            reasons.push(Reason::ServingDue);
            return false;
        }
        true
    });
    let serving = match serving {
        Some(serving) => serving,
        None => identity.issue(&authority, now, lifetimes.serving)?,
    };
    let material = Material {
        authority,
        older,
        serving,
    };
    Ok(Next { material, reasons })
}

fn remaining(certificate: &Certificate, now: i64) -> Duration {
    let seconds = certificate.not_after.saturating_sub(now);
    Duration::from_secs(seconds.try_into().unwrap_or_default())
}

/// Removes the authorities that have signed no certificate that is still valid, and sorts the others, the newest first.
fn retire(older: &mut Vec<Certificate>, current: &Certificate, lifetimes: &Lifetimes, now: i64) {
    older.retain(|authority| authority != current && authority.is_valid_at(now));
    older.sort_by(|a, b| (b.not_before, &b.der[..]).cmp(&(a.not_before, &a.der[..])));
    older.dedup();
    let lifetime: i64 = lifetimes.serving.as_secs().try_into().unwrap_or(i64::MAX);
    let mut successor = current.not_before;
    older.retain(|authority| {
        // It has signed nothing since its successor was created.
        let last = (successor + CLOCK_SKEW).saturating_add(lifetime);
        successor = authority.not_before;
        now <= last
    });
    older.truncate(MAX_OLDER);
}
