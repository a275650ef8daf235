//! The layer in the client: it numbers the requests, and lets those that are due be befallen.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt, BodyStream, StreamBody};
use kube::client::Body;
use serde_json::json;
use tower::{Layer, Service};

use super::answer::{Answer, BoxError, refusal, reset, status, twice, watched, whole};
use super::{Fault, Schedule};
use crate::record::{Request, describe};

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
        let next = self.faults.next(describe(&request));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_befalls_what_it_can_befall() {
        let faults = Faults::new(Schedule([(0, Fault::Cut), (1, Fault::Conflict)].into()));
        let befallen = |method: &str, uri: &str| {
            let request = http::Request::builder().method(method).uri(uri);
            match faults.next(describe(&request.body(()).unwrap())) {
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
