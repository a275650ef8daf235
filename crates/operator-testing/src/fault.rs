//! What can befall a request between an operator and the API server, as a layer in the operator's client.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Response, StatusCode, header};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use kube::client::Body;
use serde_json::json;
use tower::{Layer, Service};

use crate::record::Request;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// What befalls one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// `429 Too Many Requests` with a `Retry-After` of a second; the server does not see the request.
    TooManyRequests,
    /// `409 Conflict`; the server does not see the request.
    Conflict,
    /// `500 Internal Server Error`; the server does not see the request.
    ServerError,
    /// `504 Gateway Timeout` after the server has done what was asked.
    TimeoutAfter,
    /// The connection ends before the request has got to the server.
    ResetBefore,
    /// The connection ends after the server has done what was asked, and before its answer.
    ResetAfter,
    /// The request gets to the server five seconds later, after others that were made after it.
    Delay,
    /// The server gets the request twice; its second answer is the client's.
    Duplicate,
    /// The watch ends before its first event, as when a server goes away in good order.
    Cut,
    /// The connection of the watch ends before its first event.
    Torn,
    /// The watch stays open, and no event comes.
    Stall,
    /// The watch stays open, and no event comes after the first.
    Hush,
    /// The watch tells that its version has expired (`410 Gone`).
    Expire,
}

const ALL: [(Fault, &str); 13] = [
    (Fault::TooManyRequests, "429"),
    (Fault::Conflict, "409"),
    (Fault::ServerError, "500"),
    (Fault::TimeoutAfter, "504"),
    (Fault::ResetBefore, "reset-before"),
    (Fault::ResetAfter, "reset-after"),
    (Fault::Delay, "delay"),
    (Fault::Duplicate, "duplicate"),
    (Fault::Cut, "cut"),
    (Fault::Torn, "torn"),
    (Fault::Stall, "stall"),
    (Fault::Hush, "hush"),
    (Fault::Expire, "410"),
];

impl Fault {
    /// Whether the client only learns in time that nothing comes any more.
    pub fn is_silence(self) -> bool {
        matches!(self, Self::Stall | Self::Hush)
    }

    /// Those that can befall a request.
    pub fn of(request: &Request) -> &'static [Self] {
        match request.verb {
            "watch" => &[
                Self::TooManyRequests,
                Self::ServerError,
                Self::ResetBefore,
                Self::Delay,
                Self::Cut,
                Self::Torn,
                Self::Stall,
                Self::Hush,
                Self::Expire,
            ],
            _ if request.is_write() => &[
                Self::TooManyRequests,
                Self::Conflict,
                Self::ServerError,
                Self::TimeoutAfter,
                Self::ResetBefore,
                Self::ResetAfter,
                Self::Delay,
                Self::Duplicate,
            ],
            _ => &[
                Self::TooManyRequests,
                Self::ServerError,
                Self::ResetBefore,
                Self::ResetAfter,
                Self::Delay,
            ],
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ALL.iter().find(|(fault, _)| fault == self);
        f.write_str(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = ALL.iter().find(|(_, name)| *name == text);
        found
            .map(|(fault, _)| *fault)
            .ok_or_else(|| format!("`{text}` is no fault"))
    }
}

/// Which requests of a client are befallen by what: by their number in the order in which they are made, from 0.
///
/// As text, `12:504 17:cut`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Schedule(pub BTreeMap<usize, Fault>);

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (number, fault)) in self.0.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{number}:{fault}")?;
        }
        Ok(())
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |part: &str| {
            let (number, fault) = part
                .split_once(':')
                .ok_or_else(|| format!("`{part}` is not NUMBER:FAULT"))?;
            let number = number
                .parse()
                .map_err(|_| format!("`{number}` is no number"))?;
            Ok((number, fault.parse()?))
        };
        text.split_whitespace()
            .map(one)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// The faults of a client, and what it asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    schedule: Schedule,
    asked: Vec<Request>,
}

impl Faults {
    pub fn new(schedule: Schedule) -> Self {
        let asked = Vec::new();
        Self(Arc::new(Mutex::new(State { schedule, asked })))
    }

