//! Nodes.

use serde_json::{Value, json};

use super::resource::{DAEMON_SETS, NODES, PODS};
use super::strategy::{Enqueue, Strategy};
use super::value::set_if_null;

pub(crate) const NODE: Strategy = Strategy {
    set_defaults,
    admit,
    // a kubelet creates its Node together with the status
    keeps_initial_status: true,
    selectable_fields: Some(&[("spec.unschedulable", "false")]),
    enqueues: &[Enqueue::All(PODS), Enqueue::All(DAEMON_SETS)],
    cells: cells!(cluster::node),
    ..Strategy::of(NODES)
};

/// Sets fields of a node that follow from others.
fn set_defaults(object: &mut Value) {
    let spec = &mut object["spec"];
    match (spec["podCIDR"].as_str(), spec["podCIDRs"][0].as_str()) {
        (None | Some(""), Some(first)) => spec["podCIDR"] = first.to_owned().into(),
        (Some(range), first) if !range.is_empty() && first != Some(range) => {
            spec["podCIDRs"] = json!([range]);
        }
        _ => {}
    }
    let status = &mut object["status"];
    let capacity = status["capacity"].clone();
    if !capacity.is_null() {
        set_if_null(&mut status["allocatable"], capacity);
    }
}

/// Adds the taint of a new node, which a controller removes when the node is ready.
fn admit(object: &mut Value) {
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let taints = &mut object["spec"]["taints"];
    set_if_null(taints, json!([]));
    let is_it = |known: &Value| known["key"] == taint["key"] && known["effect"] == taint["effect"];
    if let Some(taints) = taints.as_array_mut()
        && !taints.iter().any(is_it)
    {
        taints.push(taint);
    }
}
