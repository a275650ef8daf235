//! The service in front of the operator's webhooks, which numbers the calls and injects the faults of a schedule.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt};

use super::WebhookFault;
use crate::lock;
use crate::schedule::Schedule;

type Webhook = BoxCloneSyncService<Request<Bytes>, Response<Bytes>, String>;

// the errors of Go's HTTP client, as the API server reports them
const REFUSED: &str = "dial tcp 10.96.0.10:443: connect: connection refused";

const EXPIRED: &str = "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-03-02T09:00:00Z is after 2026-03-01T09:00:00Z";

/// Injects faults into the calls of webhooks; one for each run of a trial, shared by its clones.
#[derive(Clone, Debug)]
pub(crate) struct WebhookFaults(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The paths of the webhooks whose failures the API server ignores.
    ignored: BTreeSet<String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The faults that have not begun.
    schedule: Schedule<WebhookFault>,
    calls: Vec<String>,
    /// The fault of all calls until a time, and how many had it.
    lasting: Option<(WebhookFault, Instant, usize)>,
    /// When the effect of the last fault ends.
    faults_end: Option<Instant>,
    /// The calls whose failures were ignored, with what the webhook would have changed or refused.
    missed: BTreeSet<String>,
}

impl WebhookFaults {
    pub fn new(schedule: Schedule<WebhookFault>, ignored: BTreeSet<String>) -> Self {
        let state = State {
            schedule,
            ..State::default()
        };
        Self(Arc::new(Shared {
            ignored,
            state: Mutex::new(state),
        }))
    }

    /// The calls so far, such as `/validate: CREATE Widget default/a`.
    pub fn calls(&self) -> Vec<String> {
        self.state().calls.clone()
    }

    /// The faults that have not begun, because there were not enough calls.
    pub fn remaining(&self) -> Schedule<WebhookFault> {
        self.state().schedule.clone()
    }

    /// When the effect of the last fault ends; failed requests are repeated after that.
    pub fn faults_end(&self) -> Option<Instant> {
        self.state().faults_end
    }

    /// The calls whose failures were ignored, with what the webhook would have changed or refused.
    pub fn missed(&self) -> BTreeSet<String> {
        self.state().missed.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }

    /// The service with faults in front of it.
    pub fn wrap<S>(
        &self,
        service: S,
    ) -> impl Service<Request<Bytes>, Response = Response<Bytes>, Error = String, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
    where
        S: Service<Request<Bytes>, Response = Response<Bytes>> + Clone + Send + Sync + 'static,
        S::Future: Send,
        S::Error: std::fmt::Display,
    {
        let service = service.map_err(|error: S::Error| error.to_string());
        let webhook = Webhook::new(service);
        let faults = self.clone();
        tower::service_fn(move |request| {
            let (faults, webhook) = (faults.clone(), webhook.clone());
            async move { faults.call(webhook, request).await }
        })
    }

