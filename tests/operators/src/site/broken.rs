//! Mistakes of operators, each in a function.

use std::{
    collections::{BTreeMap, HashMap},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{Pod, Secret},
    },
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::Timestamp,
};
use kube::{
    Api, Resource, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use operator_runtime::{Action, Changed, Condition, Context, Error, ObjectRef, Result};
use serde_json::json;

use super::steps;
use crate::api::site::v1::Site;

/// The time of a condition is when it was written, and not when it changed.
pub async fn transition_time_now(site: &Site, cx: &Context) -> Result<Action> {
    let done = steps::children(site, cx).await;
    let mut status = steps::status(site, &done)?;
    for condition in status.conditions.iter_mut().flatten() {
        condition.last_transition_time = Time(Timestamp::now());
    }
    cx.update_status(site, &status).await?;
    done?;
    Ok(Action::await_change())
}

/// Only the status remembers that a child with a random name was made, and it may not be written.
pub async fn child_of_unknown_name(site: &Site, cx: &Context) -> Result<Action> {
    if site.status.is_none() {
        let mut child = steps::config_map(site, cx, None);
        child.metadata.name = None;
        child.metadata.generate_name = Some(format!("{}-", site.name_any()));
        let api = steps::config_maps(site, cx);
        api.create(&Default::default(), &child).await?;
    }
    steps::reconcile(site, cx).await
}

/// All sites have one host.
pub async fn forgets_a_field(site: &Site, cx: &Context) -> Result<Action> {
    let mut site = site.clone();
    site.spec.host = "www.example.com".into();
    steps::reconcile(&site, cx).await
}

/// A second cleanup, after the first one's finalizer could not be removed, finds nothing and fails.
pub async fn cleanup_not_twice(site: &Site, cx: &Context) -> Result<()> {
    let api = steps::config_maps(site, cx);
    api.delete(&steps::record_name(site), &Default::default())
        .await?;
    Ok(())
}

/// The Secret comes later.
pub async fn panics_without_secret(site: &Site, cx: &Context) -> Result<Action> {
    let secret = steps::certificate(site, cx).await?;
    let _certificate = secret.unwrap().data.unwrap();
    steps::reconcile(site, cx).await
}

/// Creates, and takes it for done if there is one.
pub async fn never_updates_a_child(site: &Site, cx: &Context) -> Result<Action> {
    let certificate = steps::certificate(site, cx).await?;
    steps::record(site, cx).await?;
    let child = steps::config_map(site, cx, certificate);
    let api = steps::config_maps(site, cx);
    match api.create(&Default::default(), &child).await {
        Err(kube::Error::Api(refused)) if refused.code == 409 => {}
        created => drop(created?),
    }
    let deployment = cx.apply(&steps::deployment(site, cx)).await;
    cx.update_status(site, &steps::status(site, &deployment)?)
        .await?;
    deployment?;
    Ok(Action::await_change())
}

/// Joins what has no order.
pub async fn hash_order(site: &Site, cx: &Context) -> Result<Action> {
    let certificate = steps::certificate(site, cx).await?;
    let settings: HashMap<&str, &str> = HashMap::from([
        ("host", site.spec.host.as_str()),
        ("image", site.spec.image.as_str()),
        ("listen", "8080"),
        ("root", "/srv"),
        ("log", "stdout"),
        ("user", "web"),
    ]);
    let lines: Vec<_> = settings.iter().map(|(k, v)| format!("{k} {v}")).collect();
    let mut child = steps::config_map(site, cx, certificate);
    let data = child.data.get_or_insert_default();
    data.insert("web.conf".into(), lines.join("\n"));
    steps::record(site, cx).await?;
    cx.apply(&child).await?;
    let deployment = cx.apply(&steps::deployment(site, cx)).await;
    cx.update_status(site, &steps::status(site, &deployment)?)
        .await?;
    deployment?;
    Ok(Action::await_change())
}

/// Takes no notice of errors.
pub async fn ready_despite_errors(site: &Site, cx: &Context) -> Result<Action> {
    let _ = steps::children(site, cx).await;
    let ready = Condition::new("Ready", true, "Up", "it runs");
    cx.update_status(site, &steps::conditioned(site, ready)?)
        .await?;
    Ok(Action::await_change())
}

/// Does nothing for a generation that it has seen, whatever became of the children.
pub async fn skips_what_it_observed(site: &Site, cx: &Context) -> Result<Action> {
    let observed = site.status.as_ref().and_then(|it| it.observed_generation);
    if observed == site.metadata.generation {
        return Ok(Action::await_change());
    }
    steps::reconcile(site, cx).await
}

/// Writes the whole object, as it was when it was read, to set an annotation.
pub async fn writes_whole_object(site: &Site, cx: &Context) -> Result<Action> {
    let note = "web.example.com/host";
    if site.annotations().get(note) != Some(&site.spec.host) {
        let mut whole = site.clone();
        whole
            .annotations_mut()
            .insert(note.into(), site.spec.host.clone());
        whole.metadata.resource_version = None;
        whole.metadata.managed_fields = None;
        sites(site, cx)
            .patch(
                &site.name_any(),
                &PatchParams::default(),
                &Patch::Merge(&whole),
            )
            .await?;
    }
    steps::reconcile(site, cx).await
}

/// Looks for the Secret in all namespaces.
pub async fn lists_everywhere(site: &Site, cx: &Context) -> Result<Action> {
    let secrets = Api::<Secret>::all(cx.client());
    secrets.list(&ListParams::default()).await?;
    steps::reconcile(site, cx).await
}

pub async fn always_fails(_site: &Site, _cx: &Context) -> Result<Action> {
    Err(anyhow::anyhow!("the registry of hosts does not answer").into())
}

pub async fn never_lets_go(_site: &Site) -> Result<()> {
    Err(anyhow::anyhow!("the host is still in use").into())
}

/// Counts what it writes.
pub async fn another_value_each_time(site: &Site, cx: &Context) -> Result<Action> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let mut child = steps::config_map(site, cx, steps::certificate(site, cx).await?);
    let data = child.data.get_or_insert_default();
    data.insert("writes".into(), WRITES.fetch_add(1, Relaxed).to_string());
    steps::record(site, cx).await?;
    cx.apply(&child).await?;
    let deployment = cx.apply(&steps::deployment(site, cx)).await;
    cx.update_status(site, &steps::status(site, &deployment)?)
        .await?;
    deployment?;
    Ok(Action::await_change())
}

