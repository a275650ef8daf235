//! Answers HTTP requests: finds the webhook of the path, and gives it the review within limits of size and time. If anything
//! fails, the request is refused, or answered with an HTTP error, after which the API server applies the webhook's failure policy.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use futures::FutureExt;
use http::{
    HeaderValue, Method, Response, StatusCode,
    header::{ALLOW, CONTENT_TYPE},
    request::Parts,
};
use serde_json::Value;
use tokio::time::{Instant, timeout};
use tracing::{Instrument, debug, error, info_span};

use super::{
    admission::{self, Answer, Endpoint},
    convert::{self, Conversion},
    registry::{Served, Webhooks},
};
use crate::{
    error::panic_message,
    metrics::{Metrics, WebhookMetrics},
};

/// The path of the conversions.
pub(super) const CONVERT: &str = "/convert";

/// The maximum size of a review, in bytes: a request has at most 3 MiB, of which Go escapes each `<`, `>` and `&` with six bytes. The rest
/// is for the old object.
pub(super) const MAX_BODY: usize = 20 << 20;

/// The longest time that the API server waits for a webhook.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// How much longer a webhook may take than the API server waits: the API server times out first, so that its failure policy decides.
const GRACE: Duration = Duration::from_millis(100);

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

type Endpoints = HashMap<String, Arc<dyn Endpoint>>;

/// The webhooks of an operator, by path.
pub(super) struct Router {
    metrics: HashMap<String, WebhookMetrics>,
    /// Not set before all webhooks are set up.
    endpoints: OnceLock<Endpoints>,
    conversions: Vec<Conversion>,
}

impl Router {
    /// A router that only converts, until it is [opened](Self::open).
    pub fn new(webhooks: &mut Webhooks, metrics: &Metrics) -> Self {
        let convert = webhooks.crds().next().map(|_| CONVERT.to_owned());
        let metrics = webhooks.paths().cloned().chain(convert).map(|path| {
            let metrics = metrics.webhooks.of_webhook(&path);
            (path, metrics)
        });
        Self {
            metrics: metrics.collect(),
            endpoints: OnceLock::new(),
            conversions: std::mem::take(&mut webhooks.conversions),
        }
    }

    /// Serves the admission webhooks from now on.
    pub fn open(&self, endpoints: Served) {
        self.endpoints
            .get_or_init(|| endpoints.into_iter().collect());
    }

    /// Answers a request. The body is only read if it may be a review; if it cannot be read, it returns the response.
    pub async fn respond(
        &self,
        parts: Parts,
        body: impl Future<Output = Result<Bytes, Response<Bytes>>>,
    ) -> Response<Bytes> {
        let Some((path, metrics)) = self.registered(parts.uri.path()) else {
            return text(StatusCode::NOT_FOUND, "no webhook has this path");
        };
        let in_flight = metrics.begin();
        let started = Instant::now();
        let response = self.dispatch(path, &parts, body, metrics).await;
        in_flight.answered(response.status(), started.elapsed());
        response
    }

    /// The registered path of a request. Those of controller-runtime and of earlier versions of the tool also have the version of the
    /// kind, such as `/mutate--v1-pod`: a configuration with such a path may be installed while this operator is rolled out.
    fn registered(&self, path: &str) -> Option<(&String, &WebhookMetrics)> {
        let without_version = || {
            let (rest, kind) = path.rsplit_once('-')?;
            let (rest, _version) = rest.rsplit_once('-')?;
            self.metrics.get_key_value(&format!("{rest}-{kind}"))
        };
        self.metrics.get_key_value(path).or_else(without_version)
    }

