//! Checks what users expect of every operator: it reconciles several objects, does not change objects of others, follows changes of the
//! spec, and leaves nothing behind.

pub(super) mod change;
mod claims;
mod fields;
mod noise;
mod panics;
mod planted;
mod references;
mod rollout;
mod scene;
mod second;

use std::sync::Arc;

use serde_json::{Value, json};

use self::scene::{Scene, is_of, version};
use super::run::check_events;
use super::stage::Stage;
use super::success::{Phase, failures};
use super::{Operator, Start, Trial};
use crate::install::documents;

/// Parts of the errors for an external resource that belongs to another object. The second object has the spec of the first, which may
/// name the external resource.
const TAKEN: [&str; 2] = [
    "exists already, and was not created for this object",
    " is already in use by ",
];

impl Trial {
    /// Runs an operator without faults, in memory, with each sample that is expected to succeed, and checks that
    ///
    /// - a second object of the kind is reconciled as well, and its deletion does not affect the first;
    /// - if the operator prunes ([`prunes`](Self::prunes)), it deletes a child that the object controls but should not have;
    /// - if the sample has labels, an object that loses and gets them back, and so leaves the selector of a controller and returns, ends in
    ///   the same state;
    /// - the operator tolerates the creation and deletion of unrelated objects of the watched kinds;
    /// - the operator does not change objects that have the names of its children, but a different controller;
    /// - after the object is deleted, no object that the operator created remains, except for resources in [`keeps`](Self::keeps);
    /// - after a change of the spec, the result is the same as if the object had been created with that spec. Fields that the schema makes
    ///   immutable, for example by the CEL rule `self == oldSelf`, are not changed;
    /// - what another controller wrote into the status, a condition and a field, stays, and stays its own;
    /// - an edit of the spec just before the operator writes the object is not lost;
    /// - the operator writes a generation to `status.observedGeneration` only after it has finished the work for it, or while a condition
    ///   is not `True`, and no generation that does not exist;
    /// - a second object with another spec, created when the first one has settled, gets what it gets alone;
    /// - no selector of a workload matches the pods of another object; a Service selects pods of its object, and the Services and ports
    ///   of an Ingress exist;
    /// - after a change of the spec, the object is not `Ready` because of what its workloads reported before;
    /// - while a child cannot be written, after a change of the spec or after its deletion, the object is not `Ready` in the current
    ///   generation; once it was deleted, it is created again after a few conflicts;
    /// - the `lastTransitionTime` of a condition changes only with its `status`, and no time in the status is the present one;
    /// - a settled object causes no new events when it is reconciled again, and no request for one object each second.
    ///
    /// # Panics
    ///
    /// Panics with all violations, if there are any.
    pub fn assert_conforms<A>(&self, operator: impl Start<A>) {
        Operator::with(operator, |operator| self.conform(operator));
    }

    /// Declares that the result may depend on the history of an object, as with the style `handlers`: a handler that is called only for
    /// new objects does not see a later change. [`assert_conforms`](Self::assert_conforms) then does not compare the results, and a
    /// sample that must fail may succeed after a change. [`assert_stops_when_lease_is_lost`](Self::assert_stops_when_lease_is_lost) changes
    /// a label of the sample instead of deleting its children, which handlers do not create again.
    #[must_use]
    pub fn depends_on_history(mut self) -> Self {
        self.depends_on_history = true;
        self
    }

    /// Sets the resources whose objects may remain when the sample is deleted, for example `persistentvolumeclaims` or
    /// `memcacheds.cache.example.com`.
    #[must_use]
    pub fn keeps(mut self, resources: &[&str]) -> Self {
        self.kept.extend(resources.iter().map(|&it| it.to_owned()));
        self
    }

    /// Sets the resources whose objects the operator creates but does not update, as with the update strategies `on-delete` and
    /// `create-only`. They have the form of [`keeps`](Self::keeps). After a change of the spec, the test deletes these objects, so that the
    /// operator creates them again.
    #[must_use]
    pub fn waits_for_deletion(mut self, resources: &[&str]) -> Self {
        let resources = resources.iter().map(|&it| it.to_owned());
        self.waiting.extend(resources);
        self
    }

    fn conform(&self, operator: &Operator<'_>) {
        let stage = Stage::in_memory(self);
        let mut problems = vec![];
        for sample in self.samples.iter().filter(|it| it.fails.is_none()) {
            let earlier = problems.len();
            let options = || Scene::options(self, &stage, sample);
            let children = stage.runtime().block_on(async {
                let scene = Scene::start(self, &stage, operator, options()).await;
                self.check_several_objects(&scene, &mut problems).await
            });
            if children.is_empty() && problems.len() > earlier {
                continue;
            }
            stage.runtime().block_on(async {
                let scene = Scene::start(self, &stage, operator, options()).await;
                problems.extend(check_foreign_objects(&scene, &children).await.err());
            });
            self.check_spec_changes(&stage, operator, sample, &mut problems);
        }
        assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    }