/// Takes what has the name of its child, whoever made it.
pub async fn adopts_anothers_child(site: &Site, cx: &Context) -> Result<Action> {
    let certificate = steps::certificate(site, cx).await?;
    steps::record(site, cx).await?;
    let child = steps::config_map(site, cx, certificate);
    let api = steps::config_maps(site, cx);
    let name = child.name_any();
    if api.get_opt(&name).await?.is_some() {
        let data = json!({ "data": child.data });
        api.patch(&name, &PatchParams::default(), &Patch::Merge(data))
            .await?;
    } else {
        cx.apply(&child).await?;
    }
    let deployment = cx.apply(&steps::deployment(site, cx)).await;
    cx.update_status(site, &steps::status(site, &deployment)?)
        .await?;
    deployment?;
    Ok(Action::await_change())
}

/// Sets a finalizer of its own and does not look for the deletion.
pub async fn ignores_the_deletion(site: &Site, cx: &Context) -> Result<Action> {
    let hold = "web.example.com/hold".to_owned();
    if !site.finalizers().contains(&hold) {
        let finalizers = [site.finalizers(), &[hold]].concat();
        let version = site.resource_version();
        let patch = json!({ "metadata": { "resourceVersion": version, "finalizers": finalizers } });
        sites(site, cx)
            .patch(
                &site.name_any(),
                &PatchParams::default(),
                &Patch::Merge(&patch),
            )
            .await?;
        return Ok(Action::await_change());
    }
    steps::reconcile(site, cx).await
}

pub fn panics_in_parents(changed: &Changed) -> Vec<ObjectRef<Site>> {
    let labels: BTreeMap<_, _> = changed.metadata.labels.clone().unwrap_or_default();
    let site = labels.get("site").expect("every Secret names its site");
    vec![ObjectRef::new(site)]
}

/// Waits on the thread for an answer that does not come.
pub async fn blocks_its_thread(site: &Site, cx: &Context) -> Result<Action> {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        if site.spec.host.is_empty() {
            return steps::reconcile(site, cx).await;
        }
    }
}

/// After an error of the first child it goes on with the second, and reports that one alone.
pub async fn forgets_a_child_on_error(site: &Site, cx: &Context) -> Result<Action> {
    let certificate = steps::certificate(site, cx).await?;
    steps::record(site, cx).await?;
    let _logged = cx.apply(&steps::config_map(site, cx, certificate)).await;
    let deployment = cx.apply(&steps::deployment(site, cx)).await;
    cx.update_status(site, &steps::status(site, &deployment)?)
        .await?;
    deployment?;
    Ok(Action::await_change())
}

/// A conflict is taken for somebody else's success.
pub async fn swallows_a_conflict(site: &Site, cx: &Context) -> Result<Action> {
    match steps::children(site, cx).await {
        Err(Error::Kube(kube::Error::Api(refused))) if refused.code == 409 => {
            Ok(Action::await_change())
        }
        done => {
            cx.update_status(site, &steps::status(site, &done)?).await?;
            done.map(|_| Action::await_change())
        }
    }
}

/// No backoff.
pub async fn retries_without_delay(site: &Site, cx: &Context) -> Result<Action> {
    let done = steps::reconcile(site, cx).await;
    done.map_err(|error| Error::temporary(Duration::from_millis(1), anyhow::Error::new(error)))
}

pub async fn needs_an_undeclared_right(site: &Site, cx: &Context) -> Result<Action> {
    let pods = Api::<Pod>::namespaced(cx.client(), &site.namespace().unwrap_or_default());
    pods.list(&ListParams::default()).await?;
    steps::reconcile(site, cx).await
}

