//! Correct, by other means than most.

use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::ConfigMap},
    jiff::Timestamp,
};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use operator_runtime::{Action, Condition, Context, Result};

use super::steps;
use crate::api::site::v1::{Site, SiteStatus};

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
    let done = match api
        .patch(&child.name_any(), &parameters, &Patch::Apply(&child))
        .await
    {
        Ok(_) => cx.apply(&steps::deployment(site, cx)).await,
        Err(error) => Err(error.into()),
    };
    cx.update_status(site, &steps::status(site, &done)?).await?;
    done?;
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

/// Each condition has a generation, and the status has none.
pub async fn generation_of_conditions(site: &Site, cx: &Context) -> Result<Action> {
    let done = steps::children(site, cx).await;
    let mut status = steps::status(site, &done)?;
    status.observed_generation = None;
    cx.update_status(site, &status).await?;
    done?;
    Ok(Action::await_change())
}

/// Ready does not depend on pods.
pub async fn ready_when_applied(site: &Site, cx: &Context) -> Result<Action> {
    let done = steps::children(site, cx).await;
    let condition = match &done {
        Ok(_) => Condition::new("Ready", true, "Applied", "its children are up to date"),
        Err(error) => Condition::new("Ready", false, "Failed", error.to_string()),
    };
    cx.update_status(site, &steps::conditioned(site, condition)?)
        .await?;
    done?;
    Ok(Action::await_change())
}

/// While a new spec rolls out, it is ready in the old generation.
pub async fn ready_of_the_old(site: &Site, cx: &Context) -> Result<Action> {
    let done = steps::children(site, cx).await;
    let status = steps::status(site, &done)?;
    let is_ready = |status: &SiteStatus| {
        let mut conditions = status.conditions.iter().flatten();
        conditions.any(|it| it.type_ == "Ready" && it.status == "True")
    };
    let was_ready = site.status.as_ref().is_some_and(is_ready);
    let is_rolling = done.is_ok() && was_ready && !is_ready(&status);
    if !is_rolling || site.metadata.generation == steps::observed(site) {
        cx.update_status(site, &status).await?;
    }
    done?;
    Ok(Action::await_change())
}

/// Its status has the time at which it saw the spec.
pub async fn time_of_a_change(site: &Site, cx: &Context) -> Result<Action> {
    let done = steps::children(site, cx).await;
    let mut status = steps::status(site, &done)?;
    if steps::observed(site) != site.metadata.generation {
        status.url = Some(format!("{:.0}", Timestamp::now()));
    }
    cx.update_status(site, &status).await?;
    done?;
    Ok(Action::await_change())
}

/// Its ConfigMap is not needed, and has a condition of its own.
pub async fn best_effort_child(site: &Site, cx: &Context) -> Result<Action> {
    let certificate = steps::certificate(site, cx).await?;
    steps::record(site, cx).await?;
    let config_map = cx.apply(&steps::config_map(site, cx, certificate)).await;
    let deployment = cx.apply(&steps::deployment(site, cx)).await;
    let mut status = steps::status(site, &deployment)?;
    let configured = match &config_map {
        Ok(_) => Condition::new("Configured", true, "Applied", "the ConfigMap is up to date"),
        Err(error) => Condition::new("Configured", false, "Failed", error.to_string()),
    };
    let conditions = status.conditions.get_or_insert_default();
    configured.set_in(conditions, site.metadata.generation)?;
    cx.update_status(site, &status).await?;
    config_map?;
    deployment?;
    Ok(Action::await_change())
}
