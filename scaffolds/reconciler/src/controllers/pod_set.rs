//! Keeps a number of pods, as a ReplicaSet does: it creates what is missing, and of too many it deletes those that a strategy chooses. It shows
//! children whose number changes.

use std::{cmp::Reverse, sync::Arc};

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use kube::{Api, ResourceExt, api::ListParams};
use operator_runtime::{Action, Context, Error, Reconciler, Result, Setup};

use crate::api::pod_set::v1::{PodSet, PodSetSpecVictim};

pub async fn setup(_setup: Setup) -> Result<PodSetReconciler> {
    Ok(PodSetReconciler)
}

pub struct PodSetReconciler;

impl Reconciler for PodSetReconciler {
    type Resource = PodSet;

    async fn reconcile(&self, set: Arc<PodSet>, cx: &Context) -> Result<Action> {
        let count = usize::try_from(set.spec.replicas()).unwrap_or(0);
        let mut pods = pods(&set, cx).await?;
        let used: Vec<String> = pods.iter().map(ResourceExt::name_any).collect();
        pods.retain(is_active);

        rank(&mut pods, set.spec.victim());
        for victim in pods.drain(..pods.len().saturating_sub(count)) {
            cx.delete(&victim).await?;
        }
        for kept in &pods {
            cx.apply(&pod(&set, kept.name_any(), cx)).await?;
        }
        let names = (0..).map(|index| format!("{}-{index}", set.name_any()));
        let mut missing = count - pods.len();
        for name in names.filter(|name| !used.contains(name)) {
            if missing == 0 {
                break;
            }
            match cx.apply(&pod(&set, name, cx)).await {
                // a pod of somebody else has this name
                Err(Error::Taken { .. }) => {}
                created => missing -= created.map(|_| 1)?,
            }
        }

        let mut status = set.status.clone().unwrap_or_default();
        status.observed_generation = set.metadata.generation;
        status.replicas = i32::try_from(count).ok();
        status.ready_replicas = i32::try_from(pods.iter().filter(|pod| is_ready(pod)).count()).ok();
        cx.update_status(&*set, &status).await?;
        Ok(Action::await_change())
    }
}

/// The pods of the set. They are listed by a request: a cache may lack the latest changes, and the wrong pods would be deleted.
async fn pods(set: &PodSet, cx: &Context) -> Result<Vec<Pod>> {
    let labels = cx.child_metadata(set, "").labels.unwrap_or_default();
    let labels: Vec<_> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let labels = ListParams::default().labels(&labels.join(","));
    let pods: Api<Pod> = Api::namespaced(cx.client(), &set.namespace().unwrap_or_default());
    let mut pods = pods.list(&labels).await?.items;
    // a set of another kind or an earlier one of this name may have pods with these labels
    pods.retain(|pod| {
        pod.owner_references()
            .iter()
            .any(|owner| Some(&owner.uid) == set.uid().as_ref())
    });
    Ok(pods)
}

/// Pods that are being deleted, or have ended, for example because they were evicted, do not count. As those of a ReplicaSet, they are replaced.
fn is_active(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|it| it.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Failed" | "Succeeded"))
}

/// Sorts the pods by who is deleted first: those that are not ready, and then as the strategy says. Of pods that were created in the same second,
/// the last name is the newest.
fn rank(pods: &mut [Pod], victim: &PodSetSpecVictim) {
    let age = |pod: &Pod| {
        (
            pod.creation_timestamp(),
            pod.name_any().len(),
            pod.name_any(),
        )
    };
    match victim {
        PodSetSpecVictim::Oldest => pods.sort_by_cached_key(|pod| (is_ready(pod), age(pod))),
        _ => pods.sort_by_cached_key(|pod| (is_ready(pod), Reverse(age(pod)))),
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
    ready.any(|condition| condition.status == "True")
}

fn pod(set: &PodSet, name: String, cx: &Context) -> Pod {
    Pod {
        metadata: cx.child_metadata(set, name),
        spec: Some(PodSpec {
            containers: vec![Container {
                name: "main".into(),
                image: Some(set.spec.image.clone()),
                ..Default::default()
            }],
            ..Default::default()
        }),
        ..Default::default()
    }
}
