//! The [address of a webhook](https://github.com/kubernetes/apiserver/blob/master/pkg/util/webhook/validation.go): a URL or a Service.

use serde_json::Value;

use super::field::{invalid, number, text};
use crate::model::Cause;
use crate::model::name::bad_subdomain;

/// Checks the URL and the Service of a client configuration, as far as they are given.
pub(crate) fn check(config: &Value, place: &str, causes: &mut Vec<Cause>) {
    if let Some(url) = config["url"].as_str() {
        check_url(&format!("{place}.url"), url, causes);
    }
    if config["service"].is_object() {
        check_service(&format!("{place}.service"), &config["service"], causes);
    }
}

/// Checks a URL, which must have the scheme `https`, and no user, query or fragment.
fn check_url(field: &str, url: &str, causes: &mut Vec<Cause>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = match scheme {
        "" => ("", rest),
        _ => rest.split_at(end),
    };
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if let Some((_, port)) = host.rsplit_once(':')
        && !host.ends_with(']')
        && !port.bytes().all(|byte| byte.is_ascii_digit())
    {
        let why = format!(
            "parse {url:?}: invalid port {:?} after host",
            format!(":{port}")
        );
        let why = format!("url must be a valid URL: {why}{FORM}");
        causes.push(Cause::required(field, &why));
        return;
    }
    let mut refuse =
        |found: &str, why: &str| causes.push(invalid(field, format!("{found:?}"), why));
    if scheme != "https" {
        refuse(
            scheme,
            &format!("'https' is the only allowed URL scheme{FORM}"),
        );
    }
    if host.is_empty() {
        refuse(host, &format!("host must be specified{FORM}"));
    }
    if !user.is_empty() {
        refuse(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        refuse(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        refuse(query, "query parameters are not permitted in the URL");
    }
}

fn check_service(place: &str, service: &Value, causes: &mut Vec<Cause>) {
    // the real server confuses the two, and reports the other field
    for (missing, named) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, missing).is_empty() {
            causes.push(Cause::required(format!("{place}.{named}"), ""));
        }
    }
    let port = if service["port"].is_null() {
        443
    } else {
        number(service, "port")
    };
    if !(1..=65535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push(invalid(format!("{place}.port"), port, why));
    }
    let path = text(service, "path");
    if path.is_empty() || path == "/" {
        return;
    }
    let mut refuse = |why: String| {
        causes.push(invalid(format!("{place}.path"), format!("{path:?}"), why));
    };
    if path == "//" {
        refuse("segment[0] may not be empty".to_owned());
        return;
    }
    if !path.starts_with('/') {
        refuse("must start with a '/'".to_owned());
    }
    let mut letters = path.chars();
    letters.next();
    let inner = letters.as_str();
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    for (at, step) in inner.split('/').enumerate() {
        if step.is_empty() {
            refuse(format!("segment[{at}] may not be empty"));
        } else {
            bad_subdomain(step)
                .into_iter()
                .for_each(|why| refuse(format!("segment[{at}]: {why}")));
        }
    }
}
