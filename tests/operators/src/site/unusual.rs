//! Correct, by other means than most.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use operator_runtime::{Action, Condition, Context, Result};

use super::steps;
use crate::api::site::v1::Site;

/// Its Deployment waits for a node that nobody has.
pub async fn never_ready(site: &Site, cx: &Context) -> Result<Action> {
    let certificate = steps::certificate(site, cx).await?;
    steps::record(site, cx).await?;
    cx.apply(&steps::config_map(site, cx, certificate)).await?;
    let mut deployment = steps::deployment(site, cx);
    let pod = deployment
        .spec
        .as_mut()
        .and_then(|spec| spec.template.spec.as_mut());
    if let Some(pod) = pod {
        pod.node_selector = Some([("web.example.com/none".into(), "none".into())].into());
    }
    cx.apply(&deployment).await?;
    let waiting = Condition::new("Ready", false, "Unschedulable", "no node will have it");
    cx.update_status(site, &steps::conditioned(site, waiting)?)
        .await?;
    Ok(Action::await_change())
}

/// Says that it works on a generation before it does.
pub async fn two_status_writes(site: &Site, cx: &Context) -> Result<Action> {
    let status = site.status.clone().unwrap_or_default();
    if status.observed_generation != site.metadata.generation {
        let working = Condition::new("Ready", false, "Working", "the children are being applied");
        cx.update_status(site, &steps::conditioned(site, working)?)
            .await?;
    }
    steps::reconcile(site, cx).await
}

/// Applies a child itself, each time.
pub async fn child_by_client(site: &Site, cx: &Context) -> Result<Action> {
    let certificate = steps::certificate(site, cx).await?;
    steps::record(site, cx).await?;
    let mut child = steps::config_map(site, cx, certificate);
    let api: Api<ConfigMap> = steps::config_maps(site, cx);
    let found = api.get_opt(&child.name_any()).await?;
    let is_others = |found: &ConfigMap| {
        let owners = found.owner_references();
        !owners
            .iter()
            .any(|owner| Some(&owner.uid) == site.metadata.uid.as_ref())
    };
    if found.as_ref().is_some_and(is_others) {
        return Err(anyhow::anyhow!("ConfigMap {} is another's", child.name_any()).into());
    }
    child.metadata.managed_fields = None;
    let parameters = PatchParams::apply(cx.operator()).force();
    api.patch(&child.name_any(), &parameters, &Patch::Apply(&child))
        .await?;
    let deployment = cx.apply(&steps::deployment(site, cx)).await;
    cx.update_status(site, &steps::status(site, &deployment)?)
        .await?;
    deployment?;
    Ok(Action::await_change())
}

/// Applies both children at the same time.
pub async fn children_at_once(site: &Site, cx: &Context) -> Result<Action> {
    let certificate = steps::certificate(site, cx).await?;
    steps::record(site, cx).await?;
    let config_map = steps::config_map(site, cx, certificate);
    let deployment = steps::deployment(site, cx);
    let (config_map, deployment): (Result<ConfigMap>, Result<Deployment>) =
        tokio::join!(cx.apply(&config_map), cx.apply(&deployment));
    let done = config_map.and(deployment);
    cx.update_status(site, &steps::status(site, &done)?).await?;
    done?;
    Ok(Action::await_change())
}
