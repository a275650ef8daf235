//! Measures the memory of controllers of Pods: each line is `NAME VALUE UNIT`, measured in a process of its own.
//!
//! `cargo run --release -p operator-runtime --example caches -- 10000`. The API server is a function that generates each page of a list on
//! request, so that it takes no memory. Needs Linux, for the resident size of a process.

use std::{convert::Infallible, process::Command, sync::Arc, time::Duration};

use http::{Request, Response, header::ACCEPT};
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, client::Body, core::PartialObjectMeta};
use operator_runtime::{
    Action, Context, ControllerOptions, Controllers, Object, Operator, Reconciler, Result,
    Settings, Setup,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

const CONTROLLERS: [&str; 5] = ["idle", "whole", "shared", "reduced", "metadata"];

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments
        .next()
        .and_then(|count| count.parse().ok())
        .unwrap_or(10_000);
    if let Some(name) = arguments.next() {
        return run(&name, count);
    }
    println!("pod {} bytes", pod(0, false).to_string().len());
    for name in CONTROLLERS {
        let program = std::env::current_exe()?;
        let measured = Command::new(program)
            .args([&count.to_string(), name])
            .status()?;
        anyhow::ensure!(measured.success(), "{name} could not be measured");
    }
    Ok(())
}

/// Runs controllers until they have reconciled each Pod, and then prints the resident size of this process.
#[tokio::main(flavor = "current_thread")]
async fn run(name: &str, count: usize) -> anyhow::Result<()> {
    let count = if name == "idle" { 0 } else { count };
    let (done, mut reconciled) = unbounded_channel();
    let (controllers, expected) = match name {
        "metadata" => {
            let each = Each::<PartialObjectMeta<Pod>>::new(done, ControllerOptions::default());
            (
                Controllers::new().add(async move |_: Setup| Ok(each), |c| c),
                count,
            )
        }
        "shared" => {
            let controllers =
                ["first", "second"]
                    .into_iter()
                    .fold(Controllers::new(), |all, name| {
                        let each = Each::<Pod>::new(done.clone(), ControllerOptions::default());
                        all.add_named(name, async move |_: Setup| Ok(each), |c| c)
                    });
            (controllers, 2 * count)
        }
        _ => {
            let options = match name {
                "reduced" => ControllerOptions::default().reduce(keep_phase),
                _ => ControllerOptions::default(),
            };
            let each = Each::<Pod>::new(done, options);
            (
                Controllers::new().add(async move |_: Setup| Ok(each), |c| c),
                count,
            )
        }
    };
    let server = tower::service_fn(move |request| answer(request, count));
    let client = Client::new(server, "default");
    let operator = Operator::new("caches", Settings::for_tests(), client).register(controllers);
    let _running = tokio::spawn(operator.run());
    for _ in 0..expected {
        reconciled.recv().await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    println!("{name} {:.1} MiB", resident()?);
    println!("{name}-peak {:.1} MiB", status("VmHWM:")?);
    Ok(())
}

struct Each<K> {
    done: UnboundedSender<()>,
    options: ControllerOptions<K>,
}

impl<K> Each<K> {
    fn new(done: UnboundedSender<()>, options: ControllerOptions<K>) -> Self {
        Self { done, options }
    }
}

impl<K: Object> Reconciler for Each<K> {
    type Resource = K;

    async fn reconcile(&self, _: Arc<K>, _: &Context) -> Result<Action> {
        let _ended = self.done.send(());
        Ok(Action::await_change())
    }

    fn options(&self) -> ControllerOptions<K> {
        self.options.clone()
    }
}

/// Keeps what a controller needs that deletes Pods by their phase.
fn keep_phase(pod: &mut Pod) {
    pod.spec = None;
    pod.metadata.annotations = None;
    let phase = pod.status.take().and_then(|status| status.phase);
    pod.status.get_or_insert_default().phase = phase;
}

/// Lists `count` Pods; a watch has no events.
async fn answer(request: Request<Body>, count: usize) -> Result<Response<Body>, Infallible> {
    let query = request.uri().query().unwrap_or_default();
    let parameter = |name: &str| {
        query
            .split('&')
            .filter_map(|it| it.split_once('='))
            .find(|(it, _)| *it == name)
            .map(|(_, value)| value.to_owned())
    };
    if parameter("watch").is_some() {
        return std::future::pending().await;
    }
    let number = |name| parameter(name).and_then(|value| value.parse::<usize>().ok());
    let begin = number("continue").unwrap_or_default();
    let end = count.min(begin + number("limit").unwrap_or(count));
    let accept = request
        .headers()
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    let is_partial = accept.is_some_and(|accept| accept.contains("PartialObjectMetadata"));
    let items: Vec<_> = (begin..end).map(|index| pod(index, is_partial)).collect();
    let list = json!({
        "apiVersion": "v1", "kind": "PodList", "items": items,
        "metadata": { "resourceVersion": "1", "continue": (end < count).then(|| end.to_string()) },
    });
    Ok(Response::new(Body::from(list.to_string().into_bytes())))
}

/// A Pod of a Deployment behind a service mesh, as the API server returns it.
fn pod(index: usize, is_partial: bool) -> Value {
    let name = format!("checkout-7d4b9c6f8-{index:05}");
    let fields = |parts: &[&str]| {
        let fields = parts
            .iter()
            .map(|part| ((*part).to_owned(), json!({ "f:name": {}, "f:value": {} })));
        Value::Object(fields.collect())
    };
    let metadata = json!({
        "name": name, "generateName": "checkout-7d4b9c6f8-", "namespace": "shop",
        "uid": format!("0b5f1d3e-7a52-4c1b-9a55-{index:012}"), "resourceVersion": index.to_string(),
        "creationTimestamp": "2025-03-01T10:00:00Z",
        "labels": {
            "app.kubernetes.io/name": "checkout", "app.kubernetes.io/instance": "checkout-production",
            "app.kubernetes.io/version": "4.11.2", "pod-template-hash": "7d4b9c6f8",
            "security.istio.io/tlsMode": "istio", "topology.kubernetes.io/region": "eu-central-1",
        },
        "annotations": {
            "prometheus.io/scrape": "true", "prometheus.io/port": "9102", "prometheus.io/path": "/metrics",
            "kubectl.kubernetes.io/restartedAt": "2025-03-01T09:59:58Z",
            "sidecar.istio.io/status": "{\"initContainers\":[\"istio-init\"],\"containers\":[\"istio-proxy\"],\"volumes\":[\"workload-socket\",\"credential-socket\",\"istio-envoy\",\"istio-data\",\"istio-token\"],\"revision\":\"default\"}",
        },
        "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "checkout-7d4b9c6f8",
            "uid": "5a1f4b0c-2d0e-4b8a-8f0e-5f1a2b3c4d5e", "controller": true, "blockOwnerDeletion": true,
        }],
        "managedFields": [
            { "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
              "time": "2025-03-01T10:00:00Z", "fieldsType": "FieldsV1",
              "fieldsV1": { "f:metadata": fields(&["f:labels", "f:annotations", "f:ownerReferences"]),
                            "f:spec": fields(&["f:containers", "f:volumes", "f:env", "f:resources", "f:probes", "f:affinity"]) } },
            { "manager": "kubelet", "operation": "Update", "apiVersion": "v1", "subresource": "status",
              "time": "2025-03-01T10:00:09Z", "fieldsType": "FieldsV1",
              "fieldsV1": { "f:status": fields(&["f:conditions", "f:containerStatuses", "f:hostIP", "f:podIP", "f:phase"]) } },
        ],
    });
    if is_partial {
        return json!({ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata });
    }
    let container = |name: &str, variables: usize| {
        let environment: Vec<_> = (0..variables)
            .map(|index| json!({ "name": format!("CHECKOUT_SETTING_{index}"), "value": format!("value of the setting {index}") }))
            .collect();
        let probe = json!({
            "httpGet": { "path": "/healthz", "port": 8080, "scheme": "HTTP" },
            "initialDelaySeconds": 5, "periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3,
        });
        json!({
            "name": name, "image": format!("registry.example.com/shop/{name}:4.11.2"), "imagePullPolicy": "IfNotPresent",
            "env": environment, "livenessProbe": probe, "readinessProbe": probe,
            "ports": [{ "containerPort": 8080, "name": "http", "protocol": "TCP" }],
            "resources": { "limits": { "cpu": "1", "memory": "512Mi" }, "requests": { "cpu": "250m", "memory": "256Mi" } },
            "securityContext": { "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] }, "runAsNonRoot": true },
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "volumeMounts": [
                { "mountPath": "/etc/checkout", "name": "settings", "readOnly": true },
                { "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access-x7d2k", "readOnly": true },
            ],
        })
    };
    let is_true = |kind: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": "2025-03-01T10:00:09Z" });
    let running = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example.com/shop/{name}:4.11.2"), "ready": true, "started": true, "restartCount": 0,
            "imageID": "registry.example.com/shop/main@sha256:6c3c624b58dbbcd3c0dd82b4c53f04194d1247c6eebdaab7c610cf7d66709b3b",
            "containerID": "containerd://3f1a8c2be5d94d6f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f",
            "state": { "running": { "startedAt": "2025-03-01T10:00:05Z" } },
        })
    };
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {
            "containers": [container("checkout", 20), container("istio-proxy", 12)],
            "initContainers": [container("istio-init", 2)],
            "nodeName": format!("node-{}", index % 50), "serviceAccountName": "checkout", "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30,
            "securityContext": { "fsGroup": 1337, "seccompProfile": { "type": "RuntimeDefault" } },
            "tolerations": [
                { "effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300 },
                { "effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300 },
            ],
            "volumes": [
                { "name": "settings", "configMap": { "name": "checkout", "defaultMode": 420 } },
                { "name": "kube-api-access-x7d2k", "projected": { "defaultMode": 420, "sources": [
                    { "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } },
                    { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
                ] } },
            ],
        },
        "status": {
            "phase": "Running", "hostIP": "10.0.0.7", "podIP": "10.244.1.17", "podIPs": [{ "ip": "10.244.1.17" }],
            "qosClass": "Burstable", "startTime": "2025-03-01T10:00:01Z",
            "conditions": [is_true("PodScheduled"), is_true("Initialized"), is_true("ContainersReady"), is_true("Ready")],
            "containerStatuses": [running("checkout"), running("istio-proxy")],
            "initContainerStatuses": [running("istio-init")],
        },
    })
}

fn resident() -> anyhow::Result<f64> {
    status("VmRSS:")
}

/// A size in the status of this process, in MiB.
fn status(name: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes: f64 = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .ok_or_else(|| anyhow::anyhow!("no {name}"))?
        .parse()?;
    Ok(kilobytes / 1024.0)
}
