//! [Eviction] of a pod: deletes the pod, if the PodDisruptionBudget that selects it allows one more disruption.
//!
//! [Eviction]: https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/

use http::Method;
use serde_json::{Value, json};

use super::body::{body_kind, subresource_body};
use super::route::serve_own;
use crate::kinds::resource::DISRUPTION_BUDGETS;
use crate::model::condition::{condition, is_true, set_condition};
use crate::model::json::number;
use crate::model::label::selects;
use crate::model::metadata::{self, is_deleting, name};
use crate::model::{Cause, Failure, Kind, Result};
use crate::read::Reply;
use crate::request::{Call, Request, Target};
use crate::store::{State, Store, stored};
use crate::write::delete::{Options, delete_one};

/// The maximum number of pods in `disruptedPods` of a budget.
const MOST_DISRUPTED: usize = 2000;

const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

/// Serves an eviction: uses the budget of the pod, if it has one, and deletes the pod.
pub(crate) fn evict(state: &mut State, request: &Request<'_>) -> Result<Reply> {
    let body = Request {
        kind: &body_kind("policy", "Eviction"),
        ..*request
    };
    let eviction = subresource_body(&body)?;
    let pod_name = &request.path.name;
    if name(&eviction) != *pod_name {
        let text = "name in URL does not match name in Eviction object";
        return Err(Failure::bad_request(text));
    }
    let mut options = Options::of(request, &eviction["deleteOptions"])?;
    options.dry_run |= request.call.is_dry_run();
    let Some(pod) = stored::live(state, request)? else {
        return Err(Failure::not_found(request.kind, pod_name));
    };
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    // the eviction of a pod that is finished, pending or being deleted disrupts nothing
    let is_free = matches!(phase, "Succeeded" | "Failed" | "Pending") || is_deleting(&pod);
    if !is_free {
        let budgets = budgets(&state.store, &pod);
        if budgets.len() > 1 {
            let text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Ok(Reply::Object {
                code: 500,
                object: json!({
                    "kind": "Status",
                    "apiVersion": "v1",
                    "metadata": {},
                    "status": "Failure",
                    "message": text,
                    "code": 500,
                }),
            });
        }
        if let Some(budget) = budgets
            .first()
            .filter(|budget| !permits_unready(budget, &pod))
        {
            use_budget(state, budget, pod_name, options.dry_run)?;
        }
    }
    delete_evicted(state, request, pod, &mut options)?;
    Ok(Reply::created(json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    })))
}

/// The budgets that select a pod.
fn budgets(store: &Store, pod: &Value) -> Vec<Value> {
    let labels = &pod["metadata"]["labels"];
    let namespace = metadata::text(pod, "namespace");
    let budgets = store.of_kind(DISRUPTION_BUDGETS, namespace);
    let is_meant = |budget: &Value| {
        let selector = &budget["spec"]["selector"];
        !selector.is_null() && selects(selector, labels)
    };
    budgets
        .filter(|(_, budget)| is_meant(budget))
        .map(|(_, budget)| Value::clone(budget))
        .collect()
}

/// Uses one disruption of a budget, or rejects the eviction.
fn use_budget(state: &mut State, budget: &Value, pod: &str, is_dry_run: bool) -> Result<()> {
    check_budget(budget)?;
    if is_dry_run {
        return Ok(());
    }
    let mut budget = budget.clone();
    let left = number(&budget["status"]["disruptionsAllowed"]) - 1;
    budget["status"]["disruptionsAllowed"] = left.into();
    if left == 0 {
        close(&mut budget);
    }
    budget["status"]["disruptedPods"][pod] = metadata::now().into();
    let namespace = metadata::text(&budget, "namespace");
    let path = format!(
        "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{}/status",
        name(&budget)
    );
    let call = Call::own("kube-apiserver", Method::PUT, path, &budget);
    if let Target::Resource(path) = Target::read(&call.path) {
        serve_own(state, &call, &path)?;
    }
    Ok(())
}

