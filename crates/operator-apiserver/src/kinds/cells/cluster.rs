//! The rows of nodes and of other cluster-scoped kinds.

use std::collections::BTreeSet;

use serde_json::Value;

use super::core::access_modes;
use super::{age, name};
use crate::model::json::{entries, items};
use crate::model::metadata::is_deleting;

fn or<'a>(value: &'a Value, otherwise: &'a str) -> &'a str {
    value
        .as_str()
        .filter(|text| !text.is_empty())
        .unwrap_or(otherwise)
}

pub(crate) fn node(object: &Value) -> Vec<Value> {
    let (status, info) = (&object["status"], &object["status"]["nodeInfo"]);
    let ready = items(&status["conditions"]).rfind(|it| it["type"] == "Ready");
    let mut state = match ready {
        Some(ready) if ready["status"] == "True" => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if object["spec"]["unschedulable"] == true {
        state += ",SchedulingDisabled";
    }
    let address = |type_: &str| {
        items(&status["addresses"])
            .find(|address| address["type"] == type_)
            .map_or("<none>", |address| or(&address["address"], ""))
    };
    let mut kernel = or(&info["kernelVersion"], "<unknown>").to_owned();
    if let Some(architecture) = info["architecture"].as_str().filter(|it| !it.is_empty()) {
        kernel += &format!(" ({architecture})");
    }
    vec![
        name(object),
        state.into(),
        roles(object).into(),
        age(object),
        or(&info["kubeletVersion"], "").into(),
        address("InternalIP").into(),
        address("ExternalIP").into(),
        or(&info["osImage"], "<unknown>").into(),
        kernel.into(),
        or(&info["containerRuntimeVersion"], "<unknown>").into(),
    ]
}

fn roles(node: &Value) -> String {
    const PREFIX: &str = "node-role.kubernetes.io/";
    let labels = entries(&node["metadata"]["labels"]);
    let roles: BTreeSet<&str> = labels
        .filter_map(|(label, value)| match label.strip_prefix(PREFIX) {
            Some(role) => Some(role),
            None if label == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() {
        "<none>".to_owned()
    } else {
        roles.into_iter().collect::<Vec<_>>().join(",")
    }
}

pub(crate) fn volume(object: &Value) -> Vec<Value> {
    const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
    let (spec, status) = (&object["spec"], &object["status"]);
    let phase = if is_deleting(object) {
        "Terminating"
    } else {
        or(&status["phase"], "")
    };
    let claim = &spec["claimRef"];
    let claim = match claim {
        Value::Null => String::new(),
        claim => format!("{}/{}", or(&claim["namespace"], ""), or(&claim["name"], "")),
    };
    let class = object["metadata"]["annotations"][BETA_CLASS].as_str();
    vec![
        name(object),
        or(&spec["capacity"]["storage"], "0").into(),
        access_modes(&spec["accessModes"]).into(),
        or(&spec["persistentVolumeReclaimPolicy"], "").into(),
        phase.into(),
        claim.into(),
        class.unwrap_or(or(&spec["storageClassName"], "")).into(),
        or(&spec["volumeAttributesClassName"], "<unset>").into(),
        or(&status["reason"], "").into(),
        age(object),
        or(&spec["volumeMode"], "<unset>").into(),
    ]
}

pub(crate) fn priority_class(object: &Value) -> Vec<Value> {
    vec![
        name(object),
        object["value"].as_i64().unwrap_or_default().into(),
        (object["globalDefault"] == true).into(),
        age(object),
        or(&object["preemptionPolicy"], "").into(),
    ]
}
