//! Measures the styles `reconciler` and `declarative` doing the same work: each line is `STYLE FIGURE VALUE UNIT`.
//!
//! `cargo run --release -p operator-runtime --example styles -- 300` serves the API server in memory, and runs an operator of each style in
//! a process of its own, with one thread. The operator keeps a Deployment and a status for each of 300 objects, which are created, updated
//! once, and then left alone. The figures are the CPU time of the operator, its requests, and its resident size. Needs Linux.

use std::{
    collections::BTreeMap,
    fs,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::Context as _;
use http::Request as HttpRequest;
use hyper::body::Incoming;
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{Container, EnvVar, PodSpec, PodTemplateSpec},
    },
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use kube::{
    Api, Client, Config, CustomResource, ResourceExt,
    api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use operator_runtime::{
    Action, Applied, Context, Controllers, Declarative, Desired, Error, Observed, Operator,
    Reconciler, Result, Settings, Setup, Status,
};
use operator_testing::{Request, Server, http::Serving};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::sleep;
use tower::ServiceExt;

const CRDS: &str = include_str!("../tests/support/crds.yaml");

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "test.example.com",
    version = "v1",
    kind = "Widget",
    namespaced,
    status = "WidgetStatus",
    schema = "disabled"
)]
struct WidgetSpec {
    size: i32,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct WidgetStatus {
    observed_generation: Option<i64>,
    ready: Option<i32>,
}

fn deployment(metadata: ObjectMeta, widget: &Widget) -> Deployment {
    let labels: BTreeMap<_, _> = [("app".to_owned(), widget.name_any())].into();
    let variable = |index| EnvVar {
        name: format!("SETTING_{index}"),
        value: Some(format!("value {index}")),
        ..EnvVar::default()
    };
    let container = Container {
        name: "main".into(),
        image: Some("registry.example.com/main:1.0".into()),
        env: Some((0..8).map(variable).collect()),
        ..Container::default()
    };
    Deployment {
        metadata,
        spec: Some(DeploymentSpec {
            replicas: Some(widget.spec.size),
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![container],
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    }
}

fn status(widget: &Widget, deployment: Option<&Deployment>) -> WidgetStatus {
    let status = deployment.and_then(|deployment| deployment.status.as_ref());
    WidgetStatus {
        observed_generation: widget.metadata.generation,
        ready: Some(status.and_then(|status| status.ready_replicas).unwrap_or(0)),
    }
}

struct Widgets;

impl Reconciler for Widgets {
    type Resource = Widget;

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context) -> Result<Action> {
        let child = deployment(cx.child_metadata(&*widget, widget.name_any()), &widget);
        let applied = cx.apply(&child).await?;
        cx.update_status(&*widget, &status(&widget, Some(&applied)))
            .await?;
        Ok(Action::await_change())
    }
}

impl Declarative for Widgets {
    type Resource = Widget;

    fn desired(&self, widget: &Widget, observed: &Observed) -> Result<Desired<Widget>> {
        let metadata = observed.child_metadata(widget, widget.name_any());
        Ok(Desired::new().child(deployment(metadata, widget)))
    }

    fn status(
        &self,
        widget: &Widget,
        observed: &Observed,
        _: Result<&Applied, &Error>,
    ) -> Result<Status<Widget>> {
        let child = observed.get::<Deployment>(&widget.name_any())?;
        Ok(Status::new(status(widget, child.as_ref())))
    }
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next();
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
    };
    match (first.as_deref(), arguments.next()) {
        (Some(style @ ("reconciler" | "declarative")), Some(kubeconfig)) => {
            runtime()?.block_on(operate(style, &kubeconfig))
        }
        (count, None) => {
            let count = count.map_or(Ok(300), str::parse)?;
            for style in ["reconciler", "declarative"] {
                runtime()?.block_on(measure(style, count))?;
            }
            Ok(())
        }
        _ => anyhow::bail!("usage: styles [COUNT]"),
    }
}

/// Runs the operator that is measured.
async fn operate(style: &str, kubeconfig: &str) -> anyhow::Result<()> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let setup = async |_: Setup| Ok(Widgets);
    let controllers = match style {
        "declarative" => {
            Controllers::new().add_declarative(setup, operator_runtime::Watches::owns::<Deployment>)
        }
        _ => Controllers::new().add(setup, operator_runtime::Watches::owns::<Deployment>),
    };
    let operator = Operator::new("styles", Settings::for_tests(), Client::try_from(config)?);
    operator.register(controllers).run().await
}

/// The process of the operator, which is killed when this is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

