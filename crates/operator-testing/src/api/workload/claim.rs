//! Claims of volumes: each gets a volume when a pod wants it, and goes when no pod has it any more.

use serde_json::{Value, json};

use super::super::State;
use super::super::gc::{Actor, unfinalize};
use super::super::metadata::{finalizers, is_deleting, text};
use super::super::status::Result;
use super::super::store::Key;
use super::actor::CONTROLLERS;
use super::field::{is_over, items};

const PROTECTION: &str = "kubernetes.io/pvc-protection";
const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";

impl State {
    pub(super) fn sync_claim(&mut self, key: &Key) {
        let Some(claim) = self.store.find(key) else {
            self.free_volumes(key);
            return;
        };
        let pods = self.store.of_kind("", "pods", &key.namespace);
        let mut users = pods.map(|(_, pod)| pod).filter(|pod| !is_over(pod));
        let is_used = users.any(|pod| claims(pod).any(|name| name == key.name));
        drop(users);
        if is_deleting(&claim) {
            if !is_used && finalizers(&claim).contains(&PROTECTION) {
                self.edit(key, Actor::Controllers, |claim| {
                    unfinalize(claim, PROTECTION)
                });
            }
            return;
        }
        let has_node = self.workloads.as_ref();
        let has_node = has_node.is_some_and(|workloads| workloads.settings.has_node);
        if is_used && has_node && claim["status"]["phase"] == "Pending" {
            // Without a volume the pod waits no longer than any other.
            let _bound = self.bind_claim(&claim);
        }
    }

    /// Lets go of a volume that is being deleted and that no claim has.
    pub(super) fn sync_volume(&mut self, key: &Key) {
        let Some(volume) = self.store.find(key) else {
            return;
        };
        let is_used = volume["status"]["phase"] == "Bound";
        if is_deleting(&volume) && !is_used && finalizers(&volume).contains(&VOLUME_PROTECTION) {
            self.edit(key, Actor::Controllers, |volume| {
                unfinalize(volume, VOLUME_PROTECTION)
            });
        }
    }

    /// Removes the volumes that were made for a claim which is gone.
    fn free_volumes(&mut self, claim: &Key) {
        let is_of = |volume: &Value| {
            let claimed = &volume["spec"]["claimRef"];
            claimed["namespace"] == *claim.namespace
                && claimed["name"] == *claim.name
                && volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
        };
        let volumes = self.store.of_kind("", "persistentvolumes", "");
        let volumes = volumes.filter(|(_, volume)| is_of(volume));
        let volumes: Vec<Key> = volumes.map(|(key, _)| key.clone()).collect();
        for volume in volumes {
            self.remove(&volume);
        }
    }

    fn bind_claim(&mut self, claim: &Value) -> Result<()> {
        let spec = &claim["spec"];
        let volume = match spec["volumeName"].as_str() {
            Some(volume) => volume.to_owned(),
            None => self.make_volume(claim)?,
        };
        let mut bound = claim.clone();
        bound["spec"]["volumeName"] = volume.into();
        let bound = self.write(CONTROLLERS, &bound)?;
        let status = json!({
            "phase": "Bound",
            "accessModes": spec["accessModes"],
            "capacity": spec["resources"]["requests"],
        });
        self.write_status(CONTROLLERS, &bound, status)?;
        Ok(())
    }

    fn make_volume(&mut self, claim: &Value) -> Result<String> {
        let name = format!("pvc-{}", text(claim, "uid"));
        let spec = &claim["spec"];
        let volume = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "accessModes": spec["accessModes"],
                "capacity": spec["resources"]["requests"],
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "name": claim["metadata"]["name"],
                    "namespace": claim["metadata"]["namespace"],
                    "uid": claim["metadata"]["uid"],
                },
                "hostPath": {"path": format!("/volumes/{name}")},
                "persistentVolumeReclaimPolicy": "Delete",
                "storageClassName": spec["storageClassName"].as_str().unwrap_or_default(),
                "volumeMode": spec["volumeMode"],
            },
        });
        let made = self.make(CONTROLLERS, volume)?;
        self.write_status(CONTROLLERS, &made, json!({"phase": "Bound"}))?;
        Ok(name)
    }
}

/// The claims that a pod wants.
pub(super) fn claims(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = items(&pod["spec"], "volumes").iter();
    volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str())
}