/// Sets the condition `DisruptionTarget` of an evicted pod, and deletes the pod.
fn delete_evicted(
    state: &mut State,
    request: &Request<'_>,
    mut pod: Value,
    options: &mut Options,
) -> Result<()> {
    let (kind, key) = (request.kind, request.key(&request.path.name));
    if !options.dry_run {
        let uid = metadata::text(&pod, "uid");
        let version = metadata::text(&pod, "resourceVersion");
        let named = Kind::named(("", "Pod"));
        for (wanted, found, field) in [
            (&options.uid, uid, "UID"),
            (&options.resource_version, version, "ResourceVersion"),
        ] {
            if let Some(wanted) = wanted.as_ref().filter(|it| !it.is_empty() && *it != found) {
                let what = match field {
                    "UID" => "deleted and then recreated",
                    _ => "modified",
                };
                let why = format!(
                    "the {field} in the precondition ({wanted}) does not match the {field} in record ({found}). The object might have been {what}"
                );
                return Err(Failure::conflict(&named, &request.path.name, &why));
            }
        }
        let before = pod.clone();
        mark(&mut pod);
        if pod != before {
            let stored = state.put(key.clone(), pod);
            if options.resource_version.is_some() {
                let version = metadata::text(&stored, "resourceVersion");
                options.resource_version = Some(version.to_owned());
            }
        }
    }
    delete_one(state, kind, &key, options)?;
    Ok(())
}

/// Whether a budget permits the eviction of a pod that is not ready without using a disruption.
fn permits_unready(budget: &Value, pod: &Value) -> bool {
    let status = &budget["status"];
    let (has, needs) = (
        number(&status["currentHealthy"]),
        number(&status["desiredHealthy"]),
    );
    let always = budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow";
    !is_true(pod, "Ready") && (always || needs > 0 && has >= needs)
}

/// Checks that a budget permits one more disruption.
fn check_budget(budget: &Value) -> Result<()> {
    let (status, name) = (&budget["status"], name(budget));
    let cause = |message: String| Cause {
        reason: "DisruptionBudget",
        message,
        field: String::new(),
    };
    if number(&status["observedGeneration"]) < number(&budget["metadata"]["generation"]) {
        let text = format!("The disruption budget {name} is still being processed by the server.");
        return Err(Failure::too_many_requests(REFUSED, 10).with_causes(vec![cause(text)]));
    }
    let forbidden = |why: &str| {
        let kind = Kind::named(("policy", "poddisruptionbudget"));
        let text = format!("{} {name:?} is forbidden: {why}", kind.qualified());
        Err(Failure::forbidden(&kind, name, text))
    };
    let allowed = number(&status["disruptionsAllowed"]);
    if allowed < 0 {
        return forbidden("pdb disruptions allowed is negative");
    }
    let disrupted = status["disruptedPods"].as_object();
    if disrupted.is_some_and(|pods| pods.len() > MOST_DISRUPTED) {
        return forbidden(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        );
    }
    if allowed > 0 {
        return Ok(());
    }
    let closed = condition(budget, "DisruptionAllowed")
        .filter(|it| it["status"] == "False" && it["message"] != "");
    let part = |field: &str| closed.map_or("", |it| it[field].as_str().unwrap_or_default());
    let (has, needs) = (
        number(&status["currentHealthy"]),
        number(&status["desiredHealthy"]),
    );
    let start = format!("The disruption budget {name}");
    let (reason, message) = (part("reason"), part("message"));
    let text = if reason == "SyncFailed" && !message.is_empty() {
        format!("{start} does not allow evicting pods currently because it failed sync: {message}")
    } else if has <= needs {
        format!("{start} needs {needs} healthy pods and has {has} currently")
    } else if !message.is_empty() {
        format!("{start} does not allow evicting pods currently ({reason}): {message}")
    } else {
        format!("{start} does not allow evicting pods currently")
    };
    Err(Failure::too_many_requests(REFUSED, 0).with_causes(vec![cause(text)]))
}

/// Sets the condition that a budget permits no more disruptions.
fn close(budget: &mut Value) {
    let condition = json!({
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": budget["status"]["observedGeneration"],
        "reason": "InsufficientPods",
        "message": "",
    });
    set_condition(budget, condition);
}

/// Sets the condition with the reason of the eviction.
fn mark(pod: &mut Value) {
    let condition = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": null,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    });
    set_condition(pod, condition);
}
