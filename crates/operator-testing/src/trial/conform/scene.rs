//! One server with one operator, for a test with several steps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::super::run::{RunOptions, Scenario, most_frequent_write, settle};
use super::super::stage::Stage;
use super::super::state::{self, Objects, differ, settled_state};
use super::super::{Operator, Sample, Trial};
use super::panics;
use crate::fault::{Fault, Faults};
use crate::request_log::EVENTS_AND_LEASES;
use crate::schedule::Schedule;
use crate::{Request, Server};

/// A server with a running operator.
pub(super) struct Scene<'a> {
    pub server: Server,
    pub faults: Faults,
    /// The objects that existed before the sample.
    pub before: Objects,
    /// Whether the operator reports its reconciliations.
    pub reports: bool,
    /// The group and kind of the objects that the operator reconciles.
    pub kinds: &'a [(String, String)],
    options: RunOptions<'a>,
}

impl<'a> Scene<'a> {
    pub fn options(trial: &Trial, stage: &Stage, sample: &'a Sample) -> RunOptions<'a> {
        trial.options(stage, sample, Scenario::Plain, Schedule::default())
    }

    /// Starts the operator.
    pub async fn start(
        trial: &'a Trial,
        stage: &Stage,
        operator: &Operator<'_>,
        options: RunOptions<'a>,
    ) -> Self {
        panics::watch();
        let server = stage.server(trial);
        let faults = Faults::new(Schedule::default(), &trial.user, &server);
        server.run(operator.start(server.faulty_client(&trial.user, &faults), &server));
        let before = server.objects().await;
        server.await_webhooks().await;
        Self {
            server,
            faults,
            before,
            reports: operator.reports,
            kinds: &trial.kinds,
            options,
        }
    }

    /// Whether a namespace existed before the sample, so that the operator did not create it.
    pub fn had_namespace(&self, name: &str) -> bool {
        self.before
            .values()
            .any(|it| it["kind"] == "Namespace" && it["metadata"]["name"] == name)
    }

    pub fn sample_text(&self) -> &'a str {
        &self.options.sample.text
    }

    pub fn sample(&self) -> &'a Sample {
        self.options.sample
    }

    pub async fn install(&self, yaml: &str) {
        let installed = self.server.install_patiently(yaml).await;
        installed.unwrap_or_else(|error| panic!("the sample: {error}"));
    }

    pub async fn uninstall(&self, yaml: &str) {
        let deleted = self.server.uninstall_patiently(yaml).await;
        deleted.unwrap_or_else(|error| panic!("the sample: {error}"));
    }

    /// Waits until the operator stops writing.
    pub async fn rest(&self, since: &str) -> Result<(), String> {
        let known = self.faults.requests().len();
        let why = settle(
            &self.server,
            &self.faults,
            &self.options,
            Default::default(),
        )
        .await
        .and_then(|()| check_repetition(&self.faults.requests()[known..]));
        self.check_failures(since)?;
        why.map_err(|why| format!("after {since}: {why}"))
    }

    /// Waits, but only until an object is reconciled in an endless loop: without a delay, it holds the clock.
    pub async fn pass(&self, duration: Duration, since: &str) -> Result<(), String> {
        let outcomes = self.server.outcomes();
        tokio::select! {
            biased;
            _object = outcomes.endless_loop() => self.rest(since).await,
            () = sleep(duration) => Ok(()),
        }
    }

    /// Like [`rest`](Self::rest), for an operator that may fail and retry forever.
    pub async fn rest_or_retry(&self, since: &str) -> Result<(), String> {
        let retries = settle(
            &self.server,
            &self.faults,
            &self.options,
            Default::default(),
        );
        drop(retries.await);
        self.check_failures(since)
    }

    /// Fails if the operator has panicked or lacked a permission.
    fn check_failures(&self, since: &str) -> Result<(), String> {
        let panicked = panics::take().map(|panic| format!("the operator {panic}"));
        match panicked.or_else(|| self.faults.forbidden()) {
            Some(why) => Err(format!("after {since}: {why}")),
            None => Ok(()),
        }
    }

    /// The objects that were created or changed since the start.
    pub async fn state(&self) -> Value {
        settled_state(&self.server, &self.faults, &self.before).await
    }

    pub async fn created_children(&self) -> Vec<Arc<Value>> {
        state::created_children(&self.server, &self.faults, &self.before).await
    }

    /// Those that the sample object itself controls, and whose kind the operator does not reconcile.
    pub async fn own_children(&self) -> Vec<Arc<Value>> {
        let uid = self.object().await.map(|it| it["metadata"]["uid"].clone());
        let mut children = self.created_children().await;
        children.retain(|child| {
            controller(child).is_some_and(|owner| uid.as_ref() == Some(&owner["uid"]))
                && !is_of(self.kinds, child)
        });
        children
    }

    /// Injects a fault into the next writes of an object by the operator.
    pub async fn refuse_writes(&self, object: &Value, fault: Fault, most: usize) {
        let mut object = object.clone();
        let path = self.server.path_of(&mut object).await.unwrap_or_default();
        let plural = path.rsplit('/').nth(1).unwrap_or_default();
        let [namespace, name] = ["namespace", "name"]
            .map(|field| object["metadata"][field].as_str().unwrap_or_default());
        let path = [group(&object), plural, namespace, name];
        let path = path.map(str::to_owned);
        self.faults.refuse_writes(path, fault, most);
    }

    /// The sample object in its current state.
    pub async fn object(&self) -> Option<Arc<Value>> {
        let sample = crate::install::documents(self.sample_text()).ok()?;
        let sample = sample.into_iter().next()?;
        let objects = self.server.objects().await;
        let is_it = |it: &&Arc<Value>| {
            it["kind"] == sample["kind"] && it["metadata"]["name"] == sample["metadata"]["name"]
        };
        objects.values().find(is_it).cloned()
    }

    /// Creates an object of each kind that the operator watches, if an object of the kind needs only a name. Returns the created objects as
    /// YAML.
    pub async fn create_unrelated_objects(&self) -> String {
        let requests = self.faults.requests();
        let watched: BTreeSet<(String, String)> = requests
            .into_iter()
            .filter(|request| {
                request.verb == "watch" && !EVENTS_AND_LEASES.contains(&&*request.resource)
            })
            .map(|request| (request.group, request.resource))
            .collect();
        let mut made = vec![];
        for (group, plural) in watched {
            let Some((api_version, kind)) = self.kind_of(&group, &plural).await else {
                continue;
            };
            let object =
                json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "passer-by"}});
            if self.server.install(&object.to_string()).await.is_ok() {
                made.push(object);
            }
        }
        super::yaml(&made)
    }

    /// The `apiVersion` and the kind of a resource.
    async fn kind_of(&self, group: &str, plural: &str) -> Option<(String, String)> {
        let client = self.server.own_client();
        let (resources, api_version) = match group {
            "" => (
                client.list_core_api_resources("v1").await.ok()?,
                "v1".to_owned(),
            ),
            _ => {
                let groups = client.list_api_groups().await.ok()?.groups;
                let api_group = groups.into_iter().find(|it| it.name == group)?;
                let version = api_group.preferred_version?.group_version;
                (
                    client.list_api_group_resources(&version).await.ok()?,
                    version,
                )
            }
        };
        let resource = resources
            .resources
            .into_iter()
            .find(|it| it.name == plural)?;
        Some((api_version, resource.kind))
    }
}

