//! A reconciler of any kind that records its calls, and Pods for it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use operator_runtime::{
    Action, Context, ControllerOptions, Controllers, Error, Object, Reconciler, Result, Settings,
    Setup,
};
use operator_testing::Server;
use serde_json::json;

use crate::support::Running;

/// The names of objects, with the number of calls for each.
#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<BTreeMap<String, usize>>>);

impl Calls {
    pub fn add(&self, name: String) {
        let mut calls = self.0.lock().unwrap();
        *calls.entry(name).or_default() += 1;
    }

    pub fn of(&self, name: &str) -> usize {
        self.0
            .lock()
            .unwrap()
            .get(name)
            .copied()
            .unwrap_or_default()
    }

    pub fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().keys().cloned().collect()
    }
}

/// How many objects are handled at the same time.
#[derive(Clone, Default)]
pub struct Load(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    busy: Vec<String>,
    most: usize,
    /// Whether one object was handled twice at the same time.
    doubled: bool,
}

impl Load {
    async fn during(&self, name: &str, time: Duration) {
        {
            let mut state = self.0.lock().unwrap();
            state.doubled |= state.busy.iter().any(|busy| busy == name);
            state.busy.push(name.to_owned());
            state.most = state.most.max(state.busy.len());
        }
        tokio::time::sleep(time).await;
        let mut state = self.0.lock().unwrap();
        let index = state.busy.iter().position(|busy| busy == name);
        state.busy.remove(index.unwrap());
    }

    pub fn is_idle(&self) -> bool {
        self.0.lock().unwrap().busy.is_empty()
    }

    /// The largest number of objects, none of which was handled twice at the same time.
    pub fn most(&self) -> usize {
        let state = self.0.lock().unwrap();
        assert!(!state.doubled, "one object was handled twice");
        state.most
    }
}

/// Calls a function for each object, and records the calls. A function returns an error to fail.
pub struct Each<K> {
    pub reconciled: Calls,
    pub deleted: Calls,
    /// How long each call takes.
    pub takes: Duration,
    pub load: Load,
    pub options: ControllerOptions<K>,
    pub on_reconcile: fn(&K) -> Result<Action>,
    pub on_deleted: fn(&K) -> Result<()>,
}

impl<K> Default for Each<K> {
    fn default() -> Self {
        Self {
            reconciled: Calls::default(),
            deleted: Calls::default(),
            takes: Duration::ZERO,
            load: Load::default(),
            options: ControllerOptions::default(),
            on_reconcile: |_| Ok(Action::await_change()),
            on_deleted: |_| Ok(()),
        }
    }
}

impl<K: Object> Reconciler for Each<K> {
    type Resource = K;

    async fn reconcile(&self, object: Arc<K>, _cx: &Context) -> Result<Action> {
        self.reconciled.add(object.name_any());
        self.load.during(&object.name_any(), self.takes).await;
        (self.on_reconcile)(&object)
    }

    async fn deleted(&self, object: Arc<K>, _cx: &Context) -> Result<()> {
        self.deleted.add(object.name_any());
        self.load.during(&object.name_any(), self.takes).await;
        (self.on_deleted)(&object)
    }

    fn options(&self) -> ControllerOptions<K> {
        self.options.clone()
    }
}

/// Adds a named controller without other kinds.
pub fn add<R: Reconciler>(controllers: Controllers, name: &str, reconciler: R) -> Controllers {
    controllers.add_named(
        name,
        async move |_: Setup| Ok(reconciler),
        |watches| watches,
    )
}

pub fn failure() -> Error {
    anyhow::anyhow!("no luck").into()
}

pub fn pods(server: &Server) -> Api<Pod> {
    Api::default_namespaced(server.client())
}

/// A Pod with a label `app`.
pub fn pod(name: &str, app: &str) -> Pod {
    Pod {
        metadata: ObjectMeta {
            name: Some(name.into()),
            labels: Some([("app".to_owned(), app.to_owned())].into()),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            containers: vec![Container {
                name: "main".into(),
                image: Some("example.com/main".into()),
                ..Container::default()
            }],
            ..PodSpec::default()
        }),
        ..Pod::default()
    }
}

pub async fn create(server: &Server, name: &str, app: &str) {
    let created = pods(server)
        .create(&PostParams::default(), &pod(name, app))
        .await;
    created.unwrap();
}

pub async fn label(server: &Server, name: &str, app: &str) {
    let label = json!({ "metadata": { "labels": { "app": app } } });
    let (api, parameters) = (pods(server), PatchParams::default());
    let patched = api.patch(name, &parameters, &Patch::Merge(label)).await;
    patched.unwrap();
}

/// Runs one controller of Pods.
pub async fn run(server: &Server, each: Each<Pod>) -> Running {
    let controllers = add(Controllers::new(), "pods", each);
    Running::start(server.client(), Settings::for_tests(), controllers).await
}

pub async fn delete(server: &Server, name: &str) {
    let now = DeleteParams::default().grace_period(0);
    pods(server).delete(name, &now).await.unwrap();
}

/// Waits until a condition holds.
pub async fn until(server: &Server, what: &str, holds: impl Fn() -> bool) {
    server
        .eventually(what, async || holds().then_some(()))
        .await;
}

/// The resources of the watches that were opened, in order.
pub fn watches(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let watches = requests.iter().filter(|request| request.verb == "watch");
    let mut watches: Vec<_> = watches.map(|request| request.resource.clone()).collect();
    watches.sort();
    watches
}