    async fn call(
        &self,
        webhook: Webhook,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, String> {
        // only the API server sends a User-Agent; without it, this is the trial that asks whether the webhook is served
        if !request.headers().contains_key(header::USER_AGENT) {
            return webhook.oneshot(request).await;
        }
        let review: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let timeout = timeout(&request);
        let called = described(request.uri().path(), &review);
        let Some((fault, number)) = self.begin(&called, timeout) else {
            return webhook.oneshot(request).await;
        };
        if self.0.ignored.contains(request.uri().path()) {
            self.record_missed(&called, webhook.clone().oneshot(request.clone()).await);
        }
        match fault {
            WebhookFault::Down => Err(REFUSED.into()),
            WebhookFault::Expired => Err(EXPIRED.into()),
            WebhookFault::Slow => {
                sleep(timeout + Duration::from_secs(1)).await;
                webhook.oneshot(request).await
            }
            WebhookFault::Garbage => garbage(number, webhook, request).await,
            WebhookFault::Replaced => {
                webhook.oneshot(request).await?;
                Err("EOF".into())
            }
        }
    }

    /// Counts a call. Returns its fault, and how many calls had it before.
    fn begin(&self, called: &str, timeout: Duration) -> Option<(WebhookFault, usize)> {
        let mut state = self.state();
        let (number, now) = (state.calls.len(), Instant::now());
        state.calls.push(called.to_owned());
        if let Some((fault, end, count)) = &mut state.lasting
            && now < *end
        {
            let injected = (*fault, *count);
            *count += 1;
            state.faults_end = state.faults_end.max(Some(now + timeout));
            return Some(injected);
        }
        // the call with the number of this fault may have had an earlier one: then it begins with the next call
        let due = *state.schedule.0.range(..=number).next()?.0;
        let fault = state.schedule.0.remove(&due)?;
        let end = now + fault.duration();
        state.lasting = Some((fault, end, 1));
        state.faults_end = state.faults_end.max(Some(end.max(now + timeout)));
        Some((fault, 0))
    }

    /// Records what a webhook would have changed or refused.
    fn record_missed(&self, called: &str, answer: Result<Response<Bytes>, String>) {
        let answer = answer
            .ok()
            .and_then(|it| serde_json::from_slice::<Value>(it.body()).ok());
        let response = &answer.unwrap_or_default()["response"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let effect = match (response["allowed"].as_bool(), text(&response["patch"])) {
            (Some(false), _) => {
                let message = text(&response["status"]["message"]);
                format!("refused the request: {message}")
            }
            (Some(true), patch) if !patch.is_empty() => "changed the object".to_owned(),
            _ => return,
        };
        self.state()
            .missed
            .insert(format!("{called}, would have {effect}"));
    }
}

/// The timeout of a call, which the API server adds to the URL, such as `?timeout=10s`.
fn timeout(request: &Request<Bytes>) -> Duration {
    let seconds = request
        .uri()
        .query()
        .unwrap_or_default()
        .strip_prefix("timeout=")
        .and_then(|rest| rest.strip_suffix('s'))
        .and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(30))
}

/// Describes a call, such as `/validate: CREATE Widget default/a`.
fn described(path: &str, review: &Value) -> String {
    let request = &review["request"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if review["kind"] == "ConversionReview" {
        let objects: Vec<String> = request["objects"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|object| {
                let metadata = &object["metadata"];
                let name = named(&text(&metadata["namespace"]), &text(&metadata["name"]));
                format!("{} {name}", text(&object["kind"]))
            })
            .collect();
        let version = text(&request["desiredAPIVersion"]);
        return format!("{path}: convert {} to {version}", objects.join(", "));
    }
    let mut kind = text(&request["kind"]["kind"]);
    let subresource = text(&request["subResource"]);
    if !subresource.is_empty() {
        kind = format!("{kind}/{subresource}");
    }
    let name = named(&text(&request["namespace"]), &text(&request["name"]));
    format!("{path}: {} {kind} {name}", text(&request["operation"]))
}

fn named(namespace: &str, name: &str) -> String {
    match namespace {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}

/// An answer that no API server accepts.
async fn garbage(
    number: usize,
    webhook: Webhook,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, String> {
    let body = match number % 4 {
        0 => "<html>Bad Gateway</html>".into(),
        1 => json!({"kind": "PodList", "apiVersion": "v1", "items": []}).to_string(),
        2 => {
            let (mut parts, body) = webhook.oneshot(request).await?.into_parts();
            let mut review: Value = serde_json::from_slice(&body).unwrap_or_default();
            review["response"]["uid"] = "00000000-0000-0000-0000-000000000000".into();
            parts.headers.remove(header::CONTENT_LENGTH);
            return Ok(Response::from_parts(parts, review.to_string().into()));
        }
        _ => {
            let mut response = Response::new("out of memory".into());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            return Ok(response);
        }
    };
    Ok(Response::new(body.into()))
}