impl Process {
    /// The CPU time of its main thread in seconds.
    fn cpu(&self) -> anyhow::Result<f64> {
        let times = fs::read_to_string(format!("/proc/{}/schedstat", self.0.id()))?;
        let nanoseconds = times.split(' ').next().context("no time")?;
        Ok(nanoseconds.parse::<f64>()? / 1e9)
    }

    /// The resident size in MiB.
    fn resident(&self) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        Ok(kilobytes.context("no size")?.parse::<f64>()? / 1024.0)
    }
}

/// The requests of the operator.
#[derive(Clone, Default)]
struct Requests(Arc<Mutex<Vec<Request>>>);

impl Requests {
    fn all(&self) -> Vec<Request> {
        self.0
            .lock()
            .expect("nothing panics while it is locked")
            .clone()
    }
}

async fn measure(style: &str, count: usize) -> anyhow::Result<()> {
    let server = Server::in_memory();
    server.install(CRDS).await?;
    let requests = Requests::default();
    let service = server.service().context("it is in memory")?;
    let recording = {
        let requests = requests.clone();
        tower::service_fn(move |request: HttpRequest<Incoming>| {
            let recorded = Request::of(&request);
            let mut all = requests
                .0
                .lock()
                .expect("nothing panics while it is locked");
            all.push(recorded);
            service.clone().oneshot(request)
        })
    };
    let serving = Serving::start(recording).await?;
    let kubeconfig = std::env::temp_dir().join(format!("styles-{}", std::process::id()));
    serving.write_kubeconfig(&kubeconfig)?;
    let operator = Command::new(std::env::current_exe()?)
        .arg(style)
        .arg(&kubeconfig)
        .stdout(Stdio::null())
        .spawn()?;
    let operator = Process(operator);
    settled(&server, &requests).await?;
    fs::remove_file(&kubeconfig)?;
    println!("{style} idle {:.2} MiB", operator.resident()?);

    let widgets: Api<Widget> = Api::default_namespaced(server.client());
    for phase in ["created", "updated", "left-alone"] {
        let (cpu, made) = (operator.cpu()?, requests.all().len());
        match phase {
            "created" => {
                for index in 0..count {
                    let widget = Widget::new(&format!("widget-{index}"), WidgetSpec { size: 1 });
                    widgets.create(&PostParams::default(), &widget).await?;
                }
            }
            "updated" => {
                for index in 0..count {
                    let edit = Patch::Merge(json!({ "spec": { "size": 2 } }));
                    let name = format!("widget-{index}");
                    widgets.patch(&name, &PatchParams::default(), &edit).await?;
                }
            }
            _ => sleep(Duration::from_secs(5)).await,
        }
        settled(&server, &requests).await?;
        println!("{style} {phase}-cpu {:.4} s", operator.cpu()? - cpu);
        println!("{style} {phase}-resident {:.2} MiB", operator.resident()?);
        let mut counts = BTreeMap::<String, usize>::new();
        for Request {
            verb,
            resource,
            subresource,
            ..
        } in &requests.all()[made..]
        {
            let separator = if subresource.is_empty() { "" } else { "/" };
            let name = format!("{phase}-{verb}-{resource}{separator}{subresource}");
            *counts.entry(name).or_default() += 1;
        }
        for (name, count) in counts {
            println!("{style} {name} {count} requests");
        }
    }
    serving.shutdown().await;
    Ok(())
}

/// Waits until the operator watches, each object has its Deployment and its status, and no request has come for two seconds.
async fn settled(server: &Server, requests: &Requests) -> anyhow::Result<()> {
    let widgets: Api<Widget> = Api::default_namespaced(server.client());
    let deployments: Api<Deployment> = Api::default_namespaced(server.client());
    let mut before = usize::MAX;
    for _ in 0..60 {
        sleep(Duration::from_secs(2)).await;
        let all = requests.all();
        let is_quiet = std::mem::replace(&mut before, all.len()) == all.len();
        let watches = all.iter().filter(|request| request.verb == "watch");
        if !is_quiet || watches.count() < 2 {
            continue;
        }
        let objects = widgets.list(&ListParams::default()).await?.items;
        let children = deployments.list(&ListParams::default()).await?.items.len();
        let is_done = |widget: &Widget| {
            widget
                .status
                .as_ref()
                .is_some_and(|it| it.observed_generation == widget.metadata.generation)
        };
        if children == objects.len() && objects.iter().all(is_done) {
            return Ok(());
        }
    }
    anyhow::bail!("the operator has not settled in two minutes")
}
