//! The layer in the client: it numbers the requests, and injects faults into those that are due.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

use super::answer::{
    Answer, BoxError, error, garbled, late, refusal, reset, status, told, twice, until_cut,
    watched, whole,
};
use super::{Fault, Schedule};
use crate::record::Request;
use crate::server::Server;

/// How long the server takes no connections.
const AWAY: Duration = Duration::from_secs(3);

/// How long a request is held back.
const DELAY: Duration = Duration::from_secs(5);

/// How late what the server answers is; more than an operator waits for its first lists.
const LATE: Duration = Duration::from_secs(30);

/// How long requests of one kind fail.
const OUTAGE: Duration = Duration::from_secs(5);

/// The faults of a client, and what it asked.
#[derive(Clone)]
pub(crate) struct Faults(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Rises when all connections end.
    cut: watch::Sender<u32>,
    usurped: Notify,
    user: String,
    server: Server,
}

#[derive(Default)]
struct State {
    schedule: Schedule,
    asked: Vec<Request>,
    /// When something was last to be written, other than messages.
    worked: Option<Instant>,
    /// When the effect of the last fault ends or ended.
    befell: Option<Instant>,
    /// When the server is back.
    away: Option<Instant>,
    /// When the lease was lost.
    lost: Option<Instant>,
    /// What the server said when it first forbade something.
    forbidden: Option<String>,
    /// What fails, and until when.
    outage: Option<(Request, Instant)>,
    /// What somebody applies just before a request like this one, after so many others like it.
    edit: Option<(usize, Request, String)>,
}

impl Faults {
    /// Of the requests of a user to a server.
    pub fn new(schedule: Schedule, user: &str, server: &Server) -> Self {
        let state = State {
            schedule,
            ..State::default()
        };
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            cut: watch::Sender::new(0),
            usurped: Notify::new(),
            user: user.to_owned(),
            server: server.clone(),
        }))
    }

    /// What was asked so far, whether it got to the server or not.
    pub fn asked(&self) -> Vec<Request> {
        self.lock().asked.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has befallen no request yet.
    pub fn left(&self) -> Schedule {
        self.lock().schedule.clone()
    }

    /// Whether more was asked than any operator asks that does not turn in circles.
    pub fn is_exhausted(&self) -> bool {
        self.lock().asked.len() > MOST
    }

    /// When something was last written, other than messages.
    pub fn worked(&self) -> Option<Instant> {
        self.lock().worked
    }

    /// When the effect of the last fault on a request ends, which may be yet to come; what failed is tried again after that.
    pub fn befell(&self) -> Option<Instant> {
        self.lock().befell
    }

    /// How long it shows that another replica took the lease.
    pub fn usurped_until(&self) -> Option<Instant> {
        let lost = self.lock().lost;
        lost.map(|lost| lost + 3 * LEASE)
    }

    /// Waits until another replica has taken the lease.
    pub async fn usurped(&self) {
        self.0.usurped.notified().await;
    }

    /// What the server said when it first forbade something.
    pub fn forbidden(&self) -> Option<String> {
        self.lock().forbidden.clone()
    }

    fn next(&self, request: Request) -> Next {
        let mut state = self.lock();
        let number = state.asked.len();
        let now = Instant::now();
        if request.is_work() {
            state.worked = Some(now);
        }
        state.asked.push(request.clone());
        if number >= MOST {
            return Next::Silence;
        }
        if state.away.is_some_and(|back| now < back) {
            state.befell = state.befell.max(Some(now));
            return Next::Refusal;
        }
        if let Some((failing, end)) = &state.outage
            && now < *end
            && request.is_like(failing)
        {
            state.befell = state.befell.max(Some(now));
            return Next::Fault(Fault::ServerError);
        }
        // after an earlier fault the number may be that of another request: then it befalls the next that it can befall
        let mut due = state.schedule.0.range(..=number);
        let due = due.find(|(_, fault)| fault.befalls(&request));
        let Some((due, fault)) = due.map(|(due, fault)| (*due, *fault)) else {
            return Next::Server;
        };
        state.schedule.0.remove(&due);
        let end = match fault {
            Fault::Delay => now + DELAY,
            _ => now,
        };
        state.befell = state.befell.max(Some(end));
        match fault {
            Fault::Outage => state.outage = Some((request, now + OUTAGE)),
            Fault::Restart | Fault::Compact => {
                state.away = Some(now + AWAY);
                self.0.cut.send_modify(|cuts| *cuts += 1);
            }
            _ => {}
        }
        Next::Fault(fault)
    }

    /// Lets somebody apply this just before the operator makes a request like that, after `number` earlier ones of that object.
    pub fn edit_before(&self, number: usize, request: &Request, yaml: &str) {
        self.lock().edit = Some((number, request.clone(), yaml.to_owned()));
    }

    /// Whether the edit still waits for its request.
    pub fn awaits_edit(&self) -> bool {
        self.lock().edit.is_some()
    }

    /// What is to be applied before this request.
    fn edit_due(&self, request: &Request) -> Option<String> {
        let mut state = self.lock();
        let (left, write, _) = state.edit.as_mut()?;
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
        if *left > 0 {
            *left -= 1;
            return None;
        }
        state.edit.take().map(|(_, _, yaml)| yaml)
    }

    fn forget_history(&self) {
        if let Some(server) = self.0.server.service() {
            server.expire_watches();
        }
    }

    /// Another replica holds the lease of the operator, which is named after its account and lies beside it.
    async fn usurp(&self) -> Result<(), BoxError> {
        let account = self.0.user.strip_prefix("system:serviceaccount:");
        let (namespace, name) = account
            .and_then(|account| account.split_once(':'))
            .ok_or("only a service account has a lease")?;
        let spec = json!({"holderIdentity": "another", "leaseDurationSeconds": LEASE.as_secs()});
        let lease = lease(namespace, name, &spec);
        self.0.server.install(&lease.to_string()).await?;
        self.lock().lost = Some(Instant::now());
        self.0.usurped.notify_one();
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

/// How long the lease is another's that is never renewed.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// How many requests are answered. On a clock that leaps while nothing is done, whoever asks without end would stop it.
const MOST: usize = 5_000;

enum Next {
    Server,
    Fault(Fault),
    /// The server is away.
    Refusal,
    Silence,
}

impl<S> Layer<S> for Faults {
    type Service = Disturbed<S>;

    fn layer(&self, inner: S) -> Disturbed<S> {
        let faults = self.clone();
        Disturbed { inner, faults }
    }
}

/// A service behind [`Faults`].
#[derive(Clone)]
pub(crate) struct Disturbed<S> {
    inner: S,
    faults: Faults,
}

impl<S, B> Service<http::Request<Body>> for Disturbed<S>
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
        let noted = Request::of(&request);
        let is_watch = noted.verb == "watch";
        let edit = self.faults.edit_due(&noted);
        let next = self.faults.next(noted);
        // the one that is ready answers, and its copy takes its place
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
                    Next::Server => ask(server, request).await,
                    Next::Fault(fault) => befall(fault, server, request, &faults).await,
                    Next::Refusal => Err(error(std::io::ErrorKind::ConnectionRefused)),
                    Next::Silence => std::future::pending().await,
                }
            };
            let answer = tokio::select! {
                biased;
                answer = answer => answer?,
                _ = cut.changed() => return Err(reset()),
            };
            if answer.status() == StatusCode::FORBIDDEN {
                let (answer, message) = told(answer).await?;
                faults.lock().forbidden.get_or_insert(message);
                return Ok(answer);
            }
            Ok(match is_watch {
                true => answer.map(|body| until_cut(body, cut)),
                false => answer,
            })
        })
    }
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

