//! What the controllers of workloads report, which do not run in a trial.

use http::Request;
use serde_json::{Value, json};

use super::scene::Scene;

/// Whether the object is of a kind whose controller reports how many pods are ready.
pub(super) fn is_workload(object: &Value) -> bool {
    counts(object).is_some()
}

/// Reports that the pods of a generation are ready. Returns whether the server accepts that.
pub(super) async fn report(scene: &Scene<'_>, workload: &Value, generation: &Value) -> bool {
    let Some(mut status) = counts(workload) else {
        return false;
    };
    status["observedGeneration"] = generation.clone();
    let path = scene.server.path_of(&mut workload.clone()).await;
    let request = Request::patch(format!("{}/status", path.unwrap_or_default()))
        .header("content-type", "application/merge-patch+json")
        .body(json!({ "status": status }).to_string().into_bytes())
        .expect("a path");
    let client = scene.server.own_client();
    client.request::<Value>(request).await.is_ok()
}

/// The status of a workload all of whose pods are ready.
fn counts(workload: &Value) -> Option<Value> {
    let api_version = workload["apiVersion"].as_str()?;
    if api_version != "apps/v1" {
        return None;
    }
    let pods = workload["spec"]["replicas"].as_i64().unwrap_or(1);
    Some(match workload["kind"].as_str()? {
        "Deployment" => json!({
            "replicas": pods, "updatedReplicas": pods, "readyReplicas": pods, "availableReplicas": pods,
            "conditions": [condition("Available", "MinimumReplicasAvailable"), condition("Progressing", "NewReplicaSetAvailable")],
        }),
        "StatefulSet" => json!({
            "replicas": pods, "currentReplicas": pods, "updatedReplicas": pods, "readyReplicas": pods, "availableReplicas": pods,
            "currentRevision": "1", "updateRevision": "1",
        }),
        "DaemonSet" => json!({
            "desiredNumberScheduled": 1, "currentNumberScheduled": 1, "updatedNumberScheduled": 1, "numberMisscheduled": 0,
            "numberReady": 1, "numberAvailable": 1,
        }),
        "ReplicaSet" => json!({
            "replicas": pods, "fullyLabeledReplicas": pods, "readyReplicas": pods, "availableReplicas": pods,
        }),
        _ => return None,
    })
}

fn condition(type_: &str, reason: &str) -> Value {
    const TIME: &str = "2026-01-01T00:00:00Z";
    json!({
        "type": type_, "status": "True", "reason": reason, "message": "", "lastTransitionTime": TIME, "lastUpdateTime": TIME,
    })
}