/// Makes no Deployment, which `owns` lets it make.
pub async fn declares_an_unneeded_right(site: &Site, cx: &Context) -> Result<Action> {
    let certificate = steps::certificate(site, cx).await?;
    steps::record(site, cx).await?;
    cx.apply(&steps::config_map(site, cx, certificate)).await?;
    let ready = Condition::new("Ready", true, "Up", "it needs no pods");
    cx.update_status(site, &steps::conditioned(site, ready)?)
        .await?;
    Ok(Action::await_change())
}

/// Applies its whole status by force, with what others wrote.
pub async fn takes_foreign_status(site: &Site, cx: &Context) -> Result<Action> {
    let done = steps::children(site, cx).await;
    let status = steps::status(site, &done)?;
    if site.status.as_ref() != Some(&status) {
        let body = json!({"apiVersion": Site::api_version(&()), "kind": Site::kind(&()), "status": status});
        let parameters = PatchParams::apply("operators-of-sites").force();
        sites(site, cx)
            .patch_status(&site.name_any(), &parameters, &Patch::Apply(body))
            .await?;
    }
    done?;
    Ok(Action::await_change())
}

/// Removes a field of the status that it does not know.
pub async fn drops_foreign_status(site: &Site, cx: &Context) -> Result<Action> {
    if site.status.as_ref().is_some_and(|it| it.url.is_some()) {
        let patch = Patch::Merge(json!({"status": {"url": null}}));
        sites(site, cx)
            .patch_status(&site.name_any(), &PatchParams::default(), &patch)
            .await?;
    }
    steps::reconcile(site, cx).await
}

/// Counts the change that its own write is.
pub async fn generation_plus_one(site: &Site, cx: &Context) -> Result<Action> {
    let done = steps::children(site, cx).await;
    let mut status = steps::status(site, &done)?;
    status.observed_generation = site.metadata.generation.map(|it| it + 1);
    cx.update_status(site, &status).await?;
    done?;
    Ok(Action::await_change())
}

/// Counts ready pods, of whatever generation.
pub async fn ready_of_a_stale_status(site: &Site, cx: &Context) -> Result<Action> {
    let mut done = steps::children(site, cx).await;
    if let Ok(deployment) = &mut done {
        forget_generation(deployment);
    }
    cx.update_status(site, &steps::status(site, &done)?).await?;
    done?;
    Ok(Action::await_change())
}

/// The same, and does not say of which generation of the site.
pub async fn ready_of_no_generation(site: &Site, cx: &Context) -> Result<Action> {
    let mut done = steps::children(site, cx).await;
    if let Ok(deployment) = &mut done {
        forget_generation(deployment);
    }
    let mut status = steps::status(site, &done)?;
    status.observed_generation = None;
    for condition in status.conditions.iter_mut().flatten() {
        condition.observed_generation = None;
    }
    cx.update_status(site, &status).await?;
    done?;
    Ok(Action::await_change())
}

fn forget_generation(deployment: &mut Deployment) {
    deployment.metadata.generation = None;
}

/// All sites have pods with the same labels.
pub async fn shared_selector(site: &Site, cx: &Context) -> Result<Action> {
    let certificate = steps::certificate(site, cx).await?;
    steps::record(site, cx).await?;
    cx.apply(&steps::config_map(site, cx, certificate)).await?;
    let mut deployment = steps::deployment(site, cx);
    if let Some(spec) = &mut deployment.spec {
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        spec.selector.match_labels = Some(labels.clone());
        spec.template.metadata.get_or_insert_default().labels = Some(labels);
    }
    let deployment = cx.apply(&deployment).await;
    cx.update_status(site, &steps::status(site, &deployment)?)
        .await?;
    deployment?;
    Ok(Action::await_change())
}

/// After an error, the status stays as it is.
pub async fn silent_failure(site: &Site, cx: &Context) -> Result<Action> {
    let deployment = steps::children(site, cx).await?;
    cx.update_status(site, &steps::status(site, &Ok(deployment))?)
        .await?;
    Ok(Action::await_change())
}

/// An error of the first child is retried, but the status depends only on the second one.
pub async fn hides_an_error(site: &Site, cx: &Context) -> Result<Action> {
    let certificate = steps::certificate(site, cx).await?;
    steps::record(site, cx).await?;
    let config_map = cx.apply(&steps::config_map(site, cx, certificate)).await;
    let deployment = cx.apply(&steps::deployment(site, cx)).await;
    cx.update_status(site, &steps::status(site, &deployment)?)
        .await?;
    config_map?;
    deployment?;
    Ok(Action::await_change())
}

/// Its status has the time of the last reconciliation, in whole seconds.
pub async fn present_time(site: &Site, cx: &Context) -> Result<Action> {
    let done = steps::children(site, cx).await;
    let mut status = steps::status(site, &done)?;
    status.url = Some(format!("{:.0}", Timestamp::now()));
    cx.update_status(site, &status).await?;
    done?;
    Ok(Action::await_change())
}

fn sites(site: &Site, cx: &Context) -> Api<Site> {
    Api::namespaced(cx.client(), &site.namespace().unwrap_or_default())
}
