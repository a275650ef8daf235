//! The layer in the client that numbers the requests and injects the faults of a schedule.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, BodyStream, StreamBody};
use kube::client::Body;
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};
use tower::{Layer, Service};

use super::Fault;
use super::answer::{
    Answer, BoxError, drain, duplicate, error, late, refusal, reset, status, undecodable,
    until_cut, watched, with_message,
};
use crate::schedule::Schedule;
use crate::{Request, Server, lock};

/// How long the server refuses connections while it restarts.
const RESTART_TIME: Duration = Duration::from_secs(3);

/// How long a request is delayed.
const DELAY: Duration = Duration::from_secs(5);

/// How late a response arrives; longer than an operator waits for its first lists.
const LATE: Duration = Duration::from_secs(30);

/// How long an outage of similar requests lasts.
const OUTAGE: Duration = Duration::from_secs(5);

/// The faults of a client, and the requests that it made.
#[derive(Clone)]
pub(crate) struct Faults(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Incremented to end all connections.
    cut: watch::Sender<u32>,
    lease_taken: Notify,
    user: String,
    server: Server,
}

#[derive(Default)]
struct State {
    schedule: Schedule<Fault>,
    requests: Vec<Request>,
    /// When the operator last tried to write something other than events and leases.
    last_write: Option<Instant>,
    /// When the effect of the last fault ends.
    faults_end: Option<Instant>,
    /// When the server has restarted.
    restarting_until: Option<Instant>,
    /// When another replica took the lease.
    lease_lost: Option<Instant>,
    /// The server's message for the first forbidden request.
    forbidden: Option<String>,
    /// The requests that failed because of a webhook, with the server's message.
    webhook_failures: Vec<(Request, String)>,
    /// Requests that are like this one fail until this time.
    outage: Option<(Request, Instant)>,
    refusal: Option<Refusal>,
    /// The number of writes of an object to let pass, a write of that object, and the YAML to apply just before the next one.
    edit: Option<(usize, Request, String)>,
}

/// Writes of an object that fail.
struct Refusal {
    /// The group, plural, namespace and name of the object.
    path: [String; 4],
    fault: Fault,
    remaining: usize,
    failed: usize,
}