    /// Runs one object, unrelated objects and a second object. Returns the objects that the first one controls.
    async fn check_several_objects(
        &self,
        scene: &Scene<'_>,
        problems: &mut Vec<String>,
    ) -> Vec<Arc<Value>> {
        let mut children = vec![];
        let result: Result<(), String> = async {
            scene.install(scene.sample_text()).await;
            scene.rest("the sample was created").await?;
            children = scene.created_children().await;
            references::check(&children, &scene.server.objects().await)?;
            let alone = scene.state().await;

            let undesired = self.place_undesired(&scene.server, &children).await;
            if !undesired.is_empty() {
                scene
                    .rest("children that it should not have were created")
                    .await?;
                self.check_pruned(&scene.server, &undesired).await?;
            }

            self.check_return(scene, &alone).await?;

            let unrelated_objects = scene.create_unrelated_objects().await;
            scene
                .rest("objects of the kinds that it watches were created")
                .await?;
            scene.uninstall(&unrelated_objects).await;
            scene
                .rest("objects of the kinds that it watches were deleted")
                .await?;

            let second = renamed(scene.sample_text());
            // a CEL rule of the kind may allow only one name
            if scene.server.install(&second).await.is_ok() {
                self.check_second_object(scene, &second, &alone).await?;
            }

            scene.uninstall(scene.sample_text()).await;
            scene.rest("the sample was deleted").await?;
            self.leftovers(&scene.state().await, scene)
        }
        .await;
        problems.extend(result.err());
        children
    }

    /// Removes the labels of the sample, and restores them: with a label selector, the object leaves it and returns.
    async fn check_return(&self, scene: &Scene<'_>, alone: &Value) -> Result<(), String> {
        let mut labelled = documents(scene.sample_text()).unwrap_or_default();
        labelled.retain(|object| !object["metadata"]["labels"].is_null());
        if labelled.is_empty() || self.depends_on_history {
            return Ok(());
        }
        for object in labelled {
            // a webhook or a policy may require the labels
            if scene.server.strip(object, "labels").await.is_err() {
                return Ok(());
            }
        }
        scene.rest("the labels of the sample were removed").await?;
        scene.install(scene.sample_text()).await;
        let since = "the labels of the sample were removed and restored";
        scene.rest(since).await?;
        if scene.reports {
            let succeeded = self.check_success(&scene.server, scene.sample(), Phase::Changed);
            succeeded
                .await
                .map_err(|why| format!("after {since}: {why}"))?;
        }
        match scene::differences(alone, &scene.state().await)
            .into_values()
            .next()
        {
            None => Ok(()),
            Some(path) => Err(format!(
                "after {since}, the cluster is in another state:\n  {path}"
            )),
        }
    }

    /// Checks a second object, which exists already, and its deletion.
    async fn check_second_object(
        &self,
        scene: &Scene<'_>,
        second: &str,
        alone: &Value,
    ) -> Result<(), String> {
        scene.rest("a second object was created").await?;
        check_events(&scene.server, &scene.before).await?;
        if scene.reports {
            let succeeded = self.check_success(&scene.server, scene.sample(), Phase::WithSample);
            succeeded.await.or_else(|why| {
                if TAKEN.iter().any(|part| why.contains(part)) {
                    Ok(())
                } else {
                    Err(why)
                }
            })?;
        }
        let children = scene.created_children().await;
        references::check(&children, &scene.server.objects().await)?;
        scene.uninstall(second).await;
        scene.rest("the second object was deleted").await?;
        let mut state = scene.state().await;
        if let (Some(alone), Some(state)) = (alone.as_object(), state.as_object()) {
            let new = state
                .iter()
                .filter(|(path, _)| !alone.contains_key(*path))
                .map(|(path, object)| (path.clone(), object.clone()));
            self.leftovers(&Value::Object(new.collect()), scene)?;
        }
        if let (Some(alone), Some(state)) = (alone.as_object(), state.as_object_mut()) {
            state.retain(|path, _| alone.contains_key(path));
        }
        let differences = scene::differences(alone, &state);
        match differences.into_values().next() {
            None => Ok(()),
            Some(path) => Err(format!(
                "the children of an object differ after a second object was created and deleted:\n  {path}"
            )),
        }
    }

