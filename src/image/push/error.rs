//! The errors of a push.

use std::{error::Error, io};

use http::StatusCode;

use crate::diagnostic::Explain;

/// Why an image could not be pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The registry, or the service that issues its tokens, refused a request.
    #[error("{host} refused {act}: {status}{}{message}", if .message.is_empty() { "" } else { ": " })]
    Refused {
        host: String,
        /// What was requested, such as `the upload of a blob to me/operator`.
        act: String,
        status: StatusCode,
        /// What the registry answered.
        message: String,
        /// Whether there were credentials.
        with_credentials: bool,
    },
    #[error("{0:?} is no host of a registry")]
    Host(String),
    #[error("{host} can't be reached: {message}")]
    Unreachable { host: String, message: String },
    #[error("{host} did not answer within {seconds} s")]
    Late { host: String, seconds: u64 },
    #[error("there is no secure connection to {host}: {message}")]
    Tls { host: String, message: String },
    #[error("the certificates of this machine can't be read: {0}")]
    Roots(io::Error),
    #[error("{host} wants credentials in a way that is not supported: {challenge}")]
    Challenge { host: String, challenge: String },
    /// Credentials are not sent without encryption.
    #[error("{host} wants credentials to be sent to {realm}, which is not encrypted")]
    Insecure { host: String, realm: String },
    /// An upload leads to another host, which asks for credentials.
    #[error(
        "the upload to {host} leads to {other}, which wants credentials: these are only for {host}"
    )]
    Foreign { host: String, other: String },
    /// A registry with HTTPS named a URL without it for an upload.
    #[error("{host} wants a blob to be uploaded to {other}, which is not encrypted")]
    InsecureUpload { host: String, other: String },
    #[error("{host} answered with something else than {expected}: {response:?}")]
    Response {
        host: String,
        expected: &'static str,
        response: String,
    },
    #[error("the tag {0} is not a list of referrers")]
    Referrers(String),
    #[error("the push can't run: {0}")]
    Runtime(io::Error),
}

impl PushError {
    /// The error of a connection.
    pub fn connection(host: &str, error: &(dyn Error + 'static)) -> Self {
        let host = host.to_owned();
        let message = message(error);
        if is_tls(error) {
            Self::Tls { host, message }
        } else {
            Self::Unreachable { host, message }
        }
    }
}

impl Explain for PushError {
    fn help(&self) -> String {
        match self {
            Self::Refused {
                host,
                status,
                with_credentials,
                ..
            } => match *status {
                StatusCode::UNAUTHORIZED if !with_credentials => {
                    format!("log in with `docker login {host}`")
                }
                StatusCode::UNAUTHORIZED => {
                    format!("your credentials are wrong or too old: log in again with `docker login {host}`")
                }
                StatusCode::FORBIDDEN if !with_credentials => format!(
                    "log in with `docker login {host}`, as a user who may push to the repository"
                ),
                StatusCode::FORBIDDEN => {
                    "check the name of the image, and that your account may push to the repository".into()
                }
                StatusCode::NOT_FOUND => {
                    "check the name of the image; in some registries, a repository must be created first".into()
                }
                StatusCode::TOO_MANY_REQUESTS => AGAIN.into(),
                status if status.is_server_error() => AGAIN.into(),
                _ => "check that the registry accepts OCI images".into(),
            },
            Self::Host(_) => "check the name of the image".into(),
            Self::Unreachable { .. } | Self::Late { .. } => {
                "check the name of the registry, the network, and the variables HTTPS_PROXY and NO_PROXY".into()
            }
            Self::Tls { .. } => {
                "add the certificate authority of the registry to those of this machine, or set SSL_CERT_FILE; only registries on localhost are used without TLS".into()
            }
            Self::Roots(_) => "install the package ca-certificates, or set SSL_CERT_FILE".into(),
            Self::Challenge { .. } | Self::Foreign { .. } | Self::Response { .. } => {
                "write the image with --output, and push it with another program, such as skopeo".into()
            }
            Self::Insecure { .. } => "use a registry whose token service has HTTPS".into(),
            Self::InsecureUpload { .. } => {
                "configure the registry to name its own URL with HTTPS; a proxy in front of it must send `X-Forwarded-Proto: https`".into()
            }
            Self::Referrers(tag) => format!("delete the tag {tag} in the registry"),
            Self::Runtime(_) => "try again".into(),
        }
    }
}

const AGAIN: &str = "try again later; what was uploaded is not uploaded again";

/// The messages of an error and its sources, without repetitions.
fn message(error: &(dyn Error + 'static)) -> String {
    let mut message = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !message.contains(&text) {
            let separator = if message.is_empty() { "" } else { ": " };
            message = format!("{message}{separator}{text}");
        }
        next = error.source();
    }
    message
}

/// Whether TLS failed. An I/O error may contain another one, which is not its source.
fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<rustls::Error>() {
            return true;
        }
        let inner = error.downcast_ref().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    false
}
