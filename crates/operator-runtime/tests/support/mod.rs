//! The kinds of the tests, a reconciler that does what its objects ask for, and a running operator.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::StreamExt;
use http_body_util::{BodyExt, StreamBody};
use k8s_openapi::{
    api::{core::v1::ConfigMap, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::{Condition as MetaV1, ManagedFieldsEntry, OwnerReference},
};
use kube::{
    Api, Client, CustomResource, Resource, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams},
    client::Body,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use operator_runtime::{
    Action, Condition, Context, Controllers, Error, Fatal, Operator, Reconciler, Result, Settings,
    Setup, ShutdownHandle,
};
use operator_testing::{Request, Server};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use tower::{ServiceBuilder, ServiceExt};

pub const OPERATOR: &str = "widget-operator";
pub const FINALIZER: &str = "test.example.com/widget-operator";

#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize)]
#[kube(
    group = "test.example.com",
    version = "v1",
    kind = "Widget",
    namespaced
)]
#[kube(status = "WidgetStatus", schema = "disabled")]
pub struct WidgetSpec {
    /// What the reconciler should do with the object, for example `panic`; `ok` if absent.
    #[serde(default)]
    pub way: Option<String>,
    #[serde(default)]
    pub size: i32,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<MetaV1>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handlers: Option<BTreeMap<String, String>>,
}

#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize)]
#[kube(
    group = "test.example.com",
    version = "v1",
    kind = "Fleet",
    schema = "disabled"
)]
pub struct FleetSpec {}

/// What the reconcilers of a test have done.
#[derive(Default)]
pub struct Calls {
    pub reconciled: AtomicUsize,
    pub finished: AtomicUsize,
    pub cleaned: AtomicUsize,
}

impl Calls {
    pub fn reconciled(&self) -> usize {
        self.reconciled.load(Ordering::SeqCst)
    }
    pub fn finished(&self) -> usize {
        self.finished.load(Ordering::SeqCst)
    }
    pub fn cleaned(&self) -> usize {
        self.cleaned.load(Ordering::SeqCst)
    }
}

/// Applies a ConfigMap for each Widget, or fails as its `way` says. It has a finalizer if `CLEANUP`.
pub struct Widgets<const CLEANUP: bool>(pub Arc<Calls>);