    /// Checks that nothing remains after all samples were deleted.
    fn leftovers(&self, state: &Value, scene: &Scene<'_>) -> Result<(), String> {
        let objects = state.as_object().into_iter().flatten();
        let remaining: Vec<String> = objects
            .filter(|(path, object)| !object.is_null() && !self.is_kept(path))
            .filter_map(|(path, object)| {
                let metadata = &object["metadata"];
                let finalizers = &metadata["finalizers"];
                // objects that existed before, such as fixtures, were only changed
                if let Some(before) = scene.before.get(path) {
                    let is_known =
                        finalizers.is_null() || *finalizers == before["metadata"]["finalizers"];
                    return (!is_known).then(|| format!("{path} has the finalizers {finalizers}"));
                }
                Some(match metadata["deletionTimestamp"] {
                    Value::Null => format!("{path} has no owner, and nothing deleted it"),
                    _ => format!("{path} is being deleted, but keeps its finalizers {finalizers}"),
                })
            })
            .collect();
        if remaining.is_empty() {
            Ok(())
        } else {
            Err(format!(
                "after the sample was deleted, these objects remain:\n  {}{}\nhelp: set an owner reference (`cx.child_metadata`), or delete the object in `cleanup`; if it should remain, add its kind to `keeps` in operator.toml (`Trial::keeps` in your own trial)",
                remaining.join("\n  "),
                failures(&scene.server.outcomes())
            ))
        }
    }

    pub(super) fn is_kept(&self, path: &str) -> bool {
        self.kept.contains(&resource(path))
    }
}

/// The resource of a path of the state, such as `deployments.apps`.
fn resource(path: &str) -> String {
    let mut parts = path.split('/');
    let (group, plural) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    match group {
        "" => plural.to_owned(),
        _ => format!("{plural}.{group}"),
    }
}

/// Checks that foreign objects with the names of the children are not changed. If the operator reconciles their kind, too, as in a chain of
/// owners, it may write their status and its finalizer.
async fn check_foreign_objects(scene: &Scene<'_>, children: &[Arc<Value>]) -> Result<(), String> {
    let Some(namespace) = children
        .iter()
        .filter_map(|child| child["metadata"]["namespace"].as_str())
        .find(|namespace| scene.had_namespace(namespace))
    else {
        return Ok(());
    };
    let holder = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "somebody-else", "namespace": namespace}});
    scene.install(&holder.to_string()).await;
    let objects = scene.server.objects().await;
    let uid = objects
        .values()
        .find(|it| it["metadata"]["name"] == "somebody-else")
        .map(|it| it["metadata"]["uid"].clone());
    let mut placed = vec![];
    for child in children {
        let metadata = &child["metadata"];
        if metadata["namespace"] != namespace || !metadata["generateName"].is_null() {
            continue;
        }
        let mut foreign = Value::clone(child);
        if let Some(foreign) = foreign.as_object_mut() {
            // without these fields, a write of the operator is visible even if it writes the same value as the child
            for field in ["status", "data", "stringData", "binaryData"] {
                foreign.shift_remove(field);
            }
        }
        foreign["metadata"] = json!({
            "name": metadata["name"], "namespace": namespace,
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "somebody-else", "uid": uid, "controller": true}],
        });
        // an object that cannot be created cannot be taken over
        if scene.server.install(&foreign.to_string()).await.is_ok() {
            placed.push(foreign);
        }
    }
    let before = scene.server.objects().await;
    scene.install(scene.sample_text()).await;
    let since = "its children belonged to another object";
    scene.rest_or_retry(since).await?;
    scene.uninstall(scene.sample_text()).await;
    scene.rest_or_retry(since).await?;
    let after = scene.server.objects().await;
    for foreign in &placed {
        let is_it = |it: &&Arc<Value>| {
            ["name", "namespace"]
                .iter()
                .all(|key| it["metadata"][key] == foreign["metadata"][key])
                && it["kind"] == foreign["kind"]
        };
        let [was, is] = [&before, &after].map(|objects| objects.values().find(is_it));
        let what = match (was, is) {
            (Some(was), Some(is)) if version(was) == version(is) => continue,
            (Some(was), Some(is)) if is_of(scene.kinds, foreign) && content(was) == content(is) => {
                continue;
            }
            (_, None) => "was deleted",
            _ => "was changed",
        };
        let (kind, name) = (&foreign["kind"], &foreign["metadata"]["name"]);
        let kind = kind.as_str().unwrap_or_default();
        let name = name.as_str().unwrap_or_default();
        return Err(format!(
            "{kind} {namespace}/{name} {what}, although another object controls it\nhelp: `cx.apply` refuses such a child; your own requests must check the owner references first"
        ));
    }
    Ok(())
}

/// An object without the fields that the controller of its kind writes.
fn content(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["finalizers", "managedFields", "resourceVersion"] {
            metadata.shift_remove(field);
        }
    }
    object
}

/// The suffix of the name of the second object.
const SECOND: &str = "-2";

/// The sample with another name.
fn renamed(sample: &str) -> String {
    let mut objects = documents(sample).unwrap_or_else(|error| panic!("the sample: {error}"));
    for object in &mut objects {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        object["metadata"]["name"] = format!("{name}{SECOND}").into();
    }
    yaml(&objects)
}

fn yaml(objects: &[Value]) -> String {
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    texts.join("\n---\n")
}
