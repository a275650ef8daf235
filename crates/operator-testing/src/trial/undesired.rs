//! Creates children that an object should not have, and checks that an operator that prunes deletes them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Trial;
use crate::Server;

/// The suffix of the names of the copies.
const SUFFIX: &str = "-undesired";

impl Trial {
    /// Sets the kinds (for example `Memcached.cache.example.com`) whose controllers delete children that are no longer desired, as
    /// controllers of the scaffold `declarative` do. The tests then create copies of the children under other names.
    #[must_use]
    pub fn prunes(mut self, kinds: &[&str]) -> Self {
        self.pruned
            .extend(kinds.iter().map(|name| parse_kind(name)));
        self
    }

    /// Creates copies of the children that an object of a pruned kind controls, as if the controller had desired them before. A child that
    /// cannot be copied is skipped, with a message.
    pub(super) async fn place_undesired(
        &self,
        server: &Server,
        children: &[Arc<Value>],
    ) -> Vec<Value> {
        let mut placed = vec![];
        for child in children {
            let is_pruned = |(group, kind): &(String, String)| {
                controller(child).is_some_and(|owner| owner == (group, kind))
            };
            let is_named = child["metadata"]["generateName"].is_null();
            if !is_named || !self.pruned.iter().any(is_pruned) {
                continue;
            }
            let copy = copy(child);
            match server.install(&copy.to_string()).await {
                Ok(()) => placed.push(copy),
                Err(error) => println!(
                    "not tested: whether {} is deleted if it is not desired, because a copy cannot be created: {error}",
                    named(child)
                ),
            }
        }
        placed
    }

    /// Checks that the operator has deleted the copies.
    pub(super) async fn check_pruned(
        &self,
        server: &Server,
        placed: &[Value],
    ) -> Result<(), String> {
        let objects = server.objects().await;
        let remains = |copy: &&Value| {
            objects.iter().any(|(path, object)| {
                let is_same = |key: &str| object["metadata"][key] == copy["metadata"][key];
                object["kind"] == copy["kind"]
                    && object["apiVersion"] == copy["apiVersion"]
                    && is_same("name")
                    && (is_same("namespace") || copy["metadata"]["namespace"].is_null())
                    && !self.is_kept(path)
            })
        };
        let remaining: Vec<String> = placed.iter().filter(remains).map(named).collect();
        if remaining.is_empty() {
            Ok(())
        } else {
            Err(format!(
                "these objects remain, although the sample controls them and does not desire them:\n  {}\nhelp: a declarative controller (`Controllers::add_declarative`) deletes them, unless `desired` returns children only because they are in `observed`; if objects of this kind should remain, add the kind to `keeps` in operator.toml (`Trial::keeps` in your own trial)",
                remaining.join("\n  ")
            ))
        }
    }
}

/// Reads group and kind from a name such as `Memcached.cache.example.com`.
pub(super) fn parse_kind(name: &str) -> (String, String) {
    let (kind, group) = name.split_once('.').unwrap_or((name, ""));
    (group.to_owned(), kind.to_owned())
}

/// Group and kind of the object's controller.
fn controller(object: &Value) -> Option<(&str, &str)> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    let api_version = owner["apiVersion"].as_str()?;
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    Some((group, owner["kind"].as_str()?))
}

/// A copy of the object under another name, without the fields that the API server has set.
fn copy(child: &Value) -> Value {
    let mut copy = child.clone();
    if let Some(copy) = copy.as_object_mut() {
        copy.shift_remove("status");
    }
    if copy["kind"] == "Service" && copy["apiVersion"] == "v1" {
        forget_addresses(&mut copy["spec"]);
    }
    let metadata = &child["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    let mut kept = json!({ "name": format!("{name}{SUFFIX}") });
    for field in ["namespace", "labels", "annotations", "ownerReferences"] {
        if !metadata[field].is_null() {
            kept[field] = metadata[field].clone();
        }
    }
    copy["metadata"] = kept;
    copy
}

/// Removes addresses and ports, which only one Service can have.
fn forget_addresses(spec: &mut Value) {
    let Some(fields) = spec.as_object_mut() else {
        return;
    };
    if fields.get("clusterIP").is_some_and(|it| it != "None") {
        fields.shift_remove("clusterIP");
        fields.shift_remove("clusterIPs");
    }
    let ports = fields.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        port.shift_remove("nodePort");
    }
}

/// The kind, namespace and name of an object: `ConfigMap team-a/site-config`.
pub(super) fn named(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let (kind, name) = (text(&object["kind"]), text(&metadata["name"]));
    match text(&metadata["namespace"]).as_str() {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_another_name_and_nothing_that_belongs_to_the_original() {
        let owners = json!([{"apiVersion": "x.io/v1", "kind": "Site", "name": "a", "uid": "1", "controller": true}]);
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "a", "namespace": "b", "uid": "2", "labels": {"c": "d"}, "ownerReferences": owners},
            "spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 80, "nodePort": 30_000}]},
            "status": {"loadBalancer": {}},
        });
        assert_eq!(controller(&service), Some(("x.io", "Site")));
        assert_eq!(named(&service), "Service b/a");
        assert_eq!(
            copy(&service),
            json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": {"name": "a-undesired", "namespace": "b", "labels": {"c": "d"}, "ownerReferences": owners},
                "spec": {"ports": [{"port": 80}]},
            })
        );
        assert_eq!(controller(&json!({"metadata": {}})), None);
    }
}