    /// Checks the method, the content type and the size of a request, and gives it to the webhook of its path.
    async fn dispatch(
        &self,
        path: &str,
        parts: &Parts,
        body: impl Future<Output = Result<Bytes, Response<Bytes>>>,
        metrics: &WebhookMetrics,
    ) -> Response<Bytes> {
        if parts.method != Method::POST {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "a review is posted");
            let allowed = HeaderValue::from_static("POST");
            response.headers_mut().insert(ALLOW, allowed);
            return response;
        }
        let media = parts.headers.get(CONTENT_TYPE);
        let media = media.and_then(|it| it.to_str().ok()).unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim();
        if !media.eq_ignore_ascii_case(JSON) {
            let message = format!("expected the content type {JSON}, got {media:?}");
            return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        }
        let body = match body.await {
            Ok(body) if body.len() > MAX_BODY => return too_large(),
            Ok(body) => body,
            Err(response) => return response,
        };
        let limit = limit(parts.uri.query().unwrap_or_default());
        if path == CONVERT {
            return self.convert(&body, limit, metrics).await;
        }
        let Some(endpoints) = self.endpoints.get() else {
            return text(StatusCode::SERVICE_UNAVAILABLE, "the webhooks are starting");
        };
        match endpoints.get(path) {
            Some(endpoint) => self.admit(path, &**endpoint, &body, limit, metrics).await,
            None => text(StatusCode::NOT_FOUND, "no webhook has this path"),
        }
    }

    async fn convert(
        &self,
        body: &[u8],
        limit: Duration,
        metrics: &WebhookMetrics,
    ) -> Response<Bytes> {
        let request = match convert::Request::read(body) {
            Ok(request) => request,
            Err(error) => return text(StatusCode::BAD_REQUEST, error.to_string()),
        };
        let convert::Request {
            uid,
            desired,
            objects,
        } = &request;
        let span = info_span!("convert", uid, to = desired, objects = objects.len());
        let converted = guarded(request.answer(&self.conversions), limit, metrics);
        let review = converted.instrument(span).await;
        let review = review.unwrap_or_else(|failure| Err(failure.message()));
        json(&review.unwrap_or_else(|message| {
            metrics.failures.inc();
            request.failure(&message)
        }))
    }

    async fn admit(
        &self,
        path: &str,
        endpoint: &dyn Endpoint,
        body: &[u8],
        limit: Duration,
        metrics: &WebhookMetrics,
    ) -> Response<Bytes> {
        let request = match admission::Request::read(body) {
            Ok(request) => request,
            Err(error) => return text(StatusCode::BAD_REQUEST, error.to_string()),
        };
        let uid = request.uid.clone();
        if request.is_update_during_deletion() {
            // The match conditions of the generated configurations exclude such a request, but not every installation can have them.
            return json(&Answer::default().to_review(&uid));
        }
        let span = info_span!(
            "webhook",
            path,
            uid,
            kind = request.kind.kind,
            operation = request.operation.as_str(),
            namespace = request.namespace,
            name = request.name,
        );
        let answered = async {
            let answer = admission::answer(endpoint, request, &self.conversions);
            let answer = guarded(answer, limit, metrics).await;
            let answer = answer.unwrap_or_else(|failure| failure.refusal());
            if answer.is_failure() {
                metrics.failures.inc();
            }
            debug!(allowed = answer.refusal.is_none(), "answered");
            answer
        };
        json(&answered.instrument(span).await.to_review(&uid))
    }
}

/// Why a webhook has no answer of its own.
enum NoAnswer {
    Panicked(String),
    TimedOut(Duration),
}

impl NoAnswer {
    fn message(&self) -> String {
        match self {
            Self::Panicked(message) => format!("the webhook panicked: {message}"),
            Self::TimedOut(limit) => format!("the webhook did not answer within {limit:?}"),
        }
    }

    fn refusal(&self) -> Answer {
        match self {
            Self::Panicked(_) => Answer::refuse(500, "InternalError", &self.message()),
            Self::TimedOut(_) => Answer::refuse(504, "Timeout", &self.message()),
        }
    }
}

/// Waits for the answer of a webhook, unless it panics or takes too long.
async fn guarded<T>(
    answer: impl Future<Output = T>,
    limit: Duration,
    metrics: &WebhookMetrics,
) -> Result<T, NoAnswer> {
    let answered = timeout(limit + GRACE, AssertUnwindSafe(answer).catch_unwind()).await;
    let failure = match answered {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(panic)) => {
            metrics.panics.inc();
            NoAnswer::Panicked(panic_message(&*panic).to_owned())
        }
        Err(_) => NoAnswer::TimedOut(limit),
    };
    error!("{}", failure.message());
    Err(failure)
}

/// The time that the API server waits, from the query of its URL, for example `timeout=10s`.
fn limit(query: &str) -> Duration {
    let limit = query
        .split('&')
        .find_map(|it| it.strip_prefix("timeout="))
        .and_then(duration)
        .unwrap_or(MAX_TIMEOUT);
    limit.min(MAX_TIMEOUT)
}

/// Parses a duration as Go writes it, for example `10s`, `1m30s` or `500ms`.
fn duration(mut text: &str) -> Option<Duration> {
    let mut duration = Duration::ZERO;
    while !text.is_empty() {
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = text[..digits].parse().ok()?;
        let unit = text[digits..].find(|c: char| c.is_ascii_digit());
        let unit = unit.map_or(text.len(), |unit| digits + unit);
        let seconds = match &text[digits..unit] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            _ => return None,
        };
        duration = duration.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        text = &text[unit..];
    }
    (!duration.is_zero()).then_some(duration)
}

/// The response to a body over the limit.
pub(super) fn too_large() -> Response<Bytes> {
    let message = format!("a review has at most {MAX_BODY} bytes");
    text(StatusCode::PAYLOAD_TOO_LARGE, message)
}

fn json(value: &Value) -> Response<Bytes> {
    response(StatusCode::OK, JSON, value.to_string())
}

pub(super) fn text(code: StatusCode, message: impl Into<String>) -> Response<Bytes> {
    response(code, TEXT, message.into())
}

fn response(code: StatusCode, media: &'static str, body: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_that_of_the_url_and_at_most_the_api_servers() {
        for (query, millis) in [
            ("", 30_000),
            ("timeout=10s", 10_000),
            ("a=b&timeout=1s", 1_000),
            ("timeout=1m30s", 30_000),
            ("timeout=1.5s", 1_500),
            ("timeout=250ms", 250),
            ("timeout=10", 30_000),
            ("timeout=s", 30_000),
            ("timeout=0s", 30_000),
            ("timeout=-1s", 30_000),
            ("timeout=99999999999999999999999h", 30_000),
        ] {
            assert_eq!(limit(query), Duration::from_millis(millis), "{query}");
        }
    }
}
