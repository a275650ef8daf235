//! PersistentVolumeClaims: each is bound to a volume when a pod uses it, and can be deleted once no pod uses it.

use serde_json::{Value, json};

use super::actor::CONTROLLERS;
use super::controllers::Controllers;
use super::field::is_over;
use crate::finalize::protection::{self, unprotect};
use crate::kinds::resource::VOLUMES;
use crate::model::metadata::{is_deleting, text};
use crate::model::{Key, Result};

impl Controllers<'_> {
    /// Binds a claim that a pod uses, or releases one that is being deleted.
    pub(super) fn sync_claim(&mut self, key: &Key) {
        let Some(claim) = self.state.store.find(key) else {
            self.free_volumes(key);
            return;
        };
        if is_deleting(&claim) {
            unprotect(self.state, key);
            return;
        }
        let is_used = protection::users(&self.state.store, key).any(|pod| !is_over(pod));
        if is_used && self.memory.settings.has_node && claim["status"]["phase"] == "Pending" {
            // if this fails, the pod starts nevertheless: it does not wait for the volume
            let _bound = self.bind_claim(&claim);
        }
    }

    /// Removes the volumes that were created for a deleted claim.
    fn free_volumes(&mut self, claim: &Key) {
        let is_of = |volume: &Value| {
            let claimed = &volume["spec"]["claimRef"];
            claimed["namespace"] == *claim.namespace
                && claimed["name"] == *claim.name
                && volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
        };
        let volumes = self.state.store.of_kind(VOLUMES, "");
        let volumes: Vec<Key> = volumes
            .filter(|(_, volume)| is_of(volume))
            .map(|(key, _)| key.clone())
            .collect();
        for volume in volumes {
            self.state.remove(&volume);
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

    /// Creates a volume for a claim, as a provisioner does.
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
