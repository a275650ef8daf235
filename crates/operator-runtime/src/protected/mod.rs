//! `/metrics` over TLS, for clients that the API server knows and permits: a [TokenReview] returns the user of a token, and a
//! [SubjectAccessReview] whether that user may get the page.
//!
//! [TokenReview]: https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
//! [SubjectAccessReview]: https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec},
    authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto, pki_types::PrivateKeyDer},
};
use tracing::{debug, warn};

use crate::{
    lock::lock,
    metrics::Metrics,
    server::{self, METRICS, TEXT},
    tls::handshake,
};

/// The maximum number of open connections; further ones wait.
const CONNECTIONS: usize = 16;

/// The maximum number of reviews in flight, so that unknown clients cannot flood the API server.
const REVIEWS: usize = 2;

/// How long a review that refused its token still counts as in flight.
const PAUSE: Duration = Duration::from_millis(100);

/// How long the API server may take for a review.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a verdict is cached: a revoked permission or token still works for that time.
const ALLOWED_FOR: Duration = Duration::from_secs(60);
const REFUSED_FOR: Duration = Duration::from_secs(10);

/// The maximum number of cached verdicts.
const MAX_VERDICTS: usize = 256;

/// Serves `/metrics` until it is dropped, which closes its connections.
pub(crate) async fn serve(listener: TcpListener, gate: Gate, metrics: Arc<Metrics>) -> Infallible {
    let acceptor = TlsAcceptor::from(Arc::new(self_signed()));
    let gate = Arc::new(gate);
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let (stream, permit) = tokio::select! {
            accepted = server::accept(&listener, &permits) => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let (acceptor, gate, metrics) = (acceptor.clone(), gate.clone(), metrics.clone());
        connections.spawn(async move {
            let _permit = permit;
            connection(stream, acceptor, gate, metrics).await;
        });
    }
}

async fn connection(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    gate: Arc<Gate>,
    metrics: Arc<Metrics>,
) {
    match handshake(&acceptor, stream).await {
        Ok(stream) => answer(stream, gate, metrics).await,
        Err(error) => debug!(%error, "the TLS handshake failed"),
    }
}

/// Answers the only request of a connection.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    gate: Arc<Gate>,
    metrics: Arc<Metrics>,
) {
    let service = service_fn(move |request: Request<_>| {
        let (gate, metrics) = (gate.clone(), metrics.clone());
        async move { Ok::<_, Infallible>(respond(&request, &gate, &metrics).await) }
    });
    let connection = server::http().serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        debug!(%error, "a connection failed");
    }
}

async fn respond<B>(request: &Request<B>, gate: &Gate, metrics: &Metrics) -> Response<Full<Bytes>> {
    let refusal = |code, text: &str| server::written((code, TEXT, text.to_owned()));
    if request.uri().path() != METRICS {
        return refusal(StatusCode::NOT_FOUND, "");
    }
    match gate.verdict(request.headers()).await {
        Ok(Verdict::Allowed) => server::respond(request.method(), server::metrics_page(metrics)),
        Ok(Verdict::Unknown) => {
            let mut response = refusal(StatusCode::UNAUTHORIZED, "a valid bearer token is needed");
            let scheme = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
            response
        }
        Ok(Verdict::Forbidden) => refusal(
            StatusCode::FORBIDDEN,
            "the user of the token has no permission to get /metrics",
        ),
        Err(error) => {
            warn!(%error, "cannot ask the API server who may read the metrics");
            refusal(
                StatusCode::SERVICE_UNAVAILABLE,
                "the API server does not review the token",
            )
        }
    }
}

/// Decides which tokens may read the metrics, and caches the verdicts.
pub(crate) struct Gate {
    client: Client,
    reviews: Semaphore,
    /// By the hash of the token.
    verdicts: Mutex<HashMap<[u8; SHA256_OUTPUT_LEN], (Verdict, Instant)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Allowed,
    /// The API server does not know the token.
    Unknown,
    /// The user may not get the page.
    Forbidden,
}

