//! Validates [addresses](https://kubernetes.io/docs/concepts/services-networking/dual-stack/) in fields that used to accept more than they
//! accept now.

use std::net::IpAddr;

use super::field::invalid;
use crate::model::Cause;

/// Checks that a text is an IP address, unless the field had this text before.
pub(crate) fn legacy(field: &str, text: &str, before: &[&str], causes: &mut Vec<Cause>) {
    if before.contains(&text) {
        return;
    }
    let mut refuse = |why: &str| causes.push(invalid(field, format!("{text:?}"), why));
    match (parse(text), text.parse::<IpAddr>()) {
        (None, _) => {
            refuse("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        }
        (Some(_), Err(_)) => refuse("must not have leading 0s"),
        (Some(IpAddr::V6(address)), _) if address.to_ipv4_mapped().is_some() => {
            refuse("must not be an IPv4-mapped IPv6 address");
        }
        _ => {}
    }
}

/// Whether there are addresses of both families and no others. The error is the index of the first invalid address.
pub(crate) fn are_dual(texts: &[&str]) -> Result<bool, usize> {
    let mut families = [false; 2];
    for (at, text) in texts.iter().enumerate() {
        let address = parse(text).ok_or(at)?.to_canonical();
        families[usize::from(address.is_ipv6())] = true;
    }
    Ok(families == [true; 2])
}

/// Parses an address, also with leading zeros.
fn parse(text: &str) -> Option<IpAddr> {
    let trimmed = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    text.parse().ok().or_else(|| {
        let parts: Vec<String> = text.split('.').map(trimmed).collect();
        parts.join(".").parse().ok()
    })
}
