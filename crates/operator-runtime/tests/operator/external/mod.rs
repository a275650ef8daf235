//! The style `external`: faults in every call of a provider, drift, imports, retained things, pauses and bad input.

mod identity;
mod life;
mod limits;
mod policy;
mod trial;
mod uncertain;
mod world;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use crate::support::*;
use http::Request as HttpRequest;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, PostParams},
    client::Body,
    core::PartialObjectMeta,
};
use operator_runtime::{
    AroundCalls, Context, ControllerOptions, Controllers, Created, DeletionPolicy, DriftPolicy,
    Error, External, ExternalOptions, Identity, Operator, Result, Settings, State, Status,
};
use operator_testing::{Outcomes, ProviderFaults, Server, Trial, condition};
use serde_json::json;
use tower::{ServiceBuilder, ServiceExt};
use world::*;

fn controllers(world: World, options: ExternalOptions) -> Controllers {
    Controllers::new().add_external(async move |_| Ok(Remote(world, options)), |watches| watches)
}

/// An operator with short intervals.
async fn start(server: &Server, world: &World) -> Running {
    let options = ExternalOptions::default()
        .rate(1000.0, 1000)
        .poll(Duration::from_millis(100))
        .poll_pending(Duration::from_millis(50))
        .timeout(Duration::from_millis(500))
        .grace(Duration::from_millis(300));
    let controllers = controllers(world.clone(), options);
    Running::start(server.client(), Settings::for_tests(), controllers).await
}

/// Waits until the condition `Synced` has this reason, for the current generation.
async fn until_reason(server: &Server, name: &str, reason: &str) -> Widget {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let described = format!("{name} has the reason {reason}");
    server
        .eventually(&described, async || {
            let widget = api.get_opt(name).await.unwrap()?;
            let mut conditions = widget.status.as_ref()?.conditions.iter().flatten();
            let synced = conditions.find(|condition| condition.type_ == "Synced")?;
            let is_current = synced.observed_generation == widget.metadata.generation;
            (synced.reason == reason && is_current).then_some(widget)
        })
        .await
}

async fn annotate(server: &Server, name: &str, annotation: &str, value: Option<&str>) {
    let annotations = json!({ format!("{OPERATOR}/{annotation}"): value });
    let metadata = json!({ "annotations": annotations });
    patch(server, name, json!({ "metadata": metadata })).await;
}

fn annotation<'a>(widget: &'a Widget, name: &str) -> Option<&'a str> {
    let key = format!("{OPERATOR}/{name}");
    widget.annotations().get(&key).map(String::as_str)
}

async fn delete(server: &Server, name: &str) {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    api.delete(name, &DeleteParams::default()).await.unwrap();
    until_deleted(server, name).await;
}

async fn until_deleted(server: &Server, name: &str) {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    server
        .eventually("the object is deleted", async || {
            api.get_opt(name).await.unwrap().is_none().then_some(())
        })
        .await;
}

/// A client whose requests fail if `fails` returns `true` for their body.
fn client_with(server: &Server, fails: impl Fn(&str) -> bool + Clone + Send + 'static) -> Client {
    let pass = server.client();
    let service = ServiceBuilder::new().service_fn(move |request: HttpRequest<Body>| {
        let (pass, fails) = (pass.clone(), fails.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            if fails(&String::from_utf8_lossy(&body)) {
                return Err(kube::Error::Service("closed".into()));
            }
            pass.send(HttpRequest::from_parts(parts, Body::from(body.to_vec())))
                .await
        }
    });
    Client::new(
        service.map_err(tower::BoxError::from),
        server.client().default_namespace(),
    )
}

/// Waits for longer than several polls.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(700)).await;
}