impl<const CLEANUP: bool> Reconciler for Widgets<CLEANUP> {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = if CLEANUP { Some(FINALIZER) } else { None };

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context) -> Result<Action> {
        let count = self.0.reconciled.fetch_add(1, Ordering::SeqCst) + 1;
        assert!(
            widget.metadata.deletion_timestamp.is_none(),
            "reconciled while it is being deleted"
        );
        match widget.spec.way.as_deref() {
            Some("panic") => panic!("no luck with {}", widget.name_any()),
            Some("permanent") => return Err(Error::permanent(anyhow::anyhow!("size is odd"))),
            Some("temporary") => {
                return Err(Error::temporary(
                    Duration::from_millis(50),
                    anyhow::anyhow!("busy"),
                ));
            }
            Some("fail") => return Err(anyhow::anyhow!("failed {count} times").into()),
            Some(way @ ("unsteady" | "unsteady for good")) => {
                let mut status = widget.status.clone().unwrap_or_default();
                Condition::new("Ready", false, "Failed", format!("failed {count} times"))
                    .set_in(status.conditions.get_or_insert_default(), None)?;
                cx.update_status(&*widget, &status).await?;
                let error = anyhow::anyhow!("failed {count} times");
                return Err(match way {
                    "unsteady" => error.into(),
                    _ => Error::permanent(error),
                });
            }
            Some("fail slowly") => {
                tokio::time::sleep(Duration::from_millis(300)).await;
                return Err(anyhow::anyhow!("too late").into());
            }
            Some("undeclared") => {
                let pod = k8s_openapi::api::core::v1::Secret {
                    metadata: cx.child_metadata(&*widget, widget.name_any()),
                    ..Default::default()
                };
                cx.apply(&pod).await?;
            }
            Some("slow") => tokio::time::sleep(Duration::from_millis(800)).await,
            Some("hang") => std::future::pending().await,
            _ => {}
        }
        let child = cx.apply(&child(&widget, cx)).await;
        let ready = match &child {
            Ok(_) => Condition::new("Ready", true, "ChildApplied", "the child is there"),
            Err(error) => Condition::new("Ready", false, "ApplyFailed", error.to_string()),
        };
        let generation = widget.metadata.generation;
        let mut status = widget.status.clone().unwrap_or_default();
        status.observed_generation = generation;
        ready.set_in(status.conditions.get_or_insert_default(), generation)?;
        cx.update_status(&*widget, &status).await?;
        child?;
        self.0.finished.fetch_add(1, Ordering::SeqCst);
        Ok(Action::await_change())
    }

    async fn cleanup(&self, widget: Arc<Widget>, _cx: &Context) -> Result<()> {
        if widget.spec.way.as_deref() == Some("stuck") {
            return Err(anyhow::anyhow!("the outside is not reachable").into());
        }
        self.0.cleaned.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

pub fn child(widget: &Widget, cx: &Context) -> ConfigMap {
    ConfigMap {
        metadata: cx.child_metadata(widget, widget.name_any()),
        data: Some([("size".to_owned(), widget.spec.size.to_string())].into()),
        ..ConfigMap::default()
    }
}

pub fn widgets<const CLEANUP: bool>(calls: &Arc<Calls>) -> Controllers {
    let calls = calls.clone();
    let setup = async move |_: Setup| Ok(Widgets::<CLEANUP>(calls));
    Controllers::new().add(setup, operator_runtime::Watches::owns::<ConfigMap>)
}

/// A server that knows the kinds.
pub async fn server() -> Server {
    let server = Server::start().await.unwrap();
    server.install(include_str!("crds.yaml")).await.unwrap();
    server
}

/// An operator in a task of its own. To drop it is a crash.
pub struct Running {
    pub handle: ShutdownHandle,
    pub address: SocketAddr,
    pub task: JoinHandle<anyhow::Result<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Running {
    pub async fn start(client: Client, settings: Settings, controllers: Controllers) -> Self {
        Self::run(Operator::new(OPERATOR, settings, client).register(controllers)).await
    }

    pub async fn run(operator: Operator) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let operator = operator.listener(listener);
        let handle = operator.shutdown_handle();
        Self {
            handle,
            address,
            task: tokio::spawn(operator.run()),
        }
    }

    pub async fn stop(mut self) -> Result<(), Fatal> {
        self.handle.shutdown();
        self.ended().await
    }

    /// Waits until the operator has ended.
    pub async fn ended(&mut self) -> Result<(), Fatal> {
        let ended = (&mut self.task).await.unwrap();
        ended.map_err(|error| error.downcast().unwrap())
    }

    /// The status and the body of a page.
    pub async fn page(&self, path: &str) -> (u16, String) {
        self.ask("GET", path).await
    }

    pub async fn ask(&self, method: &str, path: &str) -> (u16, String) {
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        let address = self.address;
        let answer = tokio::task::spawn_blocking(move || {
            let mut stream = std::net::TcpStream::connect(address)?;
            stream.write_all(request.as_bytes())?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            std::io::Result::Ok(answer)
        });
        let answer = answer.await.unwrap().unwrap();
        let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        (code, body.to_owned())
    }

    /// The value of a metric with its labels, as in a line of the page `/metrics`.
    pub async fn metric(&self, line: &str) -> Option<f64> {
        let (_, page) = self.page("/metrics").await;
        page.lines()
            .find_map(|found| found.strip_prefix(line)?.strip_prefix(' '))
            .map(|value| value.parse().unwrap())
    }
}

pub async fn create(server: &Server, name: &str, way: &str) -> Widget {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let spec = WidgetSpec {
        way: Some(way.into()),
        size: 1,
    };
    api.create(&PostParams::default(), &Widget::new(name, spec))
        .await
        .unwrap()
}

/// Creates an object of another kind with the name `Widget`, and returns the owner reference of its children.
pub async fn create_of_other_kind(server: &Server, name: &str) -> OwnerReference {
    let kind = GroupVersionKind::gvk("other.example.com", "v1", "Widget");
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = Api::default_namespaced_with(server.client(), &resource);
    let object = DynamicObject::new(name, &resource);
    let object = api.create(&PostParams::default(), &object).await.unwrap();
    object.controller_owner_ref(&resource).unwrap()
}

pub async fn patch(server: &Server, name: &str, patch: serde_json::Value) -> Widget {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap()
}

pub async fn set_way(server: &Server, name: &str, way: &str) {
    patch(server, name, json!({ "spec": { "way": way } })).await;
}

/// Waits until the widget is ready in its current generation.
pub async fn ready(server: &Server, name: &str) -> Widget {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    server
        .eventually(&format!("{name} is ready"), async || {
            let widget = api.get_opt(name).await.unwrap()?;
            let condition = widget.status.as_ref()?.conditions.as_ref()?.first()?;
            let current = condition.observed_generation == widget.metadata.generation;
            (condition.status == "True" && current).then_some(widget)
        })
        .await
}

/// Waits for an event on the object, and returns its note.
pub async fn event(server: &Server, name: &str, reason: &str) -> String {
    let api: Api<Event> = Api::all(server.client());
    server
        .eventually(&format!("{name} has an event {reason}"), async || {
            let events = api.list(&ListParams::default()).await.unwrap();
            events.into_iter().find_map(|event| {
                let about = event.regarding.as_ref()?.name.as_deref() == Some(name);
                (about && event.reason.as_deref() == Some(reason))
                    .then(|| event.note.unwrap_or_default())
            })
        })
        .await
}

/// The writes among these requests, except those of events and leases.
pub fn writes(requests: &[Request]) -> Vec<String> {
    requests
        .iter()
        .filter(|request| {
            request.is_write() && !["events", "leases"].contains(&request.resource.as_str())
        })
        .map(|request| {
            format!(
                "{} {}/{}",
                request.verb, request.resource, request.subresource
            )
        })
        .collect()
}

/// Waits until there was no request for a while, except for leases.
pub async fn until_quiet(server: &Server) {
    let count = || {
        let requests = server.requests();
        requests
            .iter()
            .filter(|request| request.resource != "leases")
            .count()
    };
    let (mut seen, mut quiet) = (count(), 0);
    while quiet < 6 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = count();
        quiet = if now == seen { quiet + 1 } else { 0 };
        seen = now;
    }
}

