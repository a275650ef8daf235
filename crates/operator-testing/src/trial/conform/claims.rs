//! What the status of an object claims: a generation that exists, and `Ready` only for what the children report or what could be written.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::super::undesired::named;
use super::rollout::{is_workload, report};
use super::scene::Scene;
use crate::fault::Fault;

/// How often the children may become ready one after the other, as when a second workload is created only when the first one is ready.
const STEPS: usize = 4;

/// For how long the writes of a child fail, unless the object reports that before.
const OUTAGE: Duration = Duration::from_secs(120);

/// How many writes of a child are conflicts: more than the runtime repeats by itself.
const CONFLICTS: usize = 6;

/// How often the object may report it.
const ROUNDS: u32 = 6;

/// How many children are tested with failing writes.
const CHILDREN: usize = 3;

const SINCE: &str = "the sample was created, and its workloads reported that their pods are ready";

/// Fails if the status has the number of a generation that the object does not have yet.
pub(super) fn check_generation(object: &Value) -> Result<(), String> {
    let generation = object["metadata"]["generation"].as_i64();
    let conditions = object["status"]["conditions"].as_array();
    let conditions = conditions.into_iter().flatten().map(|condition| {
        let type_ = condition["type"].as_str().unwrap_or_default();
        (format!("the condition {type_}"), condition)
    });
    let mut places = conditions.chain([("its status".to_owned(), &object["status"])]);
    let ahead = places.find(|(_, place)| place["observedGeneration"].as_i64() > generation);
    match ahead {
        Some((place, found)) if generation.is_some() => Err(format!(
            "{place} has observedGeneration {}, but the object has generation {}\nhelp: copy `metadata.generation` of the object that was reconciled",
            found["observedGeneration"], object["metadata"]["generation"]
        )),
        _ => Ok(()),
    }
}

/// Whether the condition `Ready` is `True`.
pub(super) fn is_ready(object: &Value) -> bool {
    ready(object).is_some()
}

fn ready(object: &Value) -> Option<&Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions
        .iter()
        .find(|it| it["type"] == "Ready" && it["status"] == "True")
}

/// Whether the object is `Ready` in its current generation, or `Ready` without a word about a generation.
fn claims_ready(object: &Value) -> bool {
    let observed = ready(object).map(|ready| match &ready["observedGeneration"] {
        Value::Null => &object["status"]["observedGeneration"],
        observed => observed,
    });
    observed.is_some_and(|it| it.is_null() || *it == object["metadata"]["generation"])
}

/// Checks that after a change of the spec, the object is not `Ready` because of what its workloads reported before that.
pub(super) async fn check_stale_status(scene: &Scene<'_>, edited: &str) -> Result<(), String> {
    scene.install(scene.sample_text()).await;
    scene.rest("the sample was created").await?;
    // then it does not depend on what the workloads report
    if scene.object().await.is_some_and(|it| is_ready(&it)) || !roll_out(scene).await? {
        return Ok(());
    }
    let old = generations(&workloads(scene).await);
    scene.install(edited).await;
    scene.rest("its spec was changed").await?;
    let mut stale = None;
    for workload in workloads(scene).await {
        let (uid, generation) = identity(&workload);
        if let Some(old) = old.get(&uid).filter(|old| **old != generation) {
            // with the new counts, so that only the generation shows that the report is old
            report(scene, &workload, old).await;
            stale.get_or_insert((workload, old.clone()));
        }
    }
    scene.rest("its spec was changed").await?;
    let (Some((workload, old)), Some(object)) = (stale, scene.object().await) else {
        return Ok(());
    };
    if !claims_ready(&object) {
        return Ok(());
    }
    let name = named(&workload);
    Err(format!(
        "after its spec was changed, Ready is True for generation {}, but {name} has generation {}, and its status is still that of generation {old}\nhelp: compare `status.observedGeneration` of {name} with its `metadata.generation`, before you read its other fields",
        object["metadata"]["generation"], workload["metadata"]["generation"],
    ))
}

/// Checks that the object is not `Ready` while a child cannot be written, after a change of the spec and after the child was deleted.
pub(super) async fn check_silent_failure(scene: &Scene<'_>, edited: &str) -> Result<(), String> {
    scene.install(scene.sample_text()).await;
    scene.rest("the sample was created").await?;
    let children = scene.own_children().await;
    let mut specs = [edited, scene.sample_text()].into_iter().cycle();
    for child in children.iter().take(CHILDREN) {
        for cause in [Cause::Change, Cause::Deletion] {
            if !roll_out(scene).await? {
                return Ok(());
            }
            let before = other_conditions(scene).await;
            let fault = Fault::ServerError;
            scene.refuse_writes(child, fault, usize::MAX).await;
            match cause {
                // a rule of the kind may refuse the way back
                Cause::Change => {
                    let next = specs.next().unwrap_or_default();
                    let _refused = scene.server.install_patiently(next).await;
                }
                Cause::Deletion => scene.uninstall(&child.to_string()).await,
            }
            let mut is_silent = true;
            for _ in 0..ROUNDS {
                if !is_silent {
                    break;
                }
                // all that does not depend on this child becomes ready meanwhile
                let since = "a child could not be written";
                scene.pass(OUTAGE / (2 * ROUNDS), since).await?;
                report_all(scene).await;
                scene.pass(OUTAGE / (2 * ROUNDS), since).await?;
                let claims = scene.object().await.is_some_and(|it| claims_ready(&it));
                is_silent = claims && other_conditions(scene).await == before;
            }
            let failed = scene.faults.accept_writes();
            if failed > 0 && is_silent {
                let what = match cause {
                    Cause::Change => "its spec was changed",
                    Cause::Deletion => "it was deleted",
                };
                let name = named(child);
                return Err(format!(
                    "{failed} writes of {name} failed in {} s after {what}, and Ready is still True for the current generation\nhelp: write the status after an error too, with Ready=False or another condition that reports it; `Condition::new(\"Ready\", false, ..)`",
                    OUTAGE.as_secs()
                ));
            }
            scene.rest("a child could be written again").await?;
        }
        check_conflict(scene, child).await?;
    }
    Ok(())
}

