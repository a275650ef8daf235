//! The server of a URL. It decides what a request may contain: credentials are for the server that asked for them, and not for HTTP if the
//! registry has HTTPS.

use std::fmt;

use http::Uri;

use crate::image::reference::is_local;

/// The scheme, the host and the port of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    is_encrypted: bool,
    host: String,
    port: u16,
}

impl Origin {
    /// The origin of a URL; `None` if the URL is not one of HTTP or HTTPS.
    pub fn of(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let is_encrypted = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        Some(Self {
            is_encrypted,
            host: uri.host()?.to_ascii_lowercase(),
            port: uri.port_u16().unwrap_or(default_port(is_encrypted)),
        })
    }

    /// Whether a registry with this origin may send uploads to another.
    pub fn may_upload_to(&self, other: &Self) -> bool {
        other.is_encrypted || !self.is_encrypted
    }

    /// Whether a registry with this origin may have another as its token service.
    pub fn may_trust(&self, service: &Self) -> bool {
        service.is_encrypted || (!self.is_encrypted && is_local(&service.host))
    }
}

fn default_port(is_encrypted: bool) -> u16 {
    if is_encrypted { 443 } else { 80 }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.host)?;
        if self.port == default_port(self.is_encrypted) {
            Ok(())
        } else {
            write!(f, ":{}", self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Origin {
        Origin::of(url).expect(url)
    }

    #[test]
    fn urls_of_one_server_have_one_origin() {
        let registry = of("https://ghcr.io");
        for url in ["https://ghcr.io/v2/?a=b", "HTTPS://GHCR.io:443/token"] {
            assert_eq!(of(url), registry, "{url}");
        }
        for url in [
            "http://ghcr.io/v2/",
            "http://ghcr.io:443/v2/",
            "https://ghcr.io:444/v2/",
            "https://ghcr.io.example.com/",
            "https://ghcr.io@example.com/",
            "https://ghcr.io:443@example.com/",
        ] {
            assert_ne!(of(url), registry, "{url}");
        }
        for url in ["", "/v2/", "ghcr.io", "ghcr.io:443", "ftp://ghcr.io/"] {
            assert_eq!(Origin::of(url), None, "{url}");
        }
        assert_eq!(of("https://a.b:443/c?d=e").to_string(), "https://a.b");
        assert_eq!(of("http://a.b:5000/c").to_string(), "http://a.b:5000");
    }

    #[test]
    fn a_registry_with_https_cannot_leave_it() {
        let registry = of("https://ghcr.io");
        let local = of("http://localhost:5000");
        for (url, may_upload, may_trust) in [
            ("https://a.b", [true, true], [true, true]),
            ("http://a.b", [false, true], [false, false]),
            ("http://ghcr.io", [false, true], [false, false]),
            ("http://localhost:5001", [false, true], [false, true]),
            ("http://127.0.0.1", [false, true], [false, true]),
            ("http://localhost@a.b", [false, true], [false, false]),
        ] {
            let other = of(url);
            let of_both = [&registry, &local];
            assert_eq!(of_both.map(|it| it.may_upload_to(&other)), may_upload);
            assert_eq!(of_both.map(|it| it.may_trust(&other)), may_trust);
        }
    }
}
