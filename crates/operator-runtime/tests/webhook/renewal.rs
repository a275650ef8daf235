//! Two replicas behind one address, as a Service has them, while a hundred requests a second reach their webhooks: certificates expire and
//! are renewed, and the replicas are restarted one after the other. In memory and on a real API server, which keeps its connections.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, api::PostParams};
use operator_runtime::{Controllers, Operator, Settings, ShutdownHandle, webhook::Webhooks};
use operator_testing::Server;
use serde_json::json;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
    time::{MissedTickBehavior, interval, sleep},
};

use crate::{
    admission::{self, CONFIGURATIONS},
    served::{webhooks, widget},
};

const LIFETIME: Duration = Duration::from_secs(10);

/// The time between two creations, each of which calls two webhooks.
const PERIOD: Duration = Duration::from_millis(20);

/// The endpoints that a Service would have: the addresses of the ready replicas.
pub type Endpoints = Arc<Mutex<Vec<SocketAddr>>>;

pub struct Replica {
    address: SocketAddr,
    handle: ShutdownHandle,
    task: JoinHandle<anyhow::Result<()>>,
}

impl Replica {
    /// Starts a replica, and adds it to the endpoints when it is ready.
    pub async fn start(
        server: &Server,
        url: &str,
        endpoints: &Endpoints,
        webhooks: Webhooks,
    ) -> Self {
        let (address, health) = (free_address().await, TcpListener::bind("127.0.0.1:0").await);
        let mut settings = Settings::for_tests();
        settings.webhook_address = Some(address);
        settings.webhook_url = Some(url.to_owned());
        settings.webhook_certificate_lifetime = LIFETIME;
        let health = health.unwrap();
        let page = health.local_addr().unwrap().to_string();
        let operator = Operator::new("shop", settings, server.client())
            .register(Controllers::new().webhooks(webhooks))
            .listener(health);
        let handle = operator.shutdown_handle();
        let task = tokio::spawn(operator.run());
        while crate::life::page(&page, "/readyz").await != "ok" {
            assert!(!task.is_finished());
            sleep(Duration::from_millis(20)).await;
        }
        endpoints.lock().unwrap().push(address);
        Self {
            address,
            handle,
            task,
        }
    }

    /// Stops the replica like a Deployment: first it gets no new connections, then it is stopped.
    pub async fn stop(self, endpoints: &Endpoints) {
        endpoints.lock().unwrap().retain(|it| *it != self.address);
        sleep(Duration::from_millis(200)).await;
        self.handle.shutdown();
        self.task.await.unwrap().unwrap();
    }
}

async fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

/// Forwards each connection to the next endpoint. Returns its URL.
pub async fn service(endpoints: Endpoints) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for number in 0.. {
            let (mut client, _) = listener.accept().await.unwrap();
            let address = {
                let endpoints = endpoints.lock().unwrap();
                endpoints[number % endpoints.len()]
            };
            tokio::spawn(async move {
                let mut replica = TcpStream::connect(address).await.unwrap();
                // until one side closes its connection
                let _ = copy_bidirectional(&mut client, &mut replica).await;
            });
        }
    });
    url
}

/// The certificate in the Secret.
async fn serving_certificate(server: &Server) -> Vec<u8> {
    let secrets: Api<Secret> = Api::default_namespaced(server.client());
    let secret = secrets.get("shop-webhook").await.unwrap();
    secret.data.unwrap()["tls.crt"].0.clone()
}

/// Creates widgets in dry runs.
struct Load {
    /// How many were created, and what failed.
    task: JoinHandle<(usize, Vec<String>)>,
    stop: tokio::sync::oneshot::Sender<()>,
}

impl Load {
    fn start(server: &Server) -> Self {
        let api = admission::widgets(server.client());
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let task = tokio::spawn(async move {
            let dry = PostParams {
                dry_run: true,
                ..PostParams::default()
            };
            let object = serde_json::from_value(widget(json!({"size": 1}))).unwrap();
            let mut ticks = interval(PERIOD);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let (mut requests, mut failures, mut count) = (JoinSet::new(), vec![], 0);
            loop {
                tokio::select! {
                    _ = &mut stopped => break,
                    _ = ticks.tick() => {
                        count += 1;
                        let (api, dry, object) = (api.clone(), dry.clone(), Clone::clone(&object));
                        requests.spawn(async move { api.create(&dry, &object).await.map(|it| it.data) });
                    }
                    Some(created) = requests.join_next() => check(created.unwrap(), &mut failures),
                }
            }
            while let Some(created) = requests.join_next().await {
                check(created.unwrap(), &mut failures);
            }
            (count, failures)
        });
        Self { task, stop }
    }

    async fn end(self) -> (usize, Vec<String>) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap()
    }
}

fn check(created: kube::Result<serde_json::Value>, failures: &mut Vec<String>) {
    match created {
        Ok(data) if data["spec"]["size"] == 2 => {}
        Ok(data) => failures.push(format!("no webhook was called: {data}")),
        Err(error) => failures.push(error.to_string()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_certificates_expire_and_replicas_are_restarted() {
    let server = Server::start().await.unwrap();
    server
        .install(include_str!("../support/crds.yaml"))
        .await
        .unwrap();
    // long timeouts, because this does not test the speed of the machine
    let patient = CONFIGURATIONS.replace("timeoutSeconds: 2", "timeoutSeconds: 10");
    server.install(&patient).await.unwrap();
    let endpoints = Endpoints::default();
    let url = service(endpoints.clone()).await;
    let first = Replica::start(&server, &url, &endpoints, webhooks()).await;
    let second = Replica::start(&server, &url, &endpoints, webhooks()).await;
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let object = serde_json::from_value(widget(json!({"size": 1}))).unwrap();
    // A real API server reads the configurations with a delay.
    server
        .eventually("the webhooks are called", async || {
            let created = admission::widgets(server.client())
                .create(&dry, &object)
                .await;
            (created.ok()?.data["spec"]["size"] == 2).then_some(())
        })
        .await;

    let load = Load::start(&server);
    let began = Instant::now();
    let mut certificates = BTreeSet::from([serving_certificate(&server).await]);
    // until the certificate with which both have started has expired
    while began.elapsed() < LIFETIME {
        sleep(Duration::from_millis(500)).await;
        certificates.insert(serving_certificate(&server).await);
    }
    // the API server connects again, and gets the current certificate
    first.stop(&endpoints).await;
    let first = Replica::start(&server, &url, &endpoints, webhooks()).await;
    second.stop(&endpoints).await;
    let second = Replica::start(&server, &url, &endpoints, webhooks()).await;
    sleep(Duration::from_secs(1)).await;
    let (count, failures) = load.end().await;

    let took = began.elapsed();
    println!(
        "{count} creations in {took:?}, {} certificates",
        certificates.len()
    );
    assert_eq!(failures, [""; 0], "of {count}");
    assert!(certificates.len() >= 2);
    assert!(count > 200, "{count} creations");
    for replica in [first, second] {
        replica.stop(&Endpoints::default()).await;
    }
}