/// Checks that a child that was deleted is created again also if the first attempts are conflicts.
async fn check_conflict(scene: &Scene<'_>, child: &Value) -> Result<(), String> {
    let exists = async || {
        let children = scene.own_children().await;
        children.iter().any(|it| named(it) == named(child))
    };
    if !exists().await {
        return Ok(());
    }
    scene.refuse_writes(child, Fault::Conflict, CONFLICTS).await;
    scene.uninstall(&child.to_string()).await;
    scene.rest("a child was deleted").await?;
    if scene.faults.accept_writes() == 0 || exists().await {
        return Ok(());
    }
    Err(format!(
        "{} was deleted, and it is not created again after {CONFLICTS} conflicts\nhelp: return the error, so that the object is reconciled again; after a conflict, nothing was written",
        named(child)
    ))
}

/// Why a child has to be written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Change,
    Deletion,
}

/// Lets the workloads report that their pods are ready, and returns whether the object is `Ready` after that.
async fn roll_out(scene: &Scene<'_>) -> Result<bool, String> {
    for _ in 0..STEPS {
        if !report_all(scene).await {
            break;
        }
        scene.rest(SINCE).await?;
    }
    Ok(scene.object().await.is_some_and(|it| is_ready(&it)))
}

/// Returns whether a workload had something new to report.
async fn report_all(scene: &Scene<'_>) -> bool {
    let mut is_new = false;
    for workload in workloads(scene).await {
        let (_, generation) = identity(&workload);
        if workload["status"]["observedGeneration"] != generation {
            is_new |= report(scene, &workload, &generation).await;
        }
    }
    is_new
}

async fn workloads(scene: &Scene<'_>) -> Vec<Arc<Value>> {
    let mut children = scene.own_children().await;
    children.retain(|child| is_workload(child));
    children
}

fn generations(workloads: &[Arc<Value>]) -> BTreeMap<String, Value> {
    workloads.iter().map(|it| identity(it)).collect()
}

/// The uid and the generation.
fn identity(object: &Value) -> (String, Value) {
    let metadata = &object["metadata"];
    let uid = metadata["uid"].as_str().unwrap_or_default();
    (uid.to_owned(), metadata["generation"].clone())
}

/// Type and status of the conditions besides `Ready`.
async fn other_conditions(scene: &Scene<'_>) -> Vec<(Value, Value)> {
    let object = scene.object().await;
    let conditions = object.map(|object| object["status"]["conditions"].clone());
    let conditions = conditions.as_ref().and_then(Value::as_array).cloned();
    let conditions = conditions.into_iter().flatten();
    let others = conditions.filter(|it| it["type"] != "Ready");
    others
        .map(|it| (it["type"].clone(), it["status"].clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(generation: i64, status: Value) -> Value {
        json!({"metadata": {"generation": generation}, "status": status})
    }

    #[test]
    fn no_status_is_ahead_of_its_object() {
        let ready = |observed: i64| json!({"conditions": [{"type": "Ready", "observedGeneration": observed}]});
        for (generation, status, place) in [
            (1, json!({"observedGeneration": 2}), Some("its status")),
            (1, ready(2), Some("the condition Ready")),
            (2, json!({"observedGeneration": 2}), None),
            (2, ready(1), None),
            (1, json!({}), None),
            (1, Value::Null, None),
        ] {
            let checked = check_generation(&object(generation, status.clone())).err();
            let found = checked.as_ref().and_then(|why| why.split(" has").next());
            assert_eq!(found, place, "{status}");
        }
        // a kind without generations
        assert_eq!(
            check_generation(&json!({"status": {"observedGeneration": 1}})),
            Ok(())
        );
    }

    #[test]
    fn ready_is_claimed_for_a_generation() {
        let with = |status: &str, of_condition: Value, of_status: Value| {
            let ready =
                json!({"type": "Ready", "status": status, "observedGeneration": of_condition});
            object(
                2,
                json!({"conditions": [ready], "observedGeneration": of_status}),
            )
        };
        for (status, of_condition, of_status, is_claimed) in [
            ("True", json!(2), json!(1), true),
            ("True", Value::Null, json!(2), true),
            ("True", Value::Null, Value::Null, true),
            ("True", json!(1), json!(2), false),
            ("True", Value::Null, json!(1), false),
            ("False", json!(2), json!(2), false),
        ] {
            let object = with(status, of_condition, of_status);
            assert_eq!(claims_ready(&object), is_claimed, "{object}");
        }
    }
}
