//! A layer on the client that records when each watch last delivered data, ended or failed.
//!
//! kube's watch streams do not show bookmarks and reconnects, so a quiet watch cannot be distinguished there from a dead one. The layer
//! also limits the time until a response and between the parts of its body: a server that accepts a request and then stalls causes an
//! error, not a hang.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use kube::{Client, client::Body};
use tokio::time::{Instant, Sleep, sleep, timeout};
use tower::{BoxError, service_fn};

use crate::{lock::lock, metrics::Metrics};

/// The maximum time until a response, and between the parts of its body. It is longer than the API server's own timeout, which is one
/// minute.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(90);

/// The running watches, and when each last made progress.
pub(crate) struct Progress {
    watch_timeout: Duration,
    metrics: Arc<Metrics>,
    watches: Mutex<Watches>,
}

#[derive(Default)]
struct Watches {
    next: u64,
    open: HashMap<u64, Watch>,
}

struct Watch {
    path: String,
    last: Instant,
}

#[derive(Debug, thiserror::Error)]
#[error("the API server did not answer within {0:?}")]
struct Silent(Duration);

#[derive(Debug, thiserror::Error)]
#[error("the API server went silent for {0:?} in the middle of its answer")]
struct Stuck(Duration);

impl Progress {
    pub fn new(watch_timeout: Duration, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self {
            watch_timeout,
            metrics,
            watches: Mutex::default(),
        })
    }

    /// The URL path of a watch that has been silent for more than twice its timeout, if there is one.
    pub fn stalled(&self) -> Option<String> {
        let limit = self.watch_timeout * 2;
        let watches = lock(&self.watches);
        watches
            .open
            .values()
            .find(|watch| watch.last.elapsed() > limit)
            .map(|watch| watch.path.clone())
    }

    /// Wraps a client, so that its watches are observed.
    pub fn observe(self: &Arc<Self>, client: Client) -> Client {
        let namespace = client.default_namespace().to_owned();
        let valid_until = *client.valid_until();
        let progress = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let (progress, client) = (progress.clone(), client.clone());
            async move { progress.send(client, request).await }
        });
        Client::new(service, namespace).with_valid_until(valid_until)
    }

    /// Sends a request, counts it, and limits the time until its response.
    async fn send(
        self: Arc<Self>,
        client: Client,
        request: Request<Body>,
    ) -> Result<Response<Observed>, BoxError> {
        let watch = is_watch(request.uri()).then(|| self.clone().open_watch(request.uri().path()));
        let limit = if watch.is_some() {
            self.watch_timeout
        } else {
            RESPONSE_TIMEOUT
        };
        let may_be_silent = may_be_silent(request.uri());
        // A silent watch is reported by `/healthz` instead, and a log is silent while nothing is written to it.
        let bounded = watch.is_none() && !may_be_silent;
        let method = request.method().clone();
        #[cfg(feature = "otel")]
        let span = crate::trace::request(&request);
        let sent = client.send(request);
        #[cfg(feature = "otel")]
        let sent = tracing::Instrument::instrument(sent, span.clone());
        let response = if may_be_silent {
            Ok(sent.await)
        } else {
            timeout(limit, sent).await.map_err(|_| Silent(limit))
        };
        let answer = response.as_ref().ok().and_then(|sent| sent.as_ref().ok());
        let code = answer.map(Response::status);
        self.metrics.requests.done(&method, code);
        #[cfg(feature = "otel")]
        crate::trace::answered(&span, code);
        let response = response?;
        Ok(response?.map(|body| Observed {
            body,
            watch,
            bounded,
            idle: None,
        }))
    }

    /// Registers a watch.
    fn open_watch(self: Arc<Self>, path: &str) -> OpenWatch {
        self.metrics.watch_started(path);
        let mut watches = lock(&self.watches);
        watches.next += 1;
        let id = watches.next;
        watches.open.insert(
            id,
            Watch {
                path: path.to_owned(),
                last: Instant::now(),
            },
        );
        drop(watches);
        OpenWatch { id, progress: self }
    }
}

fn is_watch(uri: &http::Uri) -> bool {
    uri.query()
        .unwrap_or_default()
        .split('&')
        .any(|pair| pair == "watch=true" || pair == "watch=1")
}

/// Whether the response may be silent for long, for example the log of a container.
fn may_be_silent(uri: &http::Uri) -> bool {
    // the URL of the API server may have a path prefix
    let Some((_, path)) = uri.path().split_once("/api/v1/") else {
        return false;
    };
    let path: Vec<_> = path.split('/').collect();
    match path[..] {
        ["namespaces", _, "pods", _, part, ..] => {
            ["log", "exec", "attach", "portforward", "proxy"].contains(&part)
        }
        ["namespaces", _, "services", _, part, ..] | ["nodes", _, part, ..] => part == "proxy",
        _ => false,
    }
}

/// A watch from its request to the end of its body.
struct OpenWatch {
    id: u64,
    progress: Arc<Progress>,
}

impl OpenWatch {
    fn record_progress(&self) {
        if let Some(watch) = lock(&self.progress.watches).open.get_mut(&self.id) {
            watch.last = Instant::now();
        }
    }
}