impl Faults {
    /// Injects faults into the requests of a user.
    pub fn new(schedule: Schedule<Fault>, user: &str, server: &Server) -> Self {
        let state = State {
            schedule,
            ..State::default()
        };
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            cut: watch::Sender::new(0),
            lease_taken: Notify::new(),
            user: user.to_owned(),
            server: server.clone(),
        }))
    }

    /// The requests so far, whether they reached the server or not.
    pub fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }

    /// The faults that have not applied to a request yet.
    pub fn remaining(&self) -> Schedule<Fault> {
        self.lock().schedule.clone()
    }

    /// Whether there were more requests than any operator makes without an endless loop.
    pub fn exceeds_request_limit(&self) -> bool {
        self.lock().requests.len() > MAX_REQUESTS
    }

    /// When the operator last tried to write something other than events and leases.
    pub fn last_write(&self) -> Option<Instant> {
        self.lock().last_write
    }

    /// When the effect of the last fault ends, which may be in the future; failed requests are retried after that.
    pub fn faults_end(&self) -> Option<Instant> {
        self.lock().faults_end
    }

    /// The time until which the loss of the lease can have an effect.
    pub fn lease_loss_until(&self) -> Option<Instant> {
        let lease_lost = self.lock().lease_lost;
        lease_lost.map(|lease_lost| lease_lost + 3 * LEASE)
    }

    /// Waits until another replica has taken the lease.
    pub async fn lease_taken(&self) {
        self.0.lease_taken.notified().await;
    }

    /// The server's message for the first forbidden request.
    pub fn forbidden(&self) -> Option<String> {
        self.lock().forbidden.clone()
    }

    /// The requests that failed because of a webhook, with the server's message.
    pub fn webhook_failures(&self) -> Vec<(Request, String)> {
        self.lock().webhook_failures.clone()
    }

    /// Records a request, and decides what happens to it.
    fn decide(&self, request: Request) -> Decision {
        let mut state = self.lock();
        let number = state.requests.len();
        let now = Instant::now();
        if request.is_work() {
            state.last_write = Some(now);
        }
        state.requests.push(request.clone());
        if number >= MAX_REQUESTS {
            return Decision::Silence;
        }
        if state.restarting_until.is_some_and(|back| now < back) {
            state.faults_end = state.faults_end.max(Some(now));
            return Decision::Refusal;
        }
        if let Some((failing, end)) = &state.outage
            && now < *end
            && request.is_like(failing)
        {
            state.faults_end = state.faults_end.max(Some(now));
            return Decision::Fault(Fault::ServerError);
        }
        if let Some(refusal) = &mut state.refusal
            && refusal.remaining > 0
            && is_write_of(&request, &refusal.path)
        {
            refusal.remaining -= 1;
            refusal.failed += 1;
            return Decision::Fault(refusal.fault);
        }
        // after an earlier fault, another request may have the number: then the fault is injected into the next one to which it applies
        let mut due = state.schedule.0.range(..=number);
        let due = due.find(|(_, fault)| fault.applies_to(&request));
        let Some((due, fault)) = due.map(|(due, fault)| (*due, *fault)) else {
            return Decision::Server;
        };
        state.schedule.0.remove(&due);
        let end = match fault {
            Fault::Delay => now + DELAY,
            _ => now,
        };
        state.faults_end = state.faults_end.max(Some(end));
        match fault {
            Fault::Outage => state.outage = Some((request, now + OUTAGE)),
            Fault::Restart | Fault::Compact => {
                state.restarting_until = Some(now + RESTART_TIME);
                self.0.cut.send_modify(|cuts| *cuts += 1);
            }
            _ => {}
        }
        Decision::Fault(fault)
    }

    /// Injects a fault into the next writes of the object with this group, plural, namespace and name, until
    /// [`accept_writes`](Self::accept_writes).
    pub fn refuse_writes(&self, path: [String; 4], fault: Fault, most: usize) {
        self.lock().refusal = Some(Refusal {
            path,
            fault,
            remaining: most,
            failed: 0,
        });
    }

    /// Ends [`refuse_writes`](Self::refuse_writes), and returns how many writes have failed.
    pub fn accept_writes(&self) -> usize {
        let refusal = self.lock().refusal.take();
        refusal.map_or(0, |it| it.failed)
    }

    /// Applies `yaml` just before the operator writes the object (or subresource) of `request`, with any verb, after `number` earlier
    /// writes of it.
    pub fn edit_before(&self, number: usize, request: &Request, yaml: &str) {
        self.lock().edit = Some((number, request.clone(), yaml.to_owned()));
    }

    /// Whether the edit has not been applied yet.
    pub fn awaits_edit(&self) -> bool {
        self.lock().edit.is_some()
    }

    /// Takes the edit to apply before this request.
    fn take_edit(&self, request: &Request) -> Option<String> {
        let mut state = self.lock();
        let (remaining, write, _) = state.edit.as_mut()?;
        let is_same_object = (
            &write.group,
            &write.resource,
            &write.subresource,
            &write.name,
        ) == (
            &request.group,
            &request.resource,
            &request.subresource,
            &request.name,
        );
        if !is_same_object || !request.is_work() {
            return None;
        }
        if *remaining > 0 {
            *remaining -= 1;
            return None;
        }
        state.edit.take().map(|(_, _, yaml)| yaml)
    }

    fn compact(&self) {
        if let Some(server) = self.0.server.service() {
            server.expire_watches();
        }
    }

    /// Gives the lease of the operator to another replica. The lease has the name and the namespace of the operator's account.
    async fn take_lease(&self) -> Result<(), BoxError> {
        let account = self.0.user.strip_prefix("system:serviceaccount:");
        let (namespace, name) = account
            .and_then(|account| account.split_once(':'))
            .ok_or("only a service account has a lease")?;
        let spec = json!({"holderIdentity": "another", "leaseDurationSeconds": LEASE.as_secs()});
        let lease = lease(namespace, name, &spec);
        self.0.server.install(&lease.to_string()).await?;
        self.lock().lease_lost = Some(Instant::now());
        self.0.lease_taken.notify_one();
        Ok(())
    }
}

