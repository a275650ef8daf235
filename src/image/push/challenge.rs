//! What a registry asks for when it answers 401: the header `WWW-Authenticate`.

use std::collections::BTreeMap;

use http::{HeaderMap, header::WWW_AUTHENTICATE};

/// A way to authenticate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// A name and a password with each request.
    Basic,
    /// A token that a service issues, as in the [specification of Docker](https://distribution.github.io/distribution/spec/auth/token/).
    Bearer {
        /// The URL of the service.
        realm: String,
        /// The name of the registry in requests to the service.
        service: Option<String>,
    },
}

/// The challenge to answer: one for a token is preferred. `None` if there is no supported challenge.
pub fn challenge(headers: &HeaderMap) -> Option<Challenge> {
    headers
        .get_all(WWW_AUTHENTICATE)
        .iter()
        .filter_map(|text| read(text.to_str().ok()?))
        .max_by_key(|challenge| matches!(challenge, Challenge::Bearer { .. }))
}

fn read(text: &str) -> Option<Challenge> {
    let (scheme, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    if scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let mut parameters = parameters(rest);
    Some(Challenge::Bearer {
        realm: parameters.remove("realm")?,
        service: parameters.remove("service"),
    })
}

/// Reads `name="value",name=value`.
fn parameters(mut text: &str) -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::new();
    while let Some((name, rest)) = text.split_once('=') {
        let (value, rest) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once(',').unwrap_or((rest, "")),
        };
        let name = name.trim_matches([',', ' ']).to_ascii_lowercase();
        parameters.insert(name, value.trim().to_owned());
        text = rest;
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for text in texts {
            headers.append(WWW_AUTHENTICATE, text.parse().unwrap());
        }
        challenge(&headers)
    }

    #[test]
    fn a_challenge_is_read() {
        let bearer = |realm: &str, service: Option<&str>| {
            Some(Challenge::Bearer {
                realm: realm.into(),
                service: service.map(Into::into),
            })
        };
        let full =
            r#"Bearer realm="https://a.b/token",service="a.b",scope="repository:a,b:pull,push""#;
        assert_eq!(of(&[full]), bearer("https://a.b/token", Some("a.b")));
        let reordered = r#"bearer scope="x,y" , service=a.b, REALM="https://a.b/t?x=1""#;
        assert_eq!(of(&[reordered]), bearer("https://a.b/t?x=1", Some("a.b")));
        assert_eq!(of(&["Basic realm=\"a\""]), Some(Challenge::Basic));
        assert_eq!(
            of(&["Basic", full]),
            bearer("https://a.b/token", Some("a.b"))
        );
        for unknown in [
            "",
            "Negotiate",
            "Bearer",
            "Bearer service=\"a\"",
            "Bearer realm",
        ] {
            assert_eq!(of(&[unknown]), None, "{unknown}");
        }
    }
}
