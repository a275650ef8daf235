//! The style `handlers`: which handlers are called for which cause, in which order, and what survives a restart.

mod background;
mod causes;
mod conflicts;
mod fields;
mod grace;
mod killed;
mod meanwhile;
mod records;
mod retries;
mod watched;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use operator_runtime::{
    Controllers, Error, Result, Settings, Setup,
    handlers::{Call, FieldUpdate, Handlers, Registry, Update},
};
use operator_testing::Server;
use serde_json::{Value, json};

use crate::support::*;

/// What the handlers of a test log, and which of their attempts fail.
#[derive(Default)]
pub struct Journal {
    lines: Mutex<Vec<String>>,
    /// By handler, the outcomes of its next attempts.
    plans: Mutex<BTreeMap<&'static str, Vec<Outcome>>>,
}

#[derive(Clone, Copy)]
pub enum Outcome {
    Permanent,
    Temporary,
    Other,
    Panic,
}

impl Journal {
    pub fn plan(&self, handler: &'static str, outcomes: &[Outcome]) {
        let mut outcomes = outcomes.to_vec();
        outcomes.reverse();
        self.plans.lock().unwrap().insert(handler, outcomes);
    }

    /// Takes the lines.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().unwrap())
    }

    pub fn len(&self) -> usize {
        self.lines.lock().unwrap().len()
    }

    fn call(&self, call: &Call<Widget>, more: &str) -> Result<()> {
        let (cause, handler, attempt) = (call.cause(), call.handler(), call.attempt());
        let name = call.object().name_any();
        let size = call.object().spec.size;
        let line = format!("{name} {cause} {handler}#{attempt} size {size}{more}");
        self.lines.lock().unwrap().push(line);
        let mut plans = self.plans.lock().unwrap();
        let outcome = plans
            .iter_mut()
            .find(|(planned, _)| **planned == handler)
            .and_then(|(_, outcomes)| outcomes.pop());
        drop(plans);
        match outcome {
            None => Ok(()),
            Some(Outcome::Permanent) => Err(Error::permanent(anyhow::anyhow!("wrong"))),
            Some(Outcome::Temporary) => Err(Error::temporary(
                Duration::from_millis(50),
                anyhow::anyhow!("busy"),
            )),
            Some(Outcome::Other) => Err(anyhow::anyhow!("failed").into()),
            Some(Outcome::Panic) => panic!("no luck"),
        }
    }
}

/// Two handlers for each cause, and one of a field.
pub struct All(pub Arc<Journal>);

impl Handlers for All {
    type Resource = Widget;
    const FINALIZER: Option<&'static str> = Some(FINALIZER);

    fn register(&self, on: &mut Registry<Self>) {
        let soon = Duration::from_millis(50);
        on.resume("resume-1", Self::any).backoff(soon);
        on.create("create-1", Self::any).backoff(soon);
        on.resume("resume-2", Self::any).backoff(soon);
        on.create("create-2", Self::any).backoff(soon).attempts(3);
        on.update("update", Self::update).backoff(soon);
        on.field("size", |widget| widget.spec.size, Self::size)
            .backoff(soon);
        on.delete("delete-1", Self::any).backoff(soon);
        on.delete("delete-2", Self::any).backoff(soon);
        on.update("labeled", Self::update).label("app", "web");
    }
}

impl All {
    async fn any(self: Arc<Self>, call: Call<Widget>) -> Result<()> {
        self.0.call(&call, "")
    }

    async fn update(self: Arc<Self>, update: Update<Widget>) -> Result<()> {
        let changes: Vec<&str> = update
            .changes()
            .iter()
            .map(operator_runtime::handlers::Path::as_str)
            .collect();
        let old = update.old().map(|old| old.spec.size);
        self.0
            .call(&update, &format!(" old {old:?} {}", changes.join(" ")))
    }

    async fn size(self: Arc<Self>, field: FieldUpdate<Widget, i32>) -> Result<()> {
        let values = format!(" {:?} -> {}", field.old(), field.new());
        self.0.call(&field, &values)
    }
}

pub async fn start<H: Handlers>(server: &Server, handlers: H) -> Running {
    let setup = async move |_: Setup| Ok(handlers);
    let controllers = Controllers::new().add_handlers(setup, |watches| watches);
    Running::start(server.client(), Settings::for_tests(), controllers).await
}

pub fn widgets(server: &Server) -> Api<Widget> {
    Api::default_namespaced(server.client())
}

pub async fn create_sized(server: &Server, name: &str, size: i32) {
    let widget = Widget::new(name, WidgetSpec { way: None, size });
    let parameters = PostParams::default();
    widgets(server).create(&parameters, &widget).await.unwrap();
}

pub async fn patch(server: &Server, name: &str, patch: Value) {
    let parameters = PatchParams::default();
    let patch = Patch::Merge(patch);
    let api = widgets(server);
    api.patch(name, &parameters, &patch).await.unwrap();
}

/// An annotation of the operator, as JSON.
pub async fn annotation(server: &Server, name: &str, key: &str) -> Option<Value> {
    let widget = widgets(server).get(name).await.unwrap();
    let text = widget.annotations().get(&format!("{OPERATOR}/{key}"))?;
    Some(serde_json::from_str(text).unwrap())
}

/// Waits until the current spec of the object was handled, and nothing is in progress.
pub async fn settled(server: &Server, name: &str) {
    server
        .eventually("it is handled", async || {
            let widget = widgets(server).get(name).await.ok()?;
            let spec = serde_json::to_value(&widget.spec).unwrap();
            let handled = annotation(server, name, "handled").await?;
            let mut handled = handled["essence"]["spec"].clone();
            handled["way"] = spec["way"].clone();
            let is_done = annotation(server, name, "progress").await.is_none();
            (is_done && handled == spec).then_some(())
        })
        .await;
}

/// Waits until the handlers have logged this many lines, and takes them.
pub async fn logged(server: &Server, journal: &Journal, count: usize) -> Vec<String> {
    server
        .eventually("the handlers are called", async || {
            (journal.len() >= count).then_some(())
        })
        .await;
    journal.take()
}