impl Drop for OpenWatch {
    fn drop(&mut self) {
        lock(&self.progress.watches).open.remove(&self.id);
    }
}

pin_project_lite::pin_project! {
    /// A response's body that reports when data arrives.
    struct Observed {
        #[pin]
        body: Body,
        watch: Option<OpenWatch>,
        bounded: bool,
        // Runs while the reader waits, so that a slow reader is not taken for a silent server.
        idle: Option<Pin<Box<Sleep>>>,
    }
}

impl HttpBody for Observed {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.project();
        let Poll::Ready(frame) = this.body.poll_frame(cx) else {
            if !*this.bounded {
                return Poll::Pending;
            }
            let new = || Box::pin(sleep(RESPONSE_TIMEOUT));
            let idle = this.idle.get_or_insert_with(new).as_mut().poll(cx);
            return idle.map(|()| Some(Err(Stuck(RESPONSE_TIMEOUT).into())));
        };
        *this.idle = None;
        if let Some(watch) = this.watch {
            watch.record_progress();
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::chain_message;
    use futures::StreamExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{Api, api::WatchParams};

    /// A server that responds to a watch with the data of `events`, and never to other requests.
    fn client(events: tokio::sync::mpsc::Receiver<&'static str>) -> Client {
        let events = Arc::new(Mutex::new(Some(events)));
        let service = service_fn(move |request: Request<Body>| {
            let events = events.clone();
            async move {
                if !is_watch(request.uri()) {
                    std::future::pending::<()>().await;
                }
                let events = events.lock().unwrap().take().expect("one watch");
                let frames = futures::stream::unfold(events, async |mut events| {
                    let event = events.recv().await?;
                    Some((Ok::<_, BoxError>(Frame::data(Bytes::from(event))), events))
                });
                Ok::<_, BoxError>(Response::new(Frames(Box::pin(frames))))
            }
        });
        Client::new(service, "default")
    }

    type Delivered = Result<Frame<Bytes>, BoxError>;
    struct Frames(Pin<Box<dyn futures::Stream<Item = Delivered> + Send>>);

    impl HttpBody for Frames {
        type Data = Bytes;
        type Error = BoxError;
        fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Delivered>> {
            self.0.poll_next_unpin(cx)
        }
    }

    const BOOKMARK: &str = concat!(
        r#"{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"9"}}}"#,
        "\n"
    );

    fn progress() -> Arc<Progress> {
        Progress::new(
            Duration::from_secs(10),
            Arc::new(Metrics::new("test", "test")),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_not_read_stalls_and_a_bookmark_is_progress() {
        let (events, receiver) = tokio::sync::mpsc::channel(8);
        let progress = progress();
        let api: Api<ConfigMap> = Api::all(progress.observe(client(receiver)));
        let mut watch = api
            .watch(&WatchParams::default(), "0")
            .await
            .unwrap()
            .boxed();
        tokio::time::advance(Duration::from_secs(15)).await;
        events.send(BOOKMARK).await.unwrap();
        watch.next().await.unwrap().unwrap();
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(progress.stalled(), None, "the bookmark was 15 s ago");
        events.send(BOOKMARK).await.unwrap();
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(
            progress.stalled().as_deref(),
            Some("/api/v1/configmaps"),
            "nobody reads it"
        );
        drop(watch);
        assert_eq!(
            progress.stalled(),
            None,
            "an ended watch is not a stalled one"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_answers_is_an_error() {
        let (_events, receiver) = tokio::sync::mpsc::channel(1);
        let progress = progress();
        let api: Api<ConfigMap> = Api::default_namespaced(progress.observe(client(receiver)));
        let error = api.get("a").await.unwrap_err().to_string();
        assert!(error.contains("did not answer within 90s"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_stops_half_way_is_an_error() {
        let service = service_fn(async |_: Request<Body>| {
            let begun = futures::stream::iter([Ok(Frame::data(Bytes::from("{")))]);
            let frames = begun.chain(futures::stream::pending());
            Ok::<_, BoxError>(Response::new(Frames(Box::pin(frames))))
        });
        let client = progress().observe(Client::new(service, "default"));
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        let got = timeout(Duration::from_secs(600), api.get("a")).await;
        let error = chain_message(&got.expect("it ends").unwrap_err());
        assert!(error.contains("went silent for 90s"), "{error}");
    }

    #[test]
    fn a_log_may_begin_late() {
        let uri = |text: &'static str| http::Uri::from_static(text);
        assert!(may_be_silent(&uri(
            "/api/v1/namespaces/a/pods/b/log?follow=true"
        )));
        assert!(may_be_silent(&uri(
            "/api/v1/namespaces/a/services/b/proxy/metrics"
        )));
        assert!(may_be_silent(&uri(
            "/clusters/c/api/v1/nodes/a/proxy/stats"
        )));
        for bounded in [
            "/api/v1/namespaces/a/pods/b",
            "/api/v1/namespaces/a/configmaps/log",
            "/api/v1/namespaces/pods/configmaps/log",
            "/apis/example.com/v1/namespaces/a/proxyconfigs/b",
            "/apis/example.com/v1/nodes/a/proxy",
        ] {
            assert!(!may_be_silent(&uri(bounded)), "{bounded}");
        }
    }
}
