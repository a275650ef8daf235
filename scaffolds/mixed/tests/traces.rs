//! With the feature `otel`, a collector receives a span for each reconciliation, which names the object and the attempt, and the requests are
//! below it. The environment is that of the whole process, so this file has one test.
#![cfg(feature = "otel")]

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::PostParams};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    trace::v1::{Span, span::SpanKind},
};
use operator_runtime::{Operator, Settings};
use operator_testing::{Server, http::Serving, sample_file};
use prost::Message;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

#[path = "all/support/mod.rs"]
mod support;

type Spans = Arc<Mutex<Vec<Span>>>;

/// Answers the requests of one connection, and keeps the spans in them.
async fn answer(mut stream: TcpStream, spans: Spans) -> Result<()> {
    let mut received = vec![];
    loop {
        if stream.read_buf(&mut received).await? == 0 {
            return Ok(());
        }
        let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(received[..end].to_vec())?.to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let body = end + 4..end + 4 + length.context("a length")?.parse::<usize>()?;
        if received.len() < body.end {
            continue;
        }
        let request = ExportTraceServiceRequest::decode(&received[body.clone()])?;
        let scopes = request
            .resource_spans
            .into_iter()
            .flat_map(|it| it.scope_spans);
        spans
            .lock()
            .unwrap()
            .extend(scopes.flat_map(|scope| scope.spans));
        received.drain(..body.end);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            .await?;
    }
}

/// Starts a collector; returns its address.
async fn collect(spans: &Spans) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", listener.local_addr()?);
    let spans = spans.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, spans.clone()));
        }
    });
    Ok(address)
}

/// Whether a span has an attribute with this value.
fn has(span: &Span, key: &str, value: &str) -> bool {
    let mut attributes = span
        .attributes
        .iter()
        .filter(|attribute| attribute.key == key);
    attributes.any(|attribute| format!("{:?}", attribute.value).contains(&format!("({value})")))
}

#[tokio::test]
async fn a_collector_receives_the_reconciliation_of_a_pod_and_its_requests() -> Result<()> {
    let server = Server::in_memory();
    server.install_kustomization("manifests").await?;
    let serving = Serving::start(server.service().context("in memory")?).await?;
    let kubeconfig = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubeconfig");
    serving.write_kubeconfig(&kubeconfig)?;
    let spans = Spans::default();
    let collector = collect(&spans).await?;
    // SAFETY: no other thread of this process uses the environment now.
    unsafe {
        std::env::set_var("KUBECONFIG", &kubeconfig);
        std::env::set_var("OTEL_EXPORTER_OTLP_ENDPOINT", &collector);
    }
    let connected = Operator::connect(support::NAME, Settings::for_tests()).await?;
    let operator = mixed::operator(connected, support::options(&server.outcomes()).await?);
    let handle = operator.shutdown_handle();
    let running = tokio::spawn(operator.run());

    let pods: Api<Pod> = Api::namespaced(server.client(), "default");
    let pod: Pod = sample_file("manifests/samples/pods.yaml")?;
    pods.create(&PostParams::default(), &pod).await?;
    let events: Api<k8s_openapi::api::events::v1::Event> =
        Api::namespaced(server.client(), "default");
    server
        .eventually("the pod is printed", async || {
            let events = events.list(&Default::default()).await.ok()?;
            (!events.items.is_empty()).then_some(())
        })
        .await;
    // what is finished is exported before the operator ends
    handle.shutdown();
    running.await??;

    let spans = spans.lock().unwrap();
    let event = "/apis/events.k8s.io/v1/namespaces/default/events";
    let request = spans.iter().find(|span| {
        span.kind == SpanKind::Client as i32
            && span.name == "POST"
            && has(span, "url.path", &format!("{event:?}"))
    });
    let request = request.with_context(|| format!("a span of the event in {spans:#?}"))?;
    assert!(
        has(request, "http.response.status_code", "201"),
        "{request:#?}"
    );
    let parent = spans
        .iter()
        .find(|span| span.span_id == request.parent_span_id);
    let parent = parent.with_context(|| format!("the reconciliation in {spans:#?}"))?;
    assert_eq!(parent.name, "reconcile");
    assert_eq!(parent.trace_id, request.trace_id);
    for (key, value) in [
        ("k8s.object.kind", "\"Pod\""),
        ("k8s.namespace.name", "\"default\""),
        ("k8s.object.name", "\"pod-sample\""),
        ("reconcile.attempt", "1"),
    ] {
        assert!(has(parent, key, value), "{key} in {parent:#?}");
    }
    Ok(())
}
