//! Prints each pod. It shows the least that a controller of an existing kind needs: no CRD, and only the permission to watch pods.

use std::{io::Write, sync::Arc};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use operator_runtime::{Action, Context, EventType, Reconciler, Result, Setup};

pub async fn setup(_setup: Setup) -> Result<PodPrinter> {
    Ok(PodPrinter)
}

pub struct PodPrinter;

impl Reconciler for PodPrinter {
    type Resource = Pod;

    async fn reconcile(&self, pod: Arc<Pod>, cx: &Context) -> Result<Action> {
        let line = line(&pod);
        writeln!(std::io::stdout(), "{line}").map_err(anyhow::Error::from)?;
        cx.event(&*pod, EventType::Normal, "Printed", line).await;
        Ok(Action::await_change())
    }
}

/// For example `default/web-0 runs pause:3.10`.
fn line(pod: &Pod) -> String {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let images = containers.filter_map(|container| container.image.as_deref());
    let images: Vec<&str> = images.collect();
    let namespace = pod.namespace().unwrap_or_default();
    format!("{namespace}/{} runs {}", pod.name_any(), images.join(", "))
}
