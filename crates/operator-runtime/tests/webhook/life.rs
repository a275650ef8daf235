//! When webhooks are served, and when their operator is ready.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
    client::Body,
};
use operator_runtime::{
    Action, Context, Controllers, Fatal, Operator, Reconciler, Result, Settings, Setup,
    webhook::Webhooks,
};
use operator_testing::Server;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Notify, Semaphore},
    time::{sleep, timeout},
};

use crate::served::{Running, Sizes, Widgets, creation, post, webhooks, widget};

/// Reports when a reconciliation has begun, which ends when the test allows it.
struct Slow {
    begun: Arc<Notify>,
    may_end: Arc<Semaphore>,
}

impl Reconciler for Slow {
    type Resource = ConfigMap;

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context) -> Result<Action> {
        self.begun.notify_one();
        self.may_end.acquire().await.unwrap().forget();
        Ok(Action::await_change())
    }
}

fn controllers() -> (Controllers, Arc<Notify>, Arc<Semaphore>) {
    let (begun, may_end) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let slow = Slow {
        begun: begun.clone(),
        may_end: may_end.clone(),
    };
    let controllers = Controllers::new().add(async |_: Setup| Ok(slow), |it| it);
    (controllers, begun, may_end)
}

/// An operator, and the address of its health page.
async fn start(client: Client, settings: Settings, controllers: Controllers) -> (Running, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let operator = Operator::new("shop", settings, client)
        .register(controllers)
        .listener(listener);
    let (service, handle) = (operator.webhook_service(), operator.shutdown_handle());
    let task = tokio::spawn(operator.run());
    let running = Running {
        service,
        handle,
        task,
    };
    (running, address)
}

pub async fn page(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    body.to_owned()
}