    /// What was asked so far, whether it got to the server or not.
    pub fn asked(&self) -> Vec<Request> {
        self.lock().asked.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has befallen no request yet.
    pub fn left(&self) -> Schedule {
        self.lock().schedule.clone()
    }

    /// Whether more was asked than any operator asks that does not turn in circles.
    pub fn is_exhausted(&self) -> bool {
        self.lock().asked.len() > MOST
    }

    fn next(&self, request: Request) -> Next {
        let mut state = self.lock();
        let number = state.asked.len();
        let possible = Fault::of(&request);
        state.asked.push(request);
        if number >= MOST {
            return Next::Silence;
        }
        // after an earlier fault the number may be that of another request: then it befalls the next that it can befall
        let mut due = state.schedule.0.range(..=number);
        let due = due.find(|(_, fault)| possible.contains(fault));
        match due.map(|(due, fault)| (*due, *fault)) {
            Some((due, fault)) => {
                state.schedule.0.remove(&due);
                Next::Fault(fault)
            }
            None => Next::Server,
        }
    }
}

/// How many requests are answered. On a clock that leaps while nothing is done, whoever asks without end would stop it.
const MOST: usize = 5_000;

enum Next {
    Server,
    Fault(Fault),
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
        let next = self.faults.next(Request::of(&request));
        // the one that is ready answers, and its copy takes its place
        let copy = self.inner.clone();
        let server = std::mem::replace(&mut self.inner, copy);
        Box::pin(async move {
            match next {
                Next::Server => ask(server, request).await,
                Next::Fault(fault) => befall(fault, server, request).await,
                Next::Silence => std::future::pending().await,
            }
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
        Fault::ServerError => Ok(refusal(500, "InternalError", "the server has failed")),
        Fault::TimeoutAfter => {
            whole(ask(server, request).await?).await?;
            Ok(refusal(
                504,
                "Timeout",
                "the server was not heard of in time",
            ))
        }
        Fault::ResetBefore => Err(reset()),
        Fault::ResetAfter => {
            whole(ask(server, request).await?).await?;
            Err(reset())
        }
        Fault::Delay => {
            tokio::time::sleep(Duration::from_secs(5)).await;
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
        Fault::Expire => {
            let status = status(410, "Expired", "the version is too old");
            let line = format!("{}\n", json!({"type": "ERROR", "object": status}));
            Ok(watched(vec![Ok(Frame::data(line.into()))]))
        }
    }
}

/// Lets the server end its answer, so that what it does is done.
async fn whole(answer: Answer) -> Result<(), BoxError> {
    answer.into_body().collect().await.map(drop)
}

/// A request and its copy; its body is bytes, as all are that a client of kube sends with no stream.
fn twice(request: http::Request<Body>) -> (http::Request<Body>, http::Request<Body>) {
    let (parts, body) = request.into_parts();
    let copy = body.try_clone().unwrap_or_else(Body::empty);
    (
        http::Request::from_parts(parts.clone(), copy),
        http::Request::from_parts(parts, body),
    )
}

fn reset() -> BoxError {
    std::io::Error::from(std::io::ErrorKind::ConnectionReset).into()
}

fn status(code: u16, reason: &str, message: &str) -> serde_json::Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": reason, "message": message, "code": code,
    })
}

fn refusal(code: u16, reason: &str, message: &str) -> Answer {
    let body = Full::new(Bytes::from(status(code, reason, message).to_string()));
    let mut answer = Response::new(body.map_err(Into::into).boxed_unsync());
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = answer.headers_mut();
    let json = header::HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    if code == 429 {
        headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    }
    answer
}

fn watched(frames: Vec<Result<Frame<Bytes>, BoxError>>) -> Answer {
    let frames = stream::iter(frames).boxed();
    Response::new(StreamBody::new(frames).boxed_unsync())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_as_it_is_written() {
        let schedule = Schedule([(3, Fault::TimeoutAfter), (17, Fault::Cut)].into());
        assert_eq!(schedule.to_string(), "3:504 17:cut");
        assert_eq!(schedule.to_string().parse(), Ok(schedule));
        assert!("3:boom".parse::<Schedule>().is_err());
    }

    #[test]
    fn a_fault_befalls_what_it_can_befall() {
        let faults = Faults::new(Schedule([(0, Fault::Cut), (1, Fault::Conflict)].into()));
        let befallen = |method: &str, uri: &str| {
            let request = http::Request::builder().method(method).uri(uri);
            match faults.next(Request::of(&request.body(()).unwrap())) {
                Next::Fault(fault) => Some(fault),
                Next::Server | Next::Silence => None,
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
