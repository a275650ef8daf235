//! The node: created if there is none. A pod is assigned to the first node with the labels that it selects.

use serde_json::{Value, json};

use super::status::{ADDRESS, scheduled};
use crate::kinds::resource::{NODES, PODS};
use crate::model::condition::condition;
use crate::model::metadata::{is_deleting, name, now};
use crate::workload::actor::{CONTROLLERS, KUBELET, key};
use crate::workload::controllers::Controllers;

const NAME: &str = "node";

impl Controllers<'_> {
    pub(in crate::workload) fn create_node(&mut self) {
        if self.state.store.of_kind(NODES, "").next().is_some() {
            return;
        }
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": NAME,
                "labels": {
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/hostname": NAME,
                    "kubernetes.io/os": "linux",
                },
            },
            "spec": {"podCIDR": "10.244.0.0/16", "podCIDRs": ["10.244.0.0/16"]},
        });
        let size = json!({"cpu": "64", "memory": "256Gi", "pods": "10000"});
        let mut status = json!({
            "addresses": [
                {"type": "InternalIP", "address": ADDRESS},
                {"type": "Hostname", "address": NAME},
            ],
            "allocatable": size,
            "capacity": size,
            "conditions": [{
                "type": "Ready",
                "status": "True",
                "lastHeartbeatTime": now(),
                "lastTransitionTime": now(),
                "reason": "KubeletReady",
                "message": "kubelet is posting ready status",
            }],
        });
        // this cannot fail: there is no other node, and nobody else writes it
        let made = self.make(KUBELET, node).and_then(|mut made| {
            // removes the taint of a new node, which is about to be ready
            made["spec"]["taints"] = json!([]);
            self.write(CONTROLLERS, &made)
        });
        if let Ok(made) = made {
            status["daemonEndpoints"] = made["status"]["daemonEndpoints"].clone();
            status["nodeInfo"] = made["status"]["nodeInfo"].clone();
            status["nodeInfo"]["architecture"] = "amd64".into();
            status["nodeInfo"]["operatingSystem"] = "linux".into();
            let _reported = self.write_status(KUBELET, &made, status);
        }
    }

    /// The node for a pod, or the reason why there is none.
    pub(super) fn find_node(&self, pod: &Value) -> Result<String, String> {
        let nodes = self.state.store.of_kind(NODES, "");
        let nodes: Vec<&Value> = nodes.map(|(_, node)| &**node).collect();
        if let Some(why) = self.unclaimed(pod) {
            return Err(format!("0/{} nodes are available: {why}.", nodes.len()));
        }
        nodes.iter().find(|node| fits(node, pod)).map(|node| name(node).to_owned()).ok_or_else(|| {
            let count = nodes.len();
            format!("0/{count} nodes are available: {count} node(s) didn't match Pod's node affinity/selector.")
        })
    }

    /// Assigns a pod to a node, as the scheduler does by `pods/binding`.
    pub(super) fn bind(&mut self, pod: &Value, node: &str) -> Value {
        let mut bound = pod.clone();
        bound["spec"]["nodeName"] = node.into();
        bound["status"] = scheduled(pod);
        let stored = self.state.put(key(PODS, pod), bound);
        Value::clone(&stored)
    }

    pub(super) fn next_address(&mut self) -> String {
        self.memory.addresses += 1;
        // on a real node, the first address is that of the bridge
        let [_, _, c, d] = (self.memory.addresses + 1).to_be_bytes();
        format!("10.244.{c}.{d}")
    }
}

/// Whether a pod may run on a node.
pub(in crate::workload) fn fits(node: &Value, pod: &Value) -> bool {
    let wanted = pod["spec"]["nodeSelector"].as_object();
    let labels = &node["metadata"]["labels"];
    let is_ready = condition(node, "Ready").is_none_or(|ready| ready["status"] == "True");
    let mut wanted = wanted.into_iter().flatten();
    is_ready
        && !is_deleting(node)
        && (node["spec"]["unschedulable"] != true || target(pod).is_some())
        && wanted.all(|(name, value)| labels[name.as_str()] == *value)
        && target(pod).is_none_or(|wanted| wanted == name(node))
}

/// The node of a pod, or the node for which a DaemonSet created it.
pub(in crate::workload) fn target(pod: &Value) -> Option<&str> {
    const FIELDS: &str = "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";
    let spec = &pod["spec"];
    let wanted = || spec.pointer(FIELDS)?.as_str();
    spec["nodeName"].as_str().or_else(wanted)
}
