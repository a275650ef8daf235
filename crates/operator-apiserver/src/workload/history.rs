//! The former templates of a StatefulSet or DaemonSet, each in a ControllerRevision.

use serde_json::{Value, json};

use super::actor::CONTROLLERS;
use super::child::copies;
use super::field::reference;
use super::{Controllers, template};
use crate::kinds::resource::CONTROLLER_REVISIONS;
use crate::model::Result;
use crate::model::json::number;
use crate::model::metadata::{name, text};

/// The label of a pod with the revision of its template.
pub(super) const REVISION: &str = "controller-revision-hash";

impl Controllers<'_> {
    /// The revisions of a workload, newest last. The revision of its template is created if it is new.
    pub(super) fn revise(&mut self, owner: &Value) -> Result<Vec<Value>> {
        let mut revisions = copies(self.controlled(owner, CONTROLLER_REVISIONS));
        revisions.sort_by_cached_key(|revision| number(&revision["revision"]));
        let data = data(owner);
        let latest = revisions.last().map_or(0, |last| number(&last["revision"]));
        let known = revisions
            .iter()
            .rposition(|revision| revision["data"] == data);
        match known {
            Some(at) if at + 1 == revisions.len() => {}
            Some(at) => {
                let mut again = revisions.remove(at);
                again["revision"] = (latest + 1).into();
                revisions.push(self.write(CONTROLLERS, &again)?);
            }
            None => {
                let made = revision(owner, &data, latest + 1);
                revisions.push(self.make(CONTROLLERS, made)?);
            }
        }
        Ok(revisions)
    }

    /// Deletes the oldest unused revisions beyond the limit.
    pub(super) fn forget_revisions(&mut self, owner: &Value, revisions: &[Value], live: &[&str]) {
        let limit = number(&owner["spec"]["revisionHistoryLimit"]);
        let dead: Vec<&Value> = revisions
            .iter()
            .filter(|revision| !live.contains(&name(revision)) && !live.contains(&hash(revision)))
            .collect();
        let surplus = dead
            .len()
            .saturating_sub(usize::try_from(limit).unwrap_or_default());
        for revision in dead.into_iter().take(surplus) {
            // If the object no longer exists, there is nothing to do.
            let _gone = self.discard(CONTROLLERS, revision, &json!({}));
        }
    }
}

/// The stored form of a workload's template.
fn data(owner: &Value) -> Value {
    let mut template = owner["spec"]["template"].clone();
    template["$patch"] = "replace".into();
    json!({"spec": {"template": template}})
}

fn revision(owner: &Value, data: &Value, number: i64) -> Value {
    let is_daemon = owner["kind"] == "DaemonSet";
    let hash = template::hash(data, 0);
    let label = if is_daemon {
        REVISION
    } else {
        "controller.kubernetes.io/hash"
    };
    let mut labels = owner["spec"]["template"]["metadata"]["labels"].clone();
    labels[label] = hash.as_str().into();
    let stem: String = name(owner).chars().take(223).collect();
    let mut metadata = json!({
        "name": format!("{stem}-{hash}"),
        "namespace": text(owner, "namespace"),
        "labels": labels,
        "ownerReferences": [reference(owner)],
    });
    let annotations = &owner["metadata"]["annotations"];
    if annotations.is_object() {
        metadata["annotations"] = annotations.clone();
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "data": data,
        "revision": number,
    })
}

/// The hash of a DaemonSet's revision, which its pods have as a label.
pub(super) fn hash(revision: &Value) -> &str {
    let labels = &revision["metadata"]["labels"];
    labels[REVISION].as_str().unwrap_or_default()
}

/// The workload with the template of a revision.
pub(super) fn restored(owner: &Value, revision: &Value) -> Value {
    let mut template = revision["data"]["spec"]["template"].clone();
    if let Some(template) = template.as_object_mut() {
        template.shift_remove("$patch");
    }
    let mut owner = owner.clone();
    owner["spec"]["template"] = template;
    owner
}

/// The revision of a pod.
pub(super) fn revision_of(pod: &Value) -> &str {
    let labels = &pod["metadata"]["labels"];
    labels[REVISION].as_str().unwrap_or_default()
}
