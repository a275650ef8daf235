//! Host names, addresses and URIs, as Go's standard library parses them.

use super::matches;
use std::net::Ipv6Addr;

/// Letters of all scripts are allowed; a label has at most 63 bytes, the name at most 255.
pub(super) fn is_hostname(text: &str) -> bool {
    const REGEX: &str = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$";
    text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && matches(REGEX, text)
}

/// Leading zeros are accepted, and an IPv6 address that ends in an IPv4 address.
pub(super) fn is_ipv4(text: &str) -> bool {
    is_dotted(text)
        || text
            .rsplit_once(':')
            .is_some_and(|(start, tail)| is_dotted(tail) && is_ipv6(&format!("{start}:0.0.0.0")))
}

fn is_dotted(text: &str) -> bool {
    let mut parts = 0;
    text.split('.').all(|part| {
        parts += 1;
        let digits = part.trim_start_matches('0');
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_digit())
            && (digits.is_empty() || digits.parse::<u8>().is_ok())
    }) && parts == 4
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let most = match address {
        _ if is_dotted(address) => 32,
        _ if is_ipv6(address) => 128,
        _ => return false,
    };
    !bits.is_empty()
        && bits.bytes().all(|b| b.is_ascii_digit())
        && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

/// Six, eight or twenty bytes, separated by colons or dashes, in dotted pairs, or without separators.
pub(super) fn is_mac(text: &str) -> bool {
    let groups = |separator, width| {
        let parts: Vec<&str> = text.split(separator).collect();
        let hex = |part: &&str| part.len() == width && part.bytes().all(|b| b.is_ascii_hexdigit());
        let bytes = parts.len() * width / 2;
        parts.iter().all(hex) && matches!(bytes, 6 | 8 | 20)
    };
    groups(':', 2) || groups('-', 2) || groups('.', 4) || groups(':', text.len())
}

/// An address as in a mail header, with or without a name. Comments are not supported.
pub(super) fn is_email(text: &str) -> bool {
    const ATOM: &str = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x{80}-\x{10ffff}-]+";
    let text = text.trim_matches([' ', '\t']);
    let address = match text
        .strip_suffix('>')
        .and_then(|text| text.rsplit_once('<'))
    {
        Some((name, address)) => {
            let name = name.trim_matches([' ', '\t']);
            let words = format!(r#"^("([^"\\]|\\.)*"|[ \t.]|{ATOM})*$"#);
            if !matches(&words, name) {
                return false;
            }
            address
        }
        None => text,
    };
    let dotted = format!(r"{ATOM}(\.{ATOM})*");
    let regex = format!(r#"^[ \t]*({dotted}|"([^"\\]|\\.)+")@[ \t]*({dotted}|\[[^\[\]\\]+\])$"#);
    matches(&regex, address)
}

/// An absolute URI or an absolute path.
pub(super) fn is_uri(text: &str) -> bool {
    if text == "*" {
        return true;
    }
    if text.is_empty() || text.chars().any(|c| c.is_ascii_control()) {
        return false;
    }
    let (scheme, rest) = match text.split_once(':') {
        Some(("", _)) => return false,
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        // A digit or sign cannot start a scheme; anything else before the colon is a path.
        _ => (None, text),
    };
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    if !rest.starts_with('/') {
        return scheme.is_some();
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) if scheme.is_some() => {
            let end = rest.find('/').unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            let web =
                scheme.is_some_and(|it| matches!(&*it.to_ascii_lowercase(), "http" | "https"));
            if !is_authority(authority, web) {
                return false;
            }
            path
        }
        _ => rest,
    };
    is_escaped(path)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// A second colon in the host is rejected only for `http` and `https`: URIs of databases may list several hosts with ports.
fn is_authority(text: &str, web: bool) -> bool {
    let (user, host) = match text.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", text),
    };
    let user_ok = user
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c));
    let host_ok = match host.strip_prefix('[').map(|host| host.rsplit_once(']')) {
        Some(Some((address, port))) => {
            let address = address
                .split_once("%25")
                .map_or(address, |(address, _)| address);
            is_port(port) && is_ipv6(address)
        }
        Some(None) => false,
        None => {
            let colon = if web { host.find(':') } else { host.rfind(':') };
            is_port(colon.map_or("", |colon| &host[colon..])) && host.chars().all(is_host)
        }
    };
    user_ok && host_ok && is_escaped(user)
}

fn is_host(c: char) -> bool {
    !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:]<>\"".contains(c)
}

fn is_port(text: &str) -> bool {
    match text.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|b| b.is_ascii_digit()),
        None => text.is_empty(),
    }
}

/// Whether each percent sign is followed by two hexadecimal digits.
fn is_escaped(text: &str) -> bool {
    let is_hex =
        |code: Option<&str>| code.is_some_and(|code| code.bytes().all(|b| b.is_ascii_hexdigit()));
    text.match_indices('%')
        .all(|(at, _)| is_hex(text.get(at + 1..at + 3)))
}