/// No operator needs more writes of one object until it settles.
const MAX_WRITES: usize = 50;

/// Fails if the operator has repeated a write too often. An operator that writes a different value each time seems to settle if it happens
/// to write the same value twice.
fn check_repetition(requests: &[Request]) -> Result<(), String> {
    match most_frequent_write(requests) {
        Some((write, times)) if times > MAX_WRITES => Err(format!(
            "it requests {times} times: {write}: does it write a different value each time?"
        )),
        _ => Ok(()),
    }
}

/// The owner reference of an object's controller.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

pub(super) fn group(object: &Value) -> &str {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Whether the object is of one of these groups and kinds.
pub(super) fn is_of(kinds: &[(String, String)], object: &Value) -> bool {
    kinds
        .iter()
        .any(|(known, kind)| known == group(object) && object["kind"] == **kind)
}

/// The resource version.
pub(super) fn version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// The paths at which two states differ, ignoring fields that only record the history of an object.
pub(super) fn differences(expected: &Value, actual: &Value) -> BTreeMap<String, String> {
    let mut differences = BTreeMap::new();
    let [expected, actual] = [expected, actual].map(without_history);
    differ("", &expected, &actual, &mut differences);
    differences
}

/// The fields that count changes, and such an annotation of DaemonSets.
const HISTORY: [&str; 3] = [
    "generation",
    "observedGeneration",
    "deprecated.daemonset.template.generation",
];

pub(super) fn without_history(state: &Value) -> Value {
    let mut state = state.clone();
    forget_history(&mut state);
    state
}

fn forget_history(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !HISTORY.contains(&name.as_str()));
            fields.values_mut().for_each(forget_history);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_history),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_of_changes_are_no_difference() {
        let set = |count: &str, image: &str| {
            let annotations = json!({"deprecated.daemonset.template.generation": count});
            json!({"metadata": {"generation": count, "annotations": annotations}, "spec": {"image": image}})
        };
        assert!(differences(&set("1", "a"), &set("2", "a")).is_empty());
        assert_eq!(differences(&set("1", "a"), &set("2", "b")).len(), 1);
    }
}
