//! Changes of the spec: the result must not depend on the previous spec, nor on the time of the change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use operator_schema::pointer;
use serde_json::{Value, json};

use super::super::stage::Stage;
use super::super::success::Phase;
use super::super::{Operator, Sample, Trial};
use super::claims::{check_generation, check_silent_failure, check_stale_status, is_ready};
use super::noise;
use super::planted::Planted;
use super::scene::{Scene, differences, group, is_of, version};
use super::second::check_as_alone;
use super::{renamed, resource, yaml};
use crate::Request;
use crate::install::documents;

/// Longer than a second, because the times of conditions have whole seconds.
const A_SECOND: Duration = Duration::from_millis(1_100);

/// How many of the operator's writes of its object are tested with an edit just before the write.
const EDITS: usize = 4;

/// An object that an operator has reconciled alone.
struct Settled {
    state: Value,
    /// The operator's writes of the object.
    writes: Vec<Request>,
    object: Arc<Value>,
}

impl Trial {
    /// Checks the result of a change of the spec, after the operator has settled and just before its own writes.
    pub(super) fn check_spec_changes(
        &self,
        stage: &Stage,
        operator: &Operator<'_>,
        sample: &Sample,
        problems: &mut Vec<String>,
    ) {
        let created = |sample: &Sample| self.settled_alone(stage, operator, sample);
        let scene = || Scene::start(self, stage, operator, Scene::options(self, stage, sample));
        let mut check = |problem: Result<(), String>| problems.extend(problem.err());
        let Some(old) = created(sample) else {
            return;
        };
        check(check_generation(&old.object));
        check(stage.runtime().block_on(async {
            let scene = scene().await;
            check_transition_times(&scene).await?;
            // a handler is called for a change of a label, too
            if self.depends_on_history || is_of(&self.existing, &old.object) {
                return Ok(());
            }
            noise::check(&scene).await
        }));
        // change as much of the spec as leaves the same objects: at first all values, then all but strings
        let candidates = [Leaves::All, Leaves::NotText].map(|leaves| {
            stage
                .runtime()
                .block_on(changed(&stage.server(self), &sample.text, leaves))
        });
        let expected = candidates.into_iter().flatten().find_map(|edited| {
            let edited = Sample {
                text: edited,
                fails: None,
            };
            let new = created(&edited)?;
            let again = created(&edited)?;
            let is_alike = self.depends_on_history || paths(&new.state) == paths(&old.state);
            is_alike.then_some((edited.text, new, again))
        });
        let Some((edited, new, again)) = expected else {
            return;
        };
        let nondeterministic = differences(&new.state, &again.state);
        let compare = |actual: &Value, when: &str| {
            if self.depends_on_history {
                return Ok(());
            }
            let mut differences = differences(&new.state, actual);
            differences.retain(|path, _| !nondeterministic.contains_key(path));
            let shown: Vec<String> = differences.into_values().take(6).collect();
            if shown.is_empty() {
                Ok(())
            } else {
                Err(format!(
                    "{when}, the result is not the same as for an object that was created with this spec:\n  {}",
                    shown.join("\n  ")
                ))
            }
        };
        check(stage.runtime().block_on(async {
            let scene = scene().await;
            scene.install(scene.sample_text()).await;
            scene.rest("the sample was created").await?;
            let planted = Planted::new(&scene).await;
            scene.install(&edited).await;
            scene.rest("its spec was changed").await?;
            if let Some(planted) = planted {
                planted.check(&scene).await?;
                planted.withdraw(&scene).await;
                scene
                    .rest("another controller withdrew its part of the status")
                    .await?;
            }
            let is_deleted = self.delete_waiting(&scene).await?;
            compare(&scene.state().await, "after its spec was changed")?;
            // recreated children are newer than a status that did not have to change
            if is_deleted {
                return Ok(());
            }
            check_observed_generation(&scene).await
        }));
        for (number, write) in old.writes.iter().enumerate().take(EDITS) {
            check(stage.runtime().block_on(async {
                let scene = scene().await;
                scene.faults.edit_before(number, write, &edited);
                scene.install(scene.sample_text()).await;
                scene.rest("its spec was changed by another").await?;
                // watch events came in another order, and the operator did not make this write
                if scene.faults.awaits_edit() {
                    return Ok(());
                }
                self.delete_waiting(&scene).await?;
                compare(
                    &scene.state().await,
                    &format!("after its spec was changed just before the operator's write number {} to it, {write}", number + 1),
                )
            }));
        }
        self.check_with_edited(stage, operator, (sample, &edited), (&old, &new), problems);
    }
}