/// A client whose requests never end.
fn hanging() -> Client {
    let service = tower::service_fn(async |_: http::Request<Body>| {
        std::future::pending::<Result<http::Response<Body>, std::io::Error>>().await
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn a_replica_whose_lists_hang_and_that_does_not_lead_serves_and_is_ready() {
    for leader_election in [true, false] {
        let mut settings = Settings::for_tests();
        settings.leader_election = leader_election;
        let (controllers, ..) = controllers();
        let (running, address) = start(hanging(), settings, controllers.webhooks(webhooks())).await;
        running.until_served().await;
        assert_eq!(page(&address, "/readyz").await, "ok");
        let response = running.review("/validate", &creation(json!({}))).await;
        assert_eq!(response["allowed"], true);
        running.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_replica_converts_at_once_and_is_not_ready_before_its_webhooks_are_set_up() {
    let ready = Arc::new(Notify::new());
    let wait = ready.clone();
    let setup = async move |_: Setup| {
        wait.notified().await;
        Ok(Widgets)
    };
    let webhooks = Webhooks::new()
        .add(setup, |it| it.validates("/validate"))
        .convert(Sizes);
    let controllers = Controllers::new().webhooks(webhooks);
    let (running, address) = start(hanging(), Settings::for_tests(), controllers).await;
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "1", "desiredAPIVersion": "test.example.com/v2", "objects": []},
    });
    while running.post("/convert", &review).await.is_err() {
        sleep(Duration::from_millis(5)).await;
    }
    let converted = running.review("/convert", &review).await;
    assert_eq!(converted["result"]["status"], "Success");
    let (code, message) = running
        .post("/validate", creation(json!({})))
        .await
        .unwrap();
    assert_eq!((code, &*message), (503, "the webhooks are starting"));
    assert_eq!(page(&address, "/readyz").await, "waiting for the webhooks");
    ready.notify_one();
    running.until_served().await;
    assert_eq!(page(&address, "/readyz").await, "ok");
}

#[tokio::test]
async fn a_replica_is_not_ready_before_it_has_a_certificate() {
    let mut settings = Settings::for_tests();
    settings.webhook_address = Some(([127, 0, 0, 1], 0).into());
    let controllers = Controllers::new().webhooks(webhooks());
    let (running, address) = start(hanging(), settings, controllers).await;
    running.until_served().await;
    assert_eq!(page(&address, "/readyz").await, "waiting for the webhooks");
    running.stop().await.unwrap();
}

#[tokio::test]
async fn mounted_certificates_need_a_folder() {
    let mut settings = Settings::for_tests();
    settings.webhook_address = Some(([127, 0, 0, 1], 0).into());
    let controllers = || Controllers::new().webhooks(webhooks().mounted_certificates());
    let error = Running::start(hanging(), settings.clone(), controllers())
        .stop()
        .await;
    assert!(matches!(error, Err(Fatal::NoWebhookCertificates)));
    settings.webhook_certificates = Some("/nowhere".into());
    let running = Running::start(hanging(), settings, controllers());
    running.until_served().await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_setup_that_fails_ends_the_operator() {
    let setup = async |_: Setup| Err::<Widgets, _>(anyhow::anyhow!("no prices").into());
    let webhooks = Webhooks::new().add(setup, |it| it.validates("/a").mutates("/b"));
    let controllers = Controllers::new().webhooks(webhooks);
    let mut running = Running::start(hanging(), Settings::for_tests(), controllers);
    let error = (&mut running.task).await.unwrap().unwrap_err();
    assert!(matches!(
        error.downcast_ref(),
        Some(Fatal::WebhookSetup { .. })
    ));
    assert_eq!(
        error.to_string(),
        "cannot set up the webhooks /a, /b: no prices"
    );
}

#[tokio::test]
async fn connections_are_refused_before_and_after_the_operator_runs() {
    let server = Server::in_memory();
    let controllers = Controllers::new().webhooks(webhooks());
    let operator =
        Operator::new("shop", Settings::for_tests(), server.client()).register(controllers);
    let service = operator.webhook_service();
    let ask = || post(&service, "/validate", creation(json!({})).to_string());
    assert_eq!(ask().await, Err("connection refused".into()));
    drop(operator);
    assert_eq!(ask().await, Err("connection refused".into()));

    let running = Running::serving(&server).await;
    let service = running.service.clone();
    let hangs = creation(json!({"way": "hang"})).to_string();
    let in_flight = tokio::spawn(async move { post(&service, "/validate", hangs).await });
    sleep(Duration::from_millis(50)).await;
    running.task.abort();
    let cut = timeout(Duration::from_secs(5), in_flight).await.unwrap();
    assert_eq!(cut.unwrap(), Err("connection refused".into()));
    assert!(running.post("/validate", "").await.is_err());
}

#[tokio::test]
async fn webhooks_are_served_until_the_controllers_have_ended_and_requests_in_flight_finish() {
    let server = Server::in_memory();
    let (controllers, begun, may_end) = controllers();
    let controllers = controllers.webhooks(webhooks());
    let (mut running, address) = start(server.client(), Settings::for_tests(), controllers).await;
    running.until_served().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let map = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
    begun.notified().await;
    running.handle.shutdown();
    sleep(Duration::from_millis(50)).await;
    assert_eq!(page(&address, "/readyz").await, "stopping");
    let response = running.review("/validate", &creation(json!({}))).await;
    assert_eq!(response["allowed"], true, "a reconciliation is in flight");

    let is_answered = Arc::new(AtomicBool::new(false));
    let (service, answered) = (running.service.clone(), is_answered.clone());
    let slow = tokio::spawn(async move {
        let review = creation(json!({"way": "slow"})).to_string();
        let response = post(&service, "/validate", review).await;
        answered.store(true, Ordering::SeqCst);
        response
    });
    sleep(Duration::from_millis(50)).await;
    may_end.add_permits(100);
    (&mut running.task).await.unwrap().unwrap();
    assert!(
        is_answered.load(Ordering::SeqCst),
        "the operator ended before its requests"
    );
    let (code, body) = slow.await.unwrap().unwrap();
    assert_eq!(code, 200);
    assert!(body.contains(r#""allowed":true"#), "{body}");
    assert!(running.post("/validate", "").await.is_err());
}

#[tokio::test]
async fn a_replica_that_loses_its_lease_serves_until_api_servers_have_noticed() {
    let server = Server::in_memory();
    let mut settings = Settings::for_tests();
    settings.leader_election = true;
    // an address that API servers could reach through a Service
    settings.webhook_address = Some(([0, 0, 0, 0], 0).into());
    let (controllers, ..) = controllers();
    let controllers = controllers.webhooks(webhooks());
    let (mut running, address) = start(server.client(), settings, controllers).await;
    let leases: Api<Lease> = Api::default_namespaced(server.client());
    server
        .eventually("it leads and is ready", async || {
            let lease = leases.get_opt("shop").await.ok()??;
            lease.spec?.holder_identity?;
            (page(&address, "/readyz").await == "ok").then_some(())
        })
        .await;
    let thief = Patch::Merge(json!({"spec": {"holderIdentity": "thief"}}));
    let parameters = PatchParams::default();
    leases.patch("shop", &parameters, &thief).await.unwrap();
    while page(&address, "/readyz").await != "stopping" {
        sleep(Duration::from_millis(10)).await;
    }
    sleep(Duration::from_millis(500)).await;
    let response = running.review("/validate", &creation(json!({}))).await;
    assert_eq!(response["allowed"], true);
    let error = (&mut running.task).await.unwrap().unwrap_err();
    assert!(matches!(
        error.downcast_ref(),
        Some(Fatal::LeaseLost { .. })
    ));
    assert!(running.post("/validate", "").await.is_err());
}

#[tokio::test]
async fn an_operator_without_webhooks_is_ready_as_before_and_answers_none() {
    let (controllers, ..) = controllers();
    let (running, address) = start(hanging(), Settings::for_tests(), controllers).await;
    while page(&address, "/readyz").await == "starting" {
        sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(
        page(&address, "/readyz").await,
        "waiting for the lists of ConfigMap"
    );
    assert!(running.post("/validate", "").await.is_err());
}

#[tokio::test]
async fn requests_are_counted() {
    let controllers = Controllers::new().webhooks(webhooks());
    let (running, address) = start(hanging(), Settings::for_tests(), controllers).await;
    running.until_served().await;
    running.review("/mutate", &creation(json!({}))).await;
    for way in ["panic", "fail", "deny", "invalid"] {
        running
            .review("/validate", &creation(json!({"way": way})))
            .await;
    }
    let hangs = creation(json!({"way": "hang"}));
    let given_up = timeout(
        Duration::from_millis(20),
        running.review("/validate", &hangs),
    );
    given_up.await.unwrap_err();
    let late = running.review("/validate?timeout=10ms", &hangs).await;
    assert_eq!(late["status"]["code"], 504);
    // an object of a version that is not served
    let convert = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {
            "uid": "a",
            "desiredAPIVersion": "test.example.com/v3",
            "objects": [widget(json!({}))],
        },
    });
    let response = running.review("/convert", &convert).await;
    assert_eq!(response["result"]["status"], "Failure");
    assert_eq!(running.post("/validate", "{}").await.unwrap().0, 400);
    assert_eq!(running.post("/nowhere", "").await.unwrap().0, 404);
    let page = page(&address, "/metrics").await;
    for line in [
        r#"controller_runtime_webhook_requests_total{webhook="/mutate",code="200"} 1"#,
        r#"controller_runtime_webhook_requests_total{webhook="/convert",code="200"} 1"#,
        r#"controller_runtime_webhook_requests_total{webhook="/mutate--pod",code="200"} 0"#,
        r#"controller_runtime_webhook_requests_in_flight{webhook="/mutate"} 0"#,
        r#"controller_runtime_webhook_latency_seconds_count{webhook="/mutate"} 1"#,
        "controller_runtime_webhook_panics_total 1",
        r#"operator_webhook_failures_total{webhook="/mutate"} 0"#,
        // a panic, an error, one that the client gave up, and one that was late
        r#"operator_webhook_failures_total{webhook="/validate"} 4"#,
        r#"operator_webhook_failures_total{webhook="/convert"} 1"#,
    ] {
        assert!(
            page.lines().any(|found| found == line),
            "{line} is not in\n{page}"
        );
    }
    assert!(!page.contains("/nowhere"));
}
