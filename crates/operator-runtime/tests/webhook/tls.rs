//! Webhooks over TLS, with certificates that the operator issues, on an address of this machine.

use std::time::{Duration, UNIX_EPOCH};

use http::Request;
use k8s_openapi::api::{admissionregistration::v1::MutatingWebhookConfiguration, core::v1::Secret};
use kube::{Api, Config, api::PostParams, client::Body};
use operator_runtime::{Controllers, Operator, Settings, ShutdownHandle};
use operator_testing::Server;
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::sleep,
};

use crate::{
    admission::{self, CONFIGURATIONS},
    life,
    served::{creation, webhooks, widget},
};

/// The value of a metric.
async fn metric(health: &str, name: &str) -> f64 {
    let page = life::page(health, "/metrics").await;
    page.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        .unwrap_or_else(|| panic!("{name} is not in\n{page}"))
        .parse()
        .unwrap()
}

/// An operator that serves webhooks on an address of this machine, and a server that calls them there.
struct Serving {
    server: Server,
    handle: ShutdownHandle,
    task: JoinHandle<anyhow::Result<()>>,
    /// The address of the operator's health and metrics.
    health: String,
}

impl Serving {
    async fn start() -> Self {
        let server = Server::start().await.unwrap();
        server
            .install(include_str!("../support/crds.yaml"))
            .await
            .unwrap();
        server.install(CONFIGURATIONS).await.unwrap();
        let controllers = Controllers::new().webhooks(webhooks());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let health = listener.local_addr().unwrap().to_string();
        let operator = Operator::new("shop", Settings::for_tests(), server.client())
            .register(controllers)
            .listener(listener)
            .webhooks_on_loopback()
            .await
            .unwrap();
        let handle = operator.shutdown_handle();
        let task = tokio::spawn(operator.run());
        let serving = Self {
            server,
            handle,
            task,
            health,
        };
        while serving.bundle().await.is_none() {
            assert!(!serving.task.is_finished());
            sleep(Duration::from_millis(20)).await;
        }
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let widget = serde_json::from_value(widget(json!({"size": 1}))).unwrap();
        let server = &serving.server;
        // A real API server reads the configurations with a delay.
        server
            .eventually("the webhooks are called", async || {
                let created = admission::widgets(server.client())
                    .create(&dry, &widget)
                    .await;
                (created.ok()?.data["spec"]["size"] == 2).then_some(())
            })
            .await;
        serving
    }

    /// The URL and the CA bundle of the first webhook.
    async fn bundle(&self) -> Option<(String, Vec<u8>)> {
        let api: Api<MutatingWebhookConfiguration> = Api::all(self.server.client());
        let configuration = api.get("shop").await.unwrap();
        let config = configuration.webhooks?.swap_remove(0).client_config;
        Some((config.url?, config.ca_bundle?.0))
    }

    /// A client that trusts the webhooks.
    async fn client(&self) -> kube::Client {
        let (url, bundle) = self.bundle().await.unwrap();
        let mut config = Config::new(url.strip_suffix("/mutate").unwrap().parse().unwrap());
        let bundle = pem::parse_many(bundle).unwrap();
        config.root_cert = Some(bundle.into_iter().map(pem::Pem::into_contents).collect());
        config.try_into().unwrap()
    }
}

fn review<B>(body: B) -> Request<B> {
    let request = Request::post("/validate").header("content-type", "application/json");
    request.body(body).unwrap()
}

async fn code(client: &kube::Client, body: Vec<u8>) -> u16 {
    let request = review(Body::from(body));
    client.send(request).await.unwrap().status().as_u16()
}

#[tokio::test]
async fn an_api_server_calls_the_webhooks_over_tls() {
    let serving = Serving::start().await;
    let created = admission::create(&serving.server, json!({"size": 1}))
        .await
        .unwrap();
    assert_eq!(created.data["spec"]["size"], 2);
    let status = admission::create(&serving.server, json!({"way": "deny"}))
        .await
        .unwrap_err();
    assert_eq!(status.code, 403, "{}", status.message);
    let secrets: Api<Secret> = Api::default_namespaced(serving.server.client());
    assert_eq!(
        secrets.get("shop-webhook").await.unwrap().type_.as_deref(),
        Some("kubernetes.io/tls")
    );
    while life::page(&serving.health, "/readyz").await != "ok" {
        sleep(Duration::from_millis(20)).await;
    }
    let expiry = metric(
        &serving.health,
        "operator_webhook_certificate_expiry_seconds",
    )
    .await;
    let now = UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    let days = (expiry - now) / 86_400.0;
    assert!((89.0..91.0).contains(&days), "{days}");
    serving.handle.shutdown();
    serving.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_size_of_a_body_is_limited() {
    let serving = Serving::start().await;
    let client = serving.client().await;
    let large = |bytes: usize| creation(json!({"unknown": "x".repeat(bytes)})).to_string();
    assert_eq!(code(&client, large(3 << 20).into_bytes()).await, 200);
    assert_eq!(code(&client, large(20 << 20).into_bytes()).await, 413);
    assert_eq!(code(&client, vec![]).await, 400);
}

#[tokio::test]
async fn requests_in_flight_finish_and_silent_connections_do_not_delay_the_end() {
    let serving = Serving::start().await;
    let client = serving.client().await;
    let (url, _) = serving.bundle().await.unwrap();
    let address = url
        .strip_prefix("https://")
        .unwrap()
        .strip_suffix("/mutate")
        .unwrap();
    let _silent = TcpStream::connect(address).await.unwrap();
    let slow = creation(json!({"way": "slow"})).to_string().into_bytes();
    let request = tokio::spawn({
        let client = client.clone();
        async move { client.request::<Value>(review(slow)).await }
    });
    sleep(Duration::from_millis(200)).await;
    let started = std::time::Instant::now();
    serving.handle.shutdown();
    serving.task.await.unwrap().unwrap();
    let response = request.await.unwrap().unwrap();
    assert_eq!(response["response"]["allowed"], true);
    assert!(started.elapsed() < Duration::from_secs(2));
    assert!(TcpStream::connect(address).await.is_err());
}