pub(crate) fn lease(namespace: &str, name: &str, spec: &serde_json::Value) -> serde_json::Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": namespace, "name": name},
        "spec": spec,
    })
}

/// The duration of the lease of the other replica, which never renews it.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// How many requests are answered. On a paused clock, which advances only when all tasks are idle, an endless loop of requests would stop
/// the time.
const MAX_REQUESTS: usize = 5_000;

/// Whether a request writes the object; a creation has no name.
fn is_write_of(request: &Request, [group, plural, namespace, name]: &[String; 4]) -> bool {
    request.is_write()
        && (&request.group, &request.resource, &request.namespace) == (group, plural, namespace)
        && (request.name.is_empty() || request.name == *name)
}

enum Decision {
    Server,
    Fault(Fault),
    /// The server is restarting.
    Refusal,
    /// There were too many requests: this one is never answered.
    Silence,
}

impl<S> Layer<S> for Faults {
    type Service = FaultService<S>;

    fn layer(&self, inner: S) -> FaultService<S> {
        let faults = self.clone();
        FaultService { inner, faults }
    }
}

/// A service behind [`Faults`].
#[derive(Clone)]
pub(crate) struct FaultService<S> {
    inner: S,
    faults: Faults,
}

impl<S, B> Service<http::Request<Body>> for FaultService<S>
where
    S: Service<http::Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Answer;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let recorded = Request::of(&request);
        let is_watch = recorded.verb == "watch";
        let edit = self.faults.take_edit(&recorded);
        let next = self.faults.decide(recorded.clone());
        // the service that is ready handles the request, and its clone replaces it
        let copy = self.inner.clone();
        let server = std::mem::replace(&mut self.inner, copy);
        let faults = self.faults.clone();
        let mut cut = faults.0.cut.subscribe();
        Box::pin(async move {
            let answer = async {
                if let Some(yaml) = edit {
                    faults.0.server.install(&yaml).await?;
                }
                match next {
                    Decision::Server => ask(server, request).await,
                    Decision::Fault(fault) => inject(fault, server, request, &faults).await,
                    Decision::Refusal => Err(error(std::io::ErrorKind::ConnectionRefused)),
                    Decision::Silence => std::future::pending().await,
                }
            };
            let answer = tokio::select! {
                biased;
                answer = answer => answer?,
                _ = cut.changed() => return Err(reset()),
            };
            if answer.status() == StatusCode::FORBIDDEN {
                let (answer, mut message) = with_message(answer).await?;
                // otherwise, admission refuses the request, or the namespace is being deleted
                if message.contains(" cannot ") {
                    message = format!("{message}\nhelp: {}", recorded.permission());
                }
                faults.lock().forbidden.get_or_insert(message);
                return Ok(answer);
            }
            if answer.status() == StatusCode::INTERNAL_SERVER_ERROR {
                let (answer, message) = with_message(answer).await?;
                if is_webhook_failure(&message) {
                    faults.lock().webhook_failures.push((recorded, message));
                }
                return Ok(answer);
            }
            Ok(if is_watch {
                answer.map(|body| until_cut(body, cut))
            } else {
                answer
            })
        })
    }
}

/// Whether a request failed with this message because of a webhook, and may succeed later.
pub(crate) fn is_webhook_failure(message: &str) -> bool {
    message.contains("failed calling webhook") || message.contains("conversion webhook for")
}