/// Like [`patch`], for an object that does not fit its type before or after the patch.
pub async fn patch_raw(server: &Server, name: &str, patch: serde_json::Value) {
    let resource = ApiResource::erase::<Widget>(&());
    let api: Api<DynamicObject> = Api::default_namespaced_with(server.client(), &resource);
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

/// A gate for the lists and watches of a kind: the operator receives nothing while it is closed.
#[derive(Clone)]
pub struct Gate {
    open: Arc<watch::Sender<bool>>,
    /// The end of the path of the kind's lists.
    path: &'static str,
}

impl Gate {
    pub fn new(path: &'static str, is_open: bool) -> Self {
        let open = Arc::new(watch::channel(is_open).0);
        Self { open, path }
    }

    pub fn set(&self, is_open: bool) {
        self.open.send_replace(is_open);
    }

    /// A client of the server whose lists and watches wait while the gate is closed.
    pub fn client(&self, server: &Server) -> Client {
        let (pass, gate, path) = (server.client(), self.open.clone(), self.path);
        let service = tower::service_fn(move |mut request: http::Request<Body>| {
            let agent = http::HeaderValue::from_static(OPERATOR);
            request.headers_mut().insert("user-agent", agent);
            let (pass, mut gate) = (pass.clone(), gate.subscribe());
            async move {
                if !request.uri().path().ends_with(path) {
                    let answer = pass.send(request).await?;
                    return Ok::<_, kube::Error>(answer.map(BodyExt::boxed_unsync));
                }
                gate.wait_for(|is_open| *is_open).await.unwrap();
                let answer = pass.send(request).await?;
                Ok(answer.map(|body| {
                    let frames = body.into_data_stream().then(move |data| {
                        let mut gate = gate.clone();
                        async move {
                            gate.wait_for(|is_open| *is_open).await.unwrap();
                            data.map(http_body::Frame::data)
                        }
                    });
                    StreamBody::new(frames).boxed_unsync()
                }))
            }
        });
        Client::new(service, server.client().default_namespace())
    }
}

/// A client whose lists and watches of ServiceAccounts fail while the gate is closed.
pub fn gated(server: &Server, is_open: Arc<AtomicBool>) -> Client {
    let pass = server.client();
    let service = ServiceBuilder::new().service_fn(move |request: http::Request<Body>| {
        let (pass, is_open) = (pass.clone(), is_open.clone());
        async move {
            if request.uri().path().ends_with("/serviceaccounts") && !is_open.load(Ordering::SeqCst)
            {
                return Err(kube::Error::Service("closed".into()));
            }
            pass.send(request).await
        }
    });
    Client::new(
        service.map_err(tower::BoxError::from),
        server.client().default_namespace(),
    )
}

/// Each owner of a field of an object: `MANAGER OPERATION SUBRESOURCE: FIELDS`, with the operator's own fields two levels deep.
pub fn owners(object: &impl ResourceExt) -> Vec<String> {
    let describe = |entry: &ManagedFieldsEntry| {
        let text = |it: &Option<String>| it.clone().unwrap_or_default();
        let fields = entry.fields_v1.as_ref().unwrap().0.as_object().unwrap();
        let fields: Vec<_> = fields
            .iter()
            .flat_map(|(outer, inner)| {
                let inner = inner.as_object().unwrap().keys();
                inner
                    .filter(|it| *it != ".")
                    .map(move |it| format!("{}.{}", &outer[2..], &it[2..]))
            })
            .collect();
        let (operation, subresource) = (text(&entry.operation), text(&entry.subresource));
        let manager = text(&entry.manager);
        format!("{manager} {operation} {subresource}: {}", fields.join(" "))
    };
    let mut owners: Vec<_> = object
        .managed_fields()
        .iter()
        .map(describe)
        .filter(|it| it.starts_with(OPERATOR))
        .collect();
    owners.sort();
    owners
}
