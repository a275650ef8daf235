//! With the feature `otel`, spans arrive at a collector. The environment belongs to the whole process, so this binary has
//! only one test.

mod support;
use support::*;

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use operator_runtime::{Operator, Settings};
use operator_testing::{Server, http::Serving};
use tokio::net::TcpListener;

/// A span as a collector sees it.
#[derive(Debug, Default)]
struct Span {
    service: String,
    trace: Vec<u8>,
    id: Vec<u8>,
    parent: Vec<u8>,
    name: String,
    kind: u64,
    attributes: BTreeMap<String, String>,
    failed: bool,
}

impl Span {
    fn is(&self, attribute: &str, value: &str) -> bool {
        self.attributes.get(attribute).map(String::as_str) == Some(value)
    }
}

/// A field of a [protobuf message](https://protobuf.dev/programming-guides/encoding/).
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = vec![];
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let length = match tag & 7 {
            0 => {
                fields.push((tag >> 3, Field::Number(varint(&mut bytes))));
                continue;
            }
            1 => 8,
            2 => varint(&mut bytes) as usize,
            5 => 4,
            wire => panic!("wire type {wire}"),
        };
        let (field, rest) = bytes.split_at(length);
        fields.push((tag >> 3, Field::Bytes(field)));
        bytes = rest;
    }
    fields
}

/// The messages in a repeated field.
fn messages(bytes: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    fields(bytes)
        .into_iter()
        .filter_map(move |(field, value)| match value {
            Field::Bytes(bytes) if field == number => Some(bytes),
            _ => None,
        })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn attribute(bytes: &[u8]) -> (String, String) {
    let key = text(messages(bytes, 1).next().unwrap());
    let value = messages(bytes, 2).next().unwrap();
    let value = fields(value).into_iter().map(|(_, value)| match value {
        Field::Number(number) => number.to_string(),
        Field::Bytes(bytes) => text(bytes),
    });
    (key, value.collect())
}

/// The spans of an `ExportTraceServiceRequest`.
fn spans(body: &[u8]) -> Vec<Span> {
    let mut spans = vec![];
    for resource_spans in messages(body, 1) {
        let resource = messages(resource_spans, 1).next().unwrap();
        let mut origin: BTreeMap<_, _> = messages(resource, 1).map(attribute).collect();
        let service = origin.remove("service.name").unwrap();
        for span in messages(resource_spans, 2).flat_map(|scope| messages(scope, 2)) {
            let mut read = Span {
                service: service.clone(),
                attributes: messages(span, 9).map(attribute).collect(),
                ..Span::default()
            };
            for (number, field) in fields(span) {
                match (number, field) {
                    (1, Field::Bytes(bytes)) => read.trace = bytes.into(),
                    (2, Field::Bytes(bytes)) => read.id = bytes.into(),
                    (4, Field::Bytes(bytes)) => read.parent = bytes.into(),
                    (5, Field::Bytes(bytes)) => read.name = text(bytes),
                    (6, Field::Number(kind)) => read.kind = kind,
                    (15, Field::Bytes(status)) => {
                        let code =
                            |(number, field)| matches!((number, field), (3, Field::Number(2)));
                        read.failed = fields(status).into_iter().any(code);
                    }
                    _ => {}
                }
            }
            spans.push(read);
        }
    }
    spans
}

/// Starts a collector; returns its address, and the bodies that it gets.
async fn collector() -> (String, Arc<Mutex<Vec<Bytes>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let bodies = Arc::new(Mutex::new(vec![]));
    let received = bodies.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let received = received.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let received = received.clone();
                async move {
                    assert_eq!(request.uri().path(), "/v1/traces");
                    assert_eq!(request.headers()["content-type"], "application/x-protobuf");
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    received.lock().unwrap().push(body);
                    Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    (address, bodies)
}

#[expect(unsafe_code, reason = "the exporter of traces reads the environment")]
#[tokio::test]
async fn a_collector_gets_a_span_for_each_reconciliation_and_its_requests() {
    // Always in memory, even if the environment names another server: its requests are served over HTTP.
    let server = Server::in_memory();
    server
        .install(include_str!("support/crds.yaml"))
        .await
        .unwrap();
    let api = server.service().unwrap();
    let serving = Serving::start(api).await.unwrap();
    let kubeconfig = std::env::temp_dir().join(format!("traces-{}", std::process::id()));
    serving.write_kubeconfig(&kubeconfig).unwrap();
    let (address, bodies) = collector().await;
    // SAFETY: no other thread of this process reads or writes the environment now.
    unsafe {
        std::env::set_var("KUBECONFIG", &kubeconfig);
        std::env::set_var("OTEL_EXPORTER_OTLP_ENDPOINT", &address);
    }
    let mut settings = Settings::for_tests();
    settings.leader_election = true;
    let connected = Operator::connect(OPERATOR, settings).await.unwrap();
    std::fs::remove_file(&kubeconfig).unwrap();
    let calls = Arc::new(Calls::default());
    let operator = connected.register(widgets::<false>(&calls));
    let handle = operator.shutdown_handle();
    let running = tokio::spawn(operator.run());
    create(&server, "a", "fail").await;
    server
        .eventually("it is retried", async || {
            (calls.reconciled() >= 2).then_some(())
        })
        .await;
    set_way(&server, "a", "ok").await;
    ready(&server, "a").await;
    handle.shutdown();
    running.await.unwrap().unwrap();

    let bodies = bodies.lock().unwrap();
    let spans: Vec<_> = bodies.iter().flat_map(|body| spans(body)).collect();
    let reconciliations = |attempt: &str| {
        spans.iter().find(|span| {
            span.name == "reconcile"
                && span.is("reconcile.attempt", attempt)
                && span.is("k8s.object.kind", "Widget")
                && span.is("k8s.object.group", "test.example.com")
                && span.is("k8s.object.name", "a")
                && span.is("k8s.namespace.name", "default")
                && span.service == OPERATOR
        })
    };
    for attempt in ["1", "2"] {
        let failed = reconciliations(attempt);
        let failed = failed.unwrap_or_else(|| panic!("no attempt {attempt} in {spans:#?}"));
        assert!(failed.parent.is_empty() && failed.failed, "{failed:#?}");
    }
    // A client's span is kind 3.
    let request = |method: &str, path: &str, code: &str| {
        spans
            .iter()
            .find(|span| {
                span.name == method
                    && span.kind == 3
                    && span.is("http.request.method", method)
                    && span.is("url.path", path)
                    && span.is("http.response.status_code", code)
            })
            .unwrap_or_else(|| panic!("no {method} {path} {code} in {spans:#?}"))
    };
    let status = "/apis/test.example.com/v1/namespaces/default/widgets/a/status";
    let written = request("PATCH", status, "200");
    let event = request(
        "POST",
        "/apis/events.k8s.io/v1/namespaces/default/events",
        "201",
    );
    for (span, failed) in [(written, false), (event, true)] {
        let parent = spans
            .iter()
            .find(|parent| parent.id == span.parent)
            .unwrap_or_else(|| panic!("no parent of {span:#?} in {spans:#?}"));
        assert_eq!((&*parent.name, parent.failed), ("reconcile", failed));
        assert_eq!(parent.trace, span.trace);
    }
    // There are no spans for leases, lists and watches.
    let roots = spans.iter().filter(|span| span.parent.is_empty());
    for root in roots {
        assert_eq!(root.name, "reconcile", "{root:#?}");
    }
}
