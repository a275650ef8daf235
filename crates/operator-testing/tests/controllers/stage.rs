//! The namespace of a scenario, in which the test writes the status of pods as the kubelet would.

use std::fmt::Write as _;
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use operator_testing::Server;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::mask::masked;

pub struct Stage {
    server: Server,
    client: Client,
    namespace: &'static str,
    /// The objects after the last step.
    before: Vec<(&'static str, Value)>,
    /// The changes so far, in the form of `recorded/`.
    seen: String,
}

/// The kinds that are compared, in the order in which they are shown.
const KINDS: [(&str, &str); 9] = [
    ("apis/apps/v1", "deployments"),
    ("apis/apps/v1", "replicasets"),
    ("apis/apps/v1", "statefulsets"),
    ("apis/apps/v1", "daemonsets"),
    ("apis/apps/v1", "controllerrevisions"),
    ("apis/batch/v1", "cronjobs"),
    ("apis/batch/v1", "jobs"),
    ("apis/policy/v1", "poddisruptionbudgets"),
    ("api/v1", "pods"),
];

impl Stage {
    pub fn new(server: Server, namespace: &'static str) -> Self {
        Self {
            client: server.client(),
            server,
            namespace,
            before: Vec::new(),
            seen: String::new(),
        }
    }

    pub fn seen(self) -> String {
        self.seen
    }

    /// Creates the namespace.
    pub async fn open(&mut self) {
        let name = self.namespace;
        self.server
            .install(&format!(
                "{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}"
            ))
            .await
            .unwrap();
        // A real server rejects pods until a controller has created the service account of their namespace.
        let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        while self
            .try_send(Method::GET, &account, "", &Value::Null)
            .await
            .is_err()
        {
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn try_send(
        &self,
        method: Method,
        path: &str,
        media: &str,
        body: &Value,
    ) -> kube::Result<Value> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", media)
            .header("user-agent", "test/1");
        let body = match body {
            Value::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        };
        self.client.request(request.body(body).unwrap()).await
    }

    async fn send(&self, method: Method, path: &str, media: &str, body: Value) -> Value {
        let answer = self.try_send(method, path, media, &body).await;
        answer.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn path(&self, plural: &str) -> String {
        let (root, _) = KINDS
            .iter()
            .find(|(_, known)| *known == plural)
            .expect("it is one of the kinds that are compared");
        format!("/{root}/namespaces/{}/{plural}", self.namespace)
    }

    /// Creates an object, and does not wait for the controllers.
    pub async fn begin(&mut self, plural: &str, object: Value) {
        let path = self.path(plural);
        self.send(Method::POST, &path, "application/json", object)
            .await;
    }

    pub async fn create(&mut self, plural: &str, object: Value) {
        self.begin(plural, object).await;
        self.rest(&format!("{plural} made")).await;
    }

    pub async fn node(&mut self, name: &str) {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
        self.send(Method::POST, "/api/v1/nodes", "application/json", node)
            .await;
        // A real server adds a taint to a new node, which is not ready.
        let path = format!("/api/v1/nodes/{name}");
        let free = json!({"spec": {"taints": null}});
        self.send(Method::PATCH, &path, "application/merge-patch+json", free)
            .await;
    }

    pub async fn patch(&mut self, object: &str, patch: Value) {
        let (plural, name) = object.split_once('/').unwrap();
        let path = format!("{}/{name}", self.path(plural));
        let shown = format!("{object} changed by {patch}");
        self.send(Method::PATCH, &path, "application/merge-patch+json", patch)
            .await;
        self.rest(&shown).await;
    }

    pub async fn delete(&mut self, object: &str, options: Value) {
        let (plural, name) = object.split_once('/').unwrap();
        let path = format!("{}/{name}", self.path(plural));
        let shown = format!("{object} deleted {options}");
        self.send(Method::DELETE, &path, "application/json", options)
            .await;
        self.rest(&shown).await;
    }

    /// Deletes the first pod.
    pub async fn lose_pod(&mut self) {
        let pods = self.list("pods").await;
        let path = format!(
            "{}/{}",
            self.path("pods"),
            pods[0]["metadata"]["name"].as_str().unwrap()
        );
        self.send(Method::DELETE, &path, "application/json", json!({}))
            .await;
        self.rest("a pod deleted").await;
    }

    /// Reports all pending pods as running and ready.
    pub async fn run_pods(&mut self) {
        let ready = json!({
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": k8s_openapi::jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        });
        self.report_pods(
            "Pending",
            json!({"phase": "Running", "conditions": [ready]}),
        )
        .await;
        self.rest("pods run").await;
    }

    /// Reports all running pods as ended, with this phase.
    pub async fn end_pods(&mut self, phase: &str) {
        self.report_pods("Running", json!({"phase": phase, "conditions": []}))
            .await;
        self.rest(&format!("pods {phase}")).await;
    }

    async fn report_pods(&mut self, phase: &str, status: Value) {
        for pod in self.list("pods").await {
            if pod["status"]["phase"] == phase {
                let name = pod["metadata"]["name"].as_str().unwrap();
                let path = format!("{}/{name}/status", self.path("pods"));
                let status = json!({"status": status});
                self.send(Method::PATCH, &path, "application/merge-patch+json", status)
                    .await;
            }
        }
    }

    pub async fn list(&self, plural: &str) -> Vec<Value> {
        let list = self
            .send(Method::GET, &self.path(plural), "", Value::Null)
            .await;
        list["items"].as_array().unwrap().clone()
    }

    /// Waits until there is an object of a kind.
    pub async fn await_some(&mut self, plural: &str) {
        while self.list(plural).await.is_empty() {
            sleep(Duration::from_secs(1)).await;
        }
        self.rest(&format!("{plural} there")).await;
    }

    async fn all(&self) -> Vec<(&'static str, Vec<Value>)> {
        let mut all = Vec::new();
        for (_, plural) in KINDS {
            all.push((plural, self.list(plural).await));
        }
        all
    }

    /// Waits until nothing changes any more, and records what has changed since the last step.
    async fn rest(&mut self, step: &str) {
        let mut all = self.all().await;
        let mut calm = 0;
        while self.server.is_real() && calm < 5 {
            sleep(Duration::from_millis(250)).await;
            let now = self.all().await;
            calm = if now == all { calm + 1 } else { 0 };
            all = now;
        }
        writeln!(self.seen, "# {step}").unwrap();
        let all = masked(self.namespace, all);
        let mut gone = std::mem::take(&mut self.before);
        let mut shown: Vec<(&str, &Value, usize)> = Vec::new();
        for (plural, object) in &all {
            let known = gone
                .iter()
                .position(|(other, known)| other == plural && known == object);
            if let Some(known) = known {
                gone.remove(known);
                continue;
            }
            match shown.last_mut() {
                Some((other, last, count)) if other == plural && *last == object => *count += 1,
                _ => shown.push((plural, object, 1)),
            }
        }
        for (plural, object, count) in shown {
            writeln!(self.seen, "{count} {plural} {object}").unwrap();
        }
        for (plural, object) in gone {
            let name = object["metadata"]["name"].as_str().unwrap();
            writeln!(self.seen, "# no more: {plural} {name}").unwrap();
        }
        self.before = all;
    }
}