#[derive(Debug, thiserror::Error)]
enum ReviewError {
    #[error(transparent)]
    Request(#[from] kube::Error),
    #[error("it does not answer within {REVIEW_TIMEOUT:?}")]
    Timeout,
}

impl Gate {
    pub fn new(client: Client) -> Self {
        Self {
            client,
            reviews: Semaphore::new(REVIEWS),
            verdicts: Mutex::default(),
        }
    }

    /// The verdict about the token of a request: a cached one, or that of the API server.
    async fn verdict(&self, headers: &HeaderMap) -> Result<Verdict, ReviewError> {
        let Some(token) = bearer(headers) else {
            return Ok(Verdict::Unknown);
        };
        let mut hash = [0; SHA256_OUTPUT_LEN];
        hash.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        if let Some(verdict) = self.known(&hash) {
            return Ok(verdict);
        }
        let permit = self.reviews.acquire().await;
        let _permit = permit.expect("the semaphore is never closed");
        // another request with this token may have been reviewed meanwhile
        if let Some(verdict) = self.known(&hash) {
            return Ok(verdict);
        }
        let reviewed = timeout(REVIEW_TIMEOUT, self.review(token)).await;
        let verdict = reviewed.map_err(|_| ReviewError::Timeout)??;
        self.remember(hash, verdict);
        if verdict != Verdict::Allowed {
            sleep(PAUSE).await;
        }
        Ok(verdict)
    }

    fn known(&self, hash: &[u8; SHA256_OUTPUT_LEN]) -> Option<Verdict> {
        let verdicts = lock(&self.verdicts);
        let (verdict, end) = verdicts.get(hash)?;
        (Instant::now() < *end).then_some(*verdict)
    }

    /// Caches a verdict, and evicts others if there are too many.
    fn remember(&self, hash: [u8; SHA256_OUTPUT_LEN], verdict: Verdict) {
        let now = Instant::now();
        let age = match verdict {
            Verdict::Allowed => ALLOWED_FOR,
            Verdict::Unknown | Verdict::Forbidden => REFUSED_FOR,
        };
        let mut verdicts = lock(&self.verdicts);
        if verdicts.len() >= MAX_VERDICTS {
            verdicts.retain(|_, (_, end)| now < *end);
        }
        if verdicts.len() >= MAX_VERDICTS {
            // many unknown tokens must not evict those that are allowed
            verdicts.retain(|_, (verdict, _)| *verdict == Verdict::Allowed);
        }
        verdicts.insert(hash, (verdict, now + age));
    }

    /// Asks the API server who the user of the token is, and whether that user may get the page.
    async fn review(&self, token: &str) -> Result<Verdict, kube::Error> {
        let tokens: Api<TokenReview> = Api::all(self.client.clone());
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                audiences: None,
            },
            ..TokenReview::default()
        };
        let status = tokens.create(&PostParams::default(), &review).await?.status;
        let status = status.filter(|status| status.authenticated == Some(true));
        let Some(user) = status.and_then(|status| status.user) else {
            return Ok(Verdict::Unknown);
        };
        let accesses: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                groups: user.groups,
                uid: user.uid,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(METRICS.to_owned()),
                    verb: Some("get".to_owned()),
                }),
                resource_attributes: None,
            },
            ..SubjectAccessReview::default()
        };
        let status = accesses
            .create(&PostParams::default(), &review)
            .await?
            .status;
        Ok(if status.is_some_and(|status| status.allowed) {
            Verdict::Allowed
        } else {
            Verdict::Forbidden
        })
    }
}

/// The token of the header `Authorization`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("Bearer") && !token.is_empty()).then_some(token)
}

/// A TLS configuration with a self-signed certificate. It only encrypts: no client can verify the certificate.
fn self_signed() -> ServerConfig {
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
    let signed = signed.expect("a certificate for a valid name");
    let key = PrivateKeyDer::Pkcs8(signed.signing_key.serialize_der().into());
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has these versions")
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key);
    config.expect("the key of the certificate")
}

#[cfg(test)]
mod tests;
