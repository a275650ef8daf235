//! Waits for effects of the operator that runs in the background.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::{Request, Server};

/// How long to wait between two calls of a probe.
const PAUSE: Duration = Duration::from_millis(100);

impl Server {
    /// Calls `probe` until it returns `Some`, and returns the value. Waits for at most 10 seconds (60 on a real server).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::{Api, Client};
    /// use operator_testing::Server;
    ///
    /// # async fn my_operator(client: Client) -> Result<(), kube::Error> {
    /// #     let config_map = operator_testing::sample::<ConfigMap>("{metadata: {name: greeting}}").unwrap();
    /// #     Api::<ConfigMap>::default_namespaced(client).create(&Default::default(), &config_map).await?;
    /// #     std::future::pending().await
    /// # }
    /// let server = Server::in_memory();
    /// server.run(my_operator(server.client()));
    /// let config_maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    /// let greeting = server
    ///     .eventually("the ConfigMap is created", async || config_maps.get_opt("greeting").await.ok()?)
    ///     .await;
    /// assert!(greeting.metadata.uid.is_some());
    /// # Ok(()) }
    /// ```
    ///
    /// # Panics
    ///
    /// If an operator of [`run`](Self::run) has ended, panics with its error. After the timeout, panics with the description, the last
    /// error of each object (if the operator reports to [`outcomes`](Self::outcomes)), the last rejected requests, the conditions of
    /// objects whose status was written, and the Warning events of the cluster.
    pub async fn eventually<T, F, A>(&self, description: &str, mut probe: F) -> T
    where
        F: FnMut() -> A,
        A: Future<Output = Option<T>>,
    {
        let (patience, pause) = if self.is_real() {
            (Duration::from_secs(60), PAUSE)
        } else {
            (Duration::from_secs(10), Duration::from_millis(10))
        };
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            if let Some(answer) = probe().await {
                return answer;
            }
            let ended = self.ended().clone();
            if let Some(reason) = ended {
                panic!("the operator ended before this: {description}\n  {reason}");
            }
            if tokio::time::Instant::now() >= deadline {
                let findings = self.findings().await;
                panic!(
                    "not within {} s: {description}\n{findings}",
                    patience.as_secs()
                );
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Calls `probe` for this time, and fails if it returns `None`: for what must stay as it is, or must not happen.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # async fn example(server: operator_testing::Server, pods: kube::Api<k8s_openapi::api::core::v1::Pod>) {
    /// let minute = Duration::from_secs(60);
    /// server.consistently("the pod is kept", minute, async || pods.get_opt("a").await.ok()?).await;
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Like [`eventually`](Self::eventually), as soon as `probe` returns `None`.
    pub async fn consistently<T, F, A>(&self, description: &str, duration: Duration, mut probe: F)
    where
        F: FnMut() -> A,
        A: Future<Output = Option<T>>,
    {
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < duration {
            let holds = probe().await.is_some();
            let ended = self.ended().clone();
            if let Some(reason) = ended {
                panic!("the operator ended during this: {description}\n  {reason}");
            }
            if !holds {
                let findings = self.findings().await;
                let seconds = begun.elapsed().as_secs();
                panic!("no longer after {seconds} s: {description}\n{findings}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Describes possible causes of a timeout. Boxed, so that it is compiled in this crate and not in each test.
    fn findings(&self) -> BoxFuture<'_, String> {
        Box::pin(self.collect_findings())
    }

    async fn collect_findings(&self) -> String {
        let requests = self.requests();
        let mut lines = self.outcomes().lines();
        let reconciled = lines.len();
        lines.extend(refused(&requests));
        lines.extend(self.conditions(&requests).await);
        let warnings = self
            .read("/api/v1/events?fieldSelector=type%3DWarning")
            .await;
        for event in warnings["items"].as_array().into_iter().flatten() {
            let field = |name: &str| event[name].as_str().unwrap_or_default();
            let about = &event["involvedObject"];
            let times = match event["count"].as_u64() {
                Some(times) if times > 1 => format!(", {times} times"),
                _ => String::new(),
            };
            lines.push(format!(
                "event: {} {}/{}: {}: {}{times}",
                about["kind"].as_str().unwrap_or_default(),
                about["namespace"].as_str().unwrap_or_default(),
                about["name"].as_str().unwrap_or_default(),
                field("reason"),
                field("message"),
            ));
        }
        if lines.len() == reconciled {
            let count = requests.len();
            lines.push(format!(
                "none of {count} requests was refused, and there is no Warning event"
            ));
        }
        lines
            .into_iter()
            .map(|line| {
                let line = line.replace('\n', "\n    ");
                format!("  {line}\n")
            })
            .collect()
    }

    /// The conditions of objects whose status was written.
    async fn conditions(&self, requests: &[Request]) -> Vec<String> {
        let objects: BTreeSet<[&str; 4]> = requests
            .iter()
            .filter(|it| it.is_write() && it.subresource == "status")
            .map(|it| [&it.group, &it.resource, &it.namespace, &it.name].map(String::as_str))
            .collect();
        let mut lines = Vec::new();
        for [group, resource, namespace, name] in objects {
            let root = match group {
                "" => "/api/v1".to_owned(),
                group => {
                    let path = format!("/apis/{group}");
                    let preferred = &self.read(&path).await["preferredVersion"]["version"];
                    format!("{path}/{}", preferred.as_str().unwrap_or_default())
                }
            };
            let within = match namespace {
                "" => String::new(),
                namespace => format!("/namespaces/{namespace}"),
            };
            let object = self
                .read(&format!("{root}{within}/{resource}/{name}"))
                .await;
            let conditions = object["status"]["conditions"].as_array();
            lines.extend(conditions.into_iter().flatten().map(|condition| {
                let field = |name: &str| condition[name].as_str().unwrap_or_default();
                format!(
                    "condition: {resource} {namespace}/{name}: {} is {}: {}: {}",
                    field("type"),
                    field("status"),
                    field("reason"),
                    field("message"),
                )
            }));
        }
        lines
    }

    /// Reads a URL path as the administrator; null after an error.
    pub(crate) async fn read(&self, path: &str) -> Value {
        match http::Request::get(path).body(Vec::new()) {
            Ok(request) => self.own_client().request(request).await.unwrap_or_default(),
            Err(_) => Value::Null,
        }
    }
}

/// The last rejected requests, each once.
fn refused(requests: &[Request]) -> Vec<String> {
    let is_refused = |request: &&Request| request.code >= 400;
    // the test itself polls, so its failed requests are shown only if there are no others
    let by_others = |request: &&Request| is_refused(request) && !request.user.is_empty();
    let has_others = requests.iter().any(|request| by_others(&request));
    let mut distinct: Vec<(&Request, usize)> = Vec::new();
    for request in requests.iter().filter(is_refused) {
        if has_others && !by_others(&request) {
            continue;
        }
        let times = distinct
            .iter()
            .position(|(known, _)| *known == request)
            .map_or(0, |at| distinct.remove(at).1);
        distinct.push((request, times + 1));
    }
    let last = distinct.len().saturating_sub(8);
    distinct
        .split_off(last)
        .into_iter()
        .map(|(request, times)| {
            let Request {
                code, agent, user, ..
            } = request;
            let who = match user.as_str() {
                "" => agent.clone(),
                user => format!("{agent} as {user}"),
            };
            let times = match times {
                1 => String::new(),
                times => format!(", {times} times"),
            };
            let help = match (code, user.as_str()) {
                (403, user) if !user.is_empty() => {
                    format!("\n    help: {}", request.permission())
                }
                _ => String::new(),
            };
            format!("refused: {code} {request} by {who}{times}{help}")
        })
        .collect()
}
