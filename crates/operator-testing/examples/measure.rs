//! Measures the API server that `OPERATOR_TEST_SERVER` names: a line for each figure, `NAME VALUE UNIT`.
//!
//! `cargo run --release -p operator-testing --features http --example measure -- OBJECTS`; `bench/run server` compares the two servers.

use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt};
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use operator_testing::Server;
use operator_testing::http::Serving;
use serde_json::json;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const DEFINITION: &str = include_str!("../tests/cases/widgets.crd.yaml");
const REPEATS: usize = 50;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let count: usize = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .ok_or("usage: measure OBJECTS")?;
    let server = start().await?;
    server.install(DEFINITION).await?;
    let before = if server.is_real() { 0.0 } else { resident()? };
    let widgets = widgets(server.client());

    let began = Instant::now();
    for number in 0..count {
        widgets
            .create(&PostParams::default(), &widget(number)?)
            .await?;
    }
    let rate = count as f64 / began.elapsed().as_secs_f64();
    println!("create {rate:.0} /s");
    if !server.is_real() {
        println!("memory {:.1} MiB", resident()? - before);
    }

    let mut times = Vec::new();
    for _ in 0..5 {
        let request = http::Request::get("/apis/cases.example.com/v1/widgets").body(Vec::new())?;
        let began = Instant::now();
        let answer = server.client().request_text(request).await?;
        times.push(began.elapsed());
        assert!(answer.len() > count);
    }
    println!("list {:.1} ms", milliseconds(times));
    let mut times = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        let found = widgets.list(&ListParams::default()).await?.items.len();
        assert_eq!(found, count);
        times.push(began.elapsed());
    }
    println!("read-list {:.1} ms", milliseconds(times));
    println!(
        "watch {:.2} ms",
        milliseconds(delivery_times(&widgets, count).await?)
    );
    Ok(())
}

/// Starts the server. For one in memory, prints how long it takes to start, and to be served.
async fn start() -> Result<Server> {
    let (mut starts, mut serves) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let began = Instant::now();
        let Some(service) = Server::in_memory().service() else {
            continue;
        };
        starts.push(began.elapsed());
        let began = Instant::now();
        let serving = Serving::start(service).await?;
        serves.push(began.elapsed());
        serving.shutdown().await;
    }
    let server = Server::start().await?;
    if !server.is_real() {
        println!("start {:.2} ms", milliseconds(starts));
        println!("serve {:.2} ms", milliseconds(serves));
    }
    Ok(server)
}

/// How long after the request to create an object a watch of all objects reports it.
async fn delivery_times(widgets: &Api<DynamicObject>, count: usize) -> Result<Vec<Duration>> {
    let version = widgets
        .list(&ListParams::default().limit(1))
        .await?
        .metadata
        .resource_version;
    let events = widgets
        .watch(&WatchParams::default(), &version.unwrap_or_default())
        .await?;
    let mut events = events.boxed();
    let mut times = Vec::new();
    for number in count..count + REPEATS {
        let (object, params) = (widget(number)?, PostParams::default());
        let began = Instant::now();
        let (created, seen) = tokio::join!(widgets.create(&params, &object), async {
            loop {
                match events.try_next().await? {
                    Some(WatchEvent::Added(_)) => return Ok(began.elapsed()),
                    Some(_) => {}
                    None => return Err("the watch has ended".into()),
                }
            }
        });
        created?;
        let seen: Result<Duration> = seen;
        times.push(seen?);
    }
    Ok(times)
}

fn widgets(client: Client) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: "cases.example.com".into(),
        version: "v1".into(),
        api_version: "cases.example.com/v1".into(),
        kind: "Widget".into(),
        plural: "widgets".into(),
    };
    Api::default_namespaced_with(client, &resource)
}

fn widget(number: usize) -> Result<DynamicObject> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "cases.example.com/v1", "kind": "Widget",
        "metadata": {"name": format!("widget-{number}"), "labels": {"app": "measure"}},
        "spec": {"replicas": 3, "labels": {"a": "b"}},
    }))?)
}

/// The median, in milliseconds.
fn milliseconds(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times
        .get(times.len() / 2)
        .map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
}

/// The memory of this process in MiB.
fn resident() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kib: f64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("no VmRSS")?
        .trim()
        .trim_end_matches(" kB")
        .parse()?;
    Ok(kib / 1_024.0)
}