impl Trial {
    /// Creates an object, and returns what the operator has made of it; `None` if it fails.
    fn settled_alone(
        &self,
        stage: &Stage,
        operator: &Operator<'_>,
        sample: &Sample,
    ) -> Option<Settled> {
        stage.runtime().block_on(async {
            let options = Scene::options(self, stage, sample);
            let scene = Scene::start(self, stage, operator, options).await;
            // a CEL rule of the kind may allow only the name of the sample
            scene.server.install_patiently(&sample.text).await.ok()?;
            scene.rest("the sample was created").await.ok()?;
            if scene.reports {
                let succeeded = self.check_success(&scene.server, sample, Phase::WithSample);
                succeeded.await.ok()?;
            }
            Some(Settled {
                state: scene.state().await,
                writes: own_writes(&scene).await,
                object: scene.object().await.unwrap_or_default(),
            })
        })
    }

    /// Checks a second object with the edited spec, and what the status claims after the change. `old` and `new` are the objects that were
    /// created with either spec.
    fn check_with_edited(
        &self,
        stage: &Stage,
        operator: &Operator<'_>,
        (sample, edited): (&Sample, &str),
        (old, new): (&Settled, &Settled),
        problems: &mut Vec<String>,
    ) {
        let scene = || Scene::start(self, stage, operator, Scene::options(self, stage, sample));
        let mut check = |problem: Result<(), String>| problems.extend(problem.err());
        let second = Sample {
            text: renamed(edited),
            fails: None,
        };
        if let Some(alone) = self.settled_alone(stage, operator, &second) {
            check(stage.runtime().block_on(async {
                check_as_alone(&scene().await, &second.text, &old.state, &alone.state).await
            }));
        }
        // otherwise, it does not depend on what the workloads report
        if !is_ready(&new.object) {
            check(
                stage
                    .runtime()
                    .block_on(async { check_stale_status(&scene().await, edited).await }),
            );
        }
        check(
            stage
                .runtime()
                .block_on(async { check_silent_failure(&scene().await, edited).await }),
        );
    }

    /// Deletes the children that the operator does not update, so that it creates them again. Returns whether there are any.
    async fn delete_waiting(&self, scene: &Scene<'_>) -> Result<bool, String> {
        if self.waiting.is_empty() {
            return Ok(false);
        }
        let uid = |object: &Value| object["metadata"]["uid"].clone();
        let made: Vec<Value> = scene
            .created_children()
            .await
            .iter()
            .map(|it| uid(it))
            .collect();
        let objects = scene.server.objects().await;
        let waiting = objects.iter().filter(|(path, object)| {
            self.waiting.contains(&resource(path)) && made.contains(&uid(object))
        });
        let waiting: Vec<Value> = waiting.map(|(_, object)| Value::clone(object)).collect();
        scene.uninstall(&yaml(&waiting)).await;
        scene
            .rest("children that it does not update were deleted")
            .await?;
        Ok(!waiting.is_empty())
    }
}

/// The operator's writes of the sample, except for those of its status.
async fn own_writes(scene: &Scene<'_>) -> Vec<Request> {
    let Some(object) = scene.object().await else {
        return vec![];
    };
    // compare the resource too: a child may have the same name and group
    let path = scene.server.path_of(&mut Value::clone(&object)).await;
    let path = path.unwrap_or_default();
    let plural = path.rsplit('/').nth(1).unwrap_or_default();
    let kind_writes = scene.faults.requests().into_iter().filter(|request| {
        request.is_work()
            && request.subresource.is_empty()
            && request.group == group(&object)
            && request.resource == plural
            && object["metadata"]["name"] == *request.name
    });
    kind_writes.collect()
}