async fn ask<S, B>(mut server: S, request: http::Request<Body>) -> Result<Answer, BoxError>
where
    S: Service<http::Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let answer = server.call(request).await.map_err(Into::into)?;
    Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
}

/// Sends a request with a fault, or answers it instead of the server.
async fn inject<S, B>(
    fault: Fault,
    server: S,
    request: http::Request<Body>,
    faults: &Faults,
) -> Result<Answer, BoxError>
where
    S: Service<http::Request<Body>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    match fault {
        Fault::TooManyRequests => Ok(refusal(429, "TooManyRequests", "the server is busy")),
        Fault::Conflict => Ok(refusal(409, "Conflict", "the object has been modified")),
        Fault::ServerError | Fault::Outage => {
            Ok(refusal(500, "InternalError", "the server has failed"))
        }
        Fault::TimeoutAfter => {
            drain(ask(server, request).await?).await?;
            Ok(refusal(504, "Timeout", "the server did not answer in time"))
        }
        Fault::ResetBefore | Fault::Restart => Err(reset()),
        Fault::Compact => {
            faults.compact();
            Err(reset())
        }
        Fault::LoseLease => {
            faults.take_lease().await?;
            ask(server, request).await
        }
        Fault::ResetAfter => {
            drain(ask(server, request).await?).await?;
            Err(reset())
        }
        Fault::Delay => {
            sleep(DELAY).await;
            ask(server, request).await
        }
        Fault::Duplicate => {
            let (first, second) = duplicate(request);
            drain(ask(server.clone(), first).await?).await?;
            ask(server, second).await
        }
        Fault::Cut => Ok(watched(vec![])),
        Fault::ResetWatch => Ok(watched(vec![Err(reset())])),
        Fault::Stall => {
            let silence = stream::pending::<Result<Frame<Bytes>, BoxError>>();
            Ok(Response::new(StreamBody::new(silence).boxed_unsync()))
        }
        Fault::StallAfterFirst => {
            let (parts, body) = ask(server, request).await?.into_parts();
            let first = BodyStream::new(body).take(1);
            let body = StreamBody::new(first.chain(stream::pending()));
            Ok(Response::from_parts(parts, body.boxed_unsync()))
        }
        Fault::Late => Ok(ask(server, request).await?.map(|body| late(body, LATE))),
        Fault::Undecodable => {
            let (parts, body) = ask(server, request).await?.into_parts();
            let frames = BodyStream::new(body).map(|frame| Ok(frame?.map_data(undecodable)));
            Ok(Response::from_parts(
                parts,
                StreamBody::new(frames).boxed_unsync(),
            ))
        }
        Fault::Expire => {
            let status = status(410, "Expired", "the version is too old");
            let line = format!("{}\n", json!({"type": "ERROR", "object": status}));
            Ok(watched(vec![Ok(Frame::data(line.into()))]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_injected_into_the_next_request_it_applies_to() {
        let faults = Faults::new(
            Schedule([(0, Fault::Cut), (1, Fault::Conflict)].into()),
            "",
            &Server::in_memory(),
        );
        let injected = |method: &str, uri: &str| {
            let request = http::Request::builder().method(method).uri(uri);
            match faults.decide(Request::of(&request.body(()).unwrap())) {
                Decision::Fault(fault) => Some(fault),
                _ => None,
            }
        };
        let (object, all) = (
            "/api/v1/namespaces/a/secrets/b",
            "/api/v1/secrets?watch=true",
        );
        assert_eq!(injected("GET", object), None);
        assert_eq!(injected("GET", object), None, "no conflict either");
        assert_eq!(injected("PATCH", object), Some(Fault::Conflict));
        assert_eq!(injected("GET", all), Some(Fault::Cut));
        assert_eq!(injected("GET", all), None, "once");
        assert_eq!(faults.remaining(), Schedule::default());
    }
}