async fn befall<S, B>(
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
            whole(ask(server, request).await?).await?;
            Ok(refusal(504, "Timeout", "the server did not answer in time"))
        }
        Fault::ResetBefore | Fault::Restart => Err(reset()),
        Fault::Compact => {
            faults.forget_history();
            Err(reset())
        }
        Fault::Usurp => {
            faults.usurp().await?;
            ask(server, request).await
        }
        Fault::ResetAfter => {
            whole(ask(server, request).await?).await?;
            Err(reset())
        }
        Fault::Delay => {
            sleep(DELAY).await;
            ask(server, request).await
        }
        Fault::Duplicate => {
            let (first, second) = twice(request);
            whole(ask(server.clone(), first).await?).await?;
            ask(server, second).await
        }
        Fault::Cut => Ok(watched(vec![])),
        Fault::Torn => Ok(watched(vec![Err(reset())])),
        Fault::Stall => {
            let silence = stream::pending::<Result<Frame<Bytes>, BoxError>>();
            Ok(Response::new(StreamBody::new(silence).boxed_unsync()))
        }
        Fault::Hush => {
            let (parts, body) = ask(server, request).await?.into_parts();
            let first = BodyStream::new(body).take(1);
            let body = StreamBody::new(first.chain(stream::pending()));
            Ok(Response::from_parts(parts, body.boxed_unsync()))
        }
        Fault::Late => Ok(ask(server, request).await?.map(|body| late(body, LATE))),
        Fault::Garble => {
            let (parts, body) = ask(server, request).await?.into_parts();
            let frames = BodyStream::new(body).map(|frame| Ok(frame?.map_data(garbled)));
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
    fn a_fault_befalls_what_it_can_befall() {
        let faults = Faults::new(
            Schedule([(0, Fault::Cut), (1, Fault::Conflict)].into()),
            "",
            &Server::in_memory(),
        );
        let befallen = |method: &str, uri: &str| {
            let request = http::Request::builder().method(method).uri(uri);
            match faults.next(Request::of(&request.body(()).unwrap())) {
                Next::Fault(fault) => Some(fault),
                _ => None,
            }
        };
        let (object, all) = (
            "/api/v1/namespaces/a/secrets/b",
            "/api/v1/secrets?watch=true",
        );
        assert_eq!(befallen("GET", object), None);
        assert_eq!(befallen("GET", object), None, "no conflict either");
        assert_eq!(befallen("PATCH", object), Some(Fault::Conflict));
        assert_eq!(befallen("GET", all), Some(Fault::Cut));
        assert_eq!(befallen("GET", all), None, "once");
        assert_eq!(faults.left(), Schedule::default());
    }
}