/// Checks that a change of a label does not change the `lastTransitionTime` of a condition.
async fn check_transition_times(scene: &Scene<'_>) -> Result<(), String> {
    scene.install(scene.sample_text()).await;
    scene.rest("the sample was created").await?;
    let before = conditions(scene).await;
    let first = times(scene).await;
    std::thread::sleep(A_SECOND);
    noise::touch(scene, "touched").await;
    scene.rest("a label of the sample changed").await?;
    for (type_, condition) in conditions(scene).await {
        let Some(was) = before.get(&type_) else {
            continue;
        };
        let time = "lastTransitionTime";
        if was["status"] == condition["status"] && was[time] != condition[time] {
            return Err(format!(
                "the {time} of the condition {type_} changed from {} to {}, but its status is {} as before\nhelp: `Condition::set_in` keeps the time",
                was[time], condition[time], condition["status"]
            ));
        }
    }
    let second = times(scene).await;
    let changed = |was: &BTreeMap<String, String>, is: &BTreeMap<String, String>| {
        let mut changed = is
            .iter()
            .filter(|(path, time)| was.get(*path).is_some_and(|was| was != *time));
        changed
            .next()
            .map(|(path, time)| (path.clone(), time.clone()))
    };
    if changed(&first, &second).is_none() {
        return Ok(());
    }
    // it may be the time of something that happens regularly: then it does not change again
    std::thread::sleep(A_SECOND);
    noise::touch(scene, "touched-again").await;
    scene.rest("a label of the sample changed").await?;
    match changed(&second, &times(scene).await) {
        None => Ok(()),
        Some((path, time)) => Err(format!(
            "{path} is the present time: it changed from {} to {time} when a label of the sample changed\nhelp: such a status is written at each reconciliation, which can trigger the next one; write the time of a change, and only with that change",
            second.get(&path).map_or("", String::as_str)
        )),
    }
}

async fn times(scene: &Scene<'_>) -> BTreeMap<String, String> {
    let object = scene.object().await;
    object
        .map(|object| noise::times(&object["status"]))
        .unwrap_or_default()
}

async fn conditions(scene: &Scene<'_>) -> BTreeMap<String, Value> {
    let object = scene.object().await;
    let conditions = object.map(|object| object["status"]["conditions"].clone());
    let conditions = conditions.as_ref().and_then(Value::as_array).cloned();
    let named = conditions.into_iter().flatten().filter_map(|condition| {
        let type_ = condition["type"].as_str()?.to_owned();
        Some((type_, condition))
    });
    named.collect()
}

/// Checks that a status with the current generation was written after the children, or does not report success.
async fn check_observed_generation(scene: &Scene<'_>) -> Result<(), String> {
    let Some(object) = scene.object().await else {
        return Ok(());
    };
    let (generation, claimed) = (
        &object["metadata"]["generation"],
        &object["status"]["observedGeneration"],
    );
    check_generation(&object)?;
    let conditions = conditions(scene).await;
    if claimed != generation || conditions.values().any(|it| it["status"] != "True") {
        return Ok(());
    }
    let made = scene.created_children().await;
    // The operator may also reconcile a child, and write its status later.
    let late = made
        .iter()
        .filter(|child| !is_of(scene.kinds, child))
        .find(|child| version(child) > version(&object));
    let Some(late) = late else {
        return Ok(());
    };
    let (kind, name) = (&late["kind"], &late["metadata"]["name"]);
    Err(format!(
        "its status has observedGeneration {claimed} before the work is done: {} {} was written after that\nhelp: write the status last, or with a condition that is not True",
        kind.as_str().unwrap_or_default(),
        name.as_str().unwrap_or_default()
    ))
}

fn paths(state: &Value) -> Vec<&String> {
    state
        .as_object()
        .into_iter()
        .flat_map(|it| it.keys())
        .collect()
}

/// The values of the spec to change: all, or all but strings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::trial) enum Leaves {
    All,
    NotText,
}

/// The sample with different values in its spec, as far as the server accepts the change.
pub(in crate::trial) async fn changed(
    server: &crate::Server,
    sample: &str,
    leaves: Leaves,
) -> Option<String> {
    let mut objects = documents(sample).ok()?;
    server.install(sample).await.ok()?;
    let mut any = false;
    for number in 0..objects.len() {
        for (pointer, _) in pointer::leaves(&objects[number]) {
            if !pointer.starts_with("/spec/") {
                continue;
            }
            let was = objects[number].pointer(&pointer).cloned()?;
            let Some(other) = another(&was, leaves) else {
                continue;
            };
            *objects[number].pointer_mut(&pointer)? = other;
            if server.install(&yaml(&objects)).await.is_ok() {
                any = true;
            } else {
                *objects[number].pointer_mut(&pointer)? = was;
            }
        }
    }
    any.then(|| yaml(&objects))
}

/// Another value of the same type.
fn another(value: &Value, leaves: Leaves) -> Option<Value> {
    match value {
        Value::Bool(value) => Some(json!(!value)),
        Value::Number(number) => number.as_i64().map(|number| json!(number + 1)),
        Value::String(text) if leaves == Leaves::All => Some(json!(format!("{text}x"))),
        _ => None,
    }
}
