//! The name, the labels and the claims of a StatefulSet's pod.

use serde_json::{Value, json};

use crate::kinds::resource::VOLUME_CLAIMS;
use crate::model::json::entries;
use crate::model::json::list;
use crate::model::metadata::{self, name, text};
use crate::model::{Key, Result};
use crate::workload::actor::CONTROLLERS;
use crate::workload::field::reference;
use crate::workload::history::REVISION;
use crate::workload::{Controllers, template};

/// The ordinal in the name of a pod, if it belongs to the set with this name.
pub(super) fn ordinal(set: &str, pod: &Value) -> Option<i64> {
    let number = name(pod).strip_prefix(set)?.strip_prefix('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| is_number)
}

/// The pod with this ordinal.
pub(super) fn pod(set: &Value, number: i64, revision: &str) -> Value {
    let mut pod = template::pod(&set["spec"]["template"], set);
    let name = format!("{}-{number}", name(set));
    metadata::set(&mut pod, "name", name.as_str());
    let labels = &mut pod["metadata"]["labels"];
    labels["statefulset.kubernetes.io/pod-name"] = name.as_str().into();
    labels["apps.kubernetes.io/pod-index"] = number.to_string().into();
    labels[REVISION] = revision.into();
    let spec = &mut pod["spec"];
    spec["hostname"] = name.as_str().into();
    let service = &set["spec"]["serviceName"];
    if service.as_str().is_some_and(|service| !service.is_empty()) {
        spec["subdomain"] = service.clone();
    }
    let templates = list(&set["spec"], "volumeClaimTemplates");
    if !templates.is_empty() {
        let mut volumes: Vec<Value> = templates
            .iter()
            .map(|claim| {
                let name = claim["metadata"]["name"].clone();
                let source = json!({"claimName": claim_name(set, claim, number)});
                json!({"name": name, "persistentVolumeClaim": source})
            })
            .collect();
        let own = list(spec, "volumes").iter();
        let is_claimed = |volume: &Value| {
            templates
                .iter()
                .any(|claim| claim["metadata"]["name"] == volume["name"])
        };
        volumes.extend(
            own.filter(|volume| !is_claimed(volume))
                .cloned()
                .collect::<Vec<_>>(),
        );
        spec["volumes"] = volumes.into();
    }
    pod
}

fn claim_name(set: &Value, claim: &Value, number: i64) -> String {
    format!("{}-{}-{number}", name(claim), name(set))
}

impl Controllers<'_> {
    /// Creates the missing claims of a pod.
    pub(super) fn create_claims(&mut self, set: &Value, pod: &Value, number: i64) -> Result<()> {
        for template in list(&set["spec"], "volumeClaimTemplates") {
            let name = claim_name(set, template, number);
            let key = claim_key(pod, &name);
            if self.state.store.find(&key).is_some() {
                continue;
            }
            let mut claim = template.clone();
            let mut labels = claim["metadata"]["labels"].take();
            for (label, value) in entries(&set["spec"]["selector"]["matchLabels"]) {
                labels[label.as_str()] = value.clone();
            }
            claim["apiVersion"] = "v1".into();
            claim["kind"] = "PersistentVolumeClaim".into();
            metadata::set(&mut claim, "name", name);
            metadata::set(&mut claim, "namespace", text(set, "namespace"));
            metadata::set(&mut claim, "labels", labels);
            let policy = &set["spec"]["persistentVolumeClaimRetentionPolicy"];
            if policy["whenDeleted"] == "Delete" {
                metadata::set(&mut claim, "ownerReferences", json!([reference(set)]));
            }
            self.make(CONTROLLERS, claim)?;
        }
        Ok(())
    }

    /// Makes a pod that is scaled down the owner of its claims, if the set's retention policy requires it.
    pub(super) fn release_claims(&mut self, set: &Value, pod: &Value, number: i64) {
        let policy = &set["spec"]["persistentVolumeClaimRetentionPolicy"];
        if policy["whenScaled"] != "Delete" {
            return;
        }
        for template in list(&set["spec"], "volumeClaimTemplates") {
            let key = claim_key(pod, &claim_name(set, template, number));
            let Some(claim) = self.state.store.find(&key) else {
                continue;
            };
            let mut claim = Value::clone(&claim);
            let owner = json!([reference(pod)]);
            if claim["metadata"]["ownerReferences"] != owner {
                metadata::set(&mut claim, "ownerReferences", owner);
                // If the claim no longer exists, there is nothing to do.
                let _kept = self.write(CONTROLLERS, &claim);
            }
        }
    }
}

fn claim_key(pod: &Value, name: &str) -> Key {
    Key::new(VOLUME_CLAIMS, text(pod, "namespace"), name)
}
