//! Deployments: a ReplicaSet for each template, of which the newest replaces the others, as in [the real controller].
//!
//! Each step is one pass of that controller. Its writes enqueue the Deployment again, until there is nothing more to do.
//!
//! [the real controller]: https://github.com/kubernetes/kubernetes/tree/master/pkg/controller/deployment

mod revision;
mod rollout;
mod scale;
mod status;

use serde_json::{Value, json};

use super::actor::{CONTROLLERS, EventText};
use super::child::copies;
use super::controllers::Controllers;
use super::field::annotation;
use super::replica_set::{age, replicas};
use super::template::is_same;
use crate::kinds::resource::REPLICA_SETS;
use crate::model::json::number;
use crate::model::metadata::{is_deleting, name};
use crate::model::{Key, Result};

const COMPONENT: &str = "deployment-controller";

/// The annotation with the replicas of the Deployment when a ReplicaSet was scaled.
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";

/// The annotation with the maximum of pods at that time: these replicas and the surge.
const MOST: &str = "deployment.kubernetes.io/max-replicas";

/// The annotation with the number of the revision, which grows with each rollout.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// A Deployment and its ReplicaSets.
struct Rollout {
    deployment: Value,
    /// The ReplicaSet of the Deployment's template.
    new: Option<Value>,
    /// The other ReplicaSets, oldest first.
    old: Vec<Value>,
}

impl Controllers<'_> {
    pub(super) fn sync_deployment(&mut self, key: &Key) {
        let Some(deployment) = self.state.store.find(key) else {
            return;
        };
        // If a write fails, a condition or an event reports it, and the next change retries.
        let _done = self.roll(Value::clone(&deployment));
    }

    /// Executes one pass.
    fn roll(&mut self, deployment: Value) -> Result<()> {
        let sets = copies(self.claim(&deployment, REPLICA_SETS, |_| true));
        let mut rollout = Rollout::of(deployment, sets);
        if is_deleting(&rollout.deployment) {
            return self.report(&rollout);
        }
        if self.note_pause(&rollout.deployment)? {
            return Ok(());
        }
        if rollout.deployment["spec"]["paused"] == true || rollout.is_scaled() {
            self.scale_all(&mut rollout)?;
            return self.report(&rollout);
        }
        match rollout.deployment["spec"]["strategy"]["type"].as_str() {
            Some("Recreate") => self.recreate(rollout),
            _ => self.roll_over(rollout),
        }
    }

    /// Scales a ReplicaSet. Returns whether its replicas changed.
    fn resize(&mut self, rollout: &Rollout, set: &mut Value, size: i64) -> Result<bool> {
        let deployment = &rollout.deployment;
        let before = replicas(set);
        let mut resized = set.clone();
        resized["spec"]["replicas"] = size.into();
        annotate(&mut resized, deployment);
        if resized == *set {
            return Ok(false);
        }
        *set = self.write(CONTROLLERS, &resized)?;
        if before == size {
            return Ok(false);
        }
        self.record_scaling(deployment, set, before, size);
        Ok(true)
    }

    fn record_scaling(&mut self, deployment: &Value, set: &Value, before: i64, size: i64) {
        let direction = if before < size { "up" } else { "down" };
        let set = name(set);
        let message = format!("Scaled {direction} replica set {set} from {before} to {size}");
        let event = EventText::normal("ScalingReplicaSet", &message);
        self.record_event(COMPONENT, deployment, event);
    }
}

impl Rollout {
    /// Sorts out the ReplicaSets of a Deployment by its template.
    fn of(deployment: Value, mut sets: Vec<Value>) -> Self {
        sets.sort_by_cached_key(age);
        let new = sets
            .iter()
            .position(|set| is_same(&set["spec"]["template"], &deployment["spec"]["template"]))
            .map(|at| sets.remove(at));
        Self {
            deployment,
            new,
            old: sets,
        }
    }

    fn sets(&self) -> impl Iterator<Item = &Value> {
        self.old.iter().chain(&self.new)
    }

    /// The total replicas of all ReplicaSets.
    fn total(&self) -> i64 {
        self.sets().map(replicas).sum()
    }

    fn available(&self) -> i64 {
        self.sets()
            .map(|set| number(&set["status"]["availableReplicas"]))
            .sum()
    }

    /// Whether the replicas of the Deployment have changed since its ReplicaSets were scaled.
    fn is_scaled(&self) -> bool {
        self.sets().filter(|set| replicas(set) > 0).any(|set| {
            let known: Option<i64> = annotation(set, DESIRED).parse().ok();
            known.is_some_and(|known| known != desired(&self.deployment))
        })
    }
}

fn desired(deployment: &Value) -> i64 {
    number(&deployment["spec"]["replicas"])
}

/// The maximum surge and the maximum number of unavailable pods.
fn bounds(deployment: &Value) -> (i64, i64) {
    let strategy = &deployment["spec"]["strategy"];
    if strategy["type"] == "Recreate" {
        return (0, 0);
    }
    let desired = desired(deployment);
    let rolling = &strategy["rollingUpdate"];
    let surge = scaled_value(&rolling["maxSurge"], desired, true);
    let fewer = scaled_value(&rolling["maxUnavailable"], desired, false);
    // both can be rounded to 0, with which the rollout would not proceed
    match (surge, fewer) {
        (0, 0) => (0, 1.min(desired)),
        _ => (surge, fewer.min(desired)),
    }
}

/// The value of an IntOrString: the number, or the percentage of a number.
pub(super) fn scaled_value(value: &Value, of: i64, is_rounded_up: bool) -> i64 {
    let Some(text) = value.as_str() else {
        return number(value);
    };
    let percent: i64 = text.trim_end_matches('%').parse().unwrap_or_default();
    if is_rounded_up {
        (of * percent + 99) / 100
    } else {
        of * percent / 100
    }
}

/// Records the replicas of the Deployment for which a ReplicaSet is scaled.
fn annotate(set: &mut Value, deployment: &Value) {
    let desired = desired(deployment);
    let (surge, _) = bounds(deployment);
    let metadata = &mut set["metadata"];
    if metadata["annotations"].is_null() {
        metadata["annotations"] = json!({});
    }
    metadata["annotations"][DESIRED] = desired.to_string().into();
    metadata["annotations"][MOST] = (desired + surge).to_string().into();
}
