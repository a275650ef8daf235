//! The EndpointSlice and the older Endpoints of a Service, with the pods that it selects.

use serde_json::{Map, Value, json};

use super::actor::{CONTROLLERS, key};
use super::controllers::Controllers;
use super::field::{is_over, is_ready, reference};
use crate::kinds::resource::{ENDPOINT_SLICES, ENDPOINTS, PODS};
use crate::model::json::list;
use crate::model::label::selects;
use crate::model::metadata::{self, is_deleting, name, text};
use crate::model::{Key, Result};

const SERVICE: &str = "kubernetes.io/service-name";
const MANAGER: &str = "endpointslice.kubernetes.io/managed-by";

impl Controllers<'_> {
    pub(super) fn sync_service(&mut self, place: &Key) {
        let Some(service) = self.state.store.find(place) else {
            // the garbage collector removes the slice, which has an owner
            let endpoints = Key::new(ENDPOINTS, &place.namespace, &place.name);
            self.state.remove(&endpoints);
            return;
        };
        let selector = &service["spec"]["selector"];
        let selects_some = selector
            .as_object()
            .is_some_and(|labels| !labels.is_empty());
        if !selects_some || service["spec"]["type"] == "ExternalName" || is_deleting(&service) {
            return;
        }
        let selector = json!({"matchLabels": selector});
        let pods = self.state.store.of_kind(PODS, &place.namespace);
        let pods = pods.map(|(_, pod)| &**pod).filter(|pod| {
            selects(&selector, &pod["metadata"]["labels"])
                && !is_over(pod)
                && pod["status"]["podIP"].is_string()
        });
        let pods: Vec<Value> = pods.cloned().collect();
        // If a write fails, the next change retries it.
        let _slice = self.write_slice(&service, &pods);
        let _endpoints = self.write_endpoints(&service, &pods);
    }

    /// Creates or updates the EndpointSlice of a Service.
    fn write_slice(&mut self, service: &Value, pods: &[Value]) -> Result<()> {
        let endpoints: Value = pods.iter().map(|pod| {
            let (ready, leaving) = (is_ready(pod), is_deleting(pod));
            json!({
                "addresses": [pod["status"]["podIP"]],
                "conditions": {"ready": ready && !leaving, "serving": ready, "terminating": leaving},
                "nodeName": pod["spec"]["nodeName"],
                "targetRef": target(pod),
            })
        }).collect();
        let ports = ports(service, pods);
        let slices = self.controlled(service, ENDPOINT_SLICES);
        let Some(slice) = slices.first() else {
            let mut labels = service["metadata"]["labels"]
                .as_object()
                .cloned()
                .unwrap_or_default();
            labels.insert(SERVICE.into(), name(service).into());
            labels.insert(MANAGER.into(), "endpointslice-controller.k8s.io".into());
            let slice = json!({
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {
                    "generateName": format!("{}-", name(service)),
                    "namespace": text(service, "namespace"),
                    "labels": labels,
                    "ownerReferences": [reference(service)],
                },
                "addressType": "IPv4",
                "endpoints": endpoints,
                "ports": ports,
            });
            return self.make(CONTROLLERS, slice).map(drop);
        };
        let mut changed = Value::clone(slice);
        changed["endpoints"] = endpoints;
        changed["ports"] = ports;
        self.write(CONTROLLERS, &changed).map(drop)
    }

    /// Creates or updates the Endpoints of a Service.
    fn write_endpoints(&mut self, service: &Value, pods: &[Value]) -> Result<()> {
        let addresses = |wanted: bool| -> Vec<Value> {
            pods.iter()
                .filter(|pod| !is_deleting(pod))
                .filter(|pod| is_ready(pod) == wanted)
                .map(|pod| {
                    json!({
                        "ip": pod["status"]["podIP"],
                        "nodeName": pod["spec"]["nodeName"],
                        "targetRef": target(pod),
                    })
                })
                .collect()
        };
        let mut subset = Map::new();
        for (field, wanted) in [("addresses", true), ("notReadyAddresses", false)] {
            let found = addresses(wanted);
            if !found.is_empty() {
                subset.insert(field.into(), found.into());
            }
        }
        let subsets = if subset.is_empty() {
            Value::Null
        } else {
            subset.insert("ports".into(), ports(service, pods));
            json!([subset])
        };
        let place = key(ENDPOINTS, service);
        let known = self.state.store.find(&place);
        let mut endpoints = match &known {
            Some(known) => Value::clone(known),
            None => json!({
                "apiVersion": "v1",
                "kind": "Endpoints",
                "metadata": {"name": name(service), "namespace": text(service, "namespace")},
            }),
        };
        let labels = service["metadata"]["labels"].clone();
        metadata::set(&mut endpoints, "labels", labels);
        endpoints["metadata"]["labels"]["endpoints.kubernetes.io/managed-by"] =
            "endpoint-controller".into();
        endpoints["subsets"] = subsets;
        match known {
            Some(_) => self.write(CONTROLLERS, &endpoints).map(drop),
            None => self.make(CONTROLLERS, endpoints).map(drop),
        }
    }
}

fn target(pod: &Value) -> Value {
    json!({
        "kind": "Pod",
        "name": name(pod),
        "namespace": text(pod, "namespace"),
        "uid": pod["metadata"]["uid"],
    })
}

/// The ports of a Service on its pods, resolving the names of container ports.
fn ports(service: &Value, pods: &[Value]) -> Value {
    let ports = list(&service["spec"], "ports").iter().filter_map(|port| {
        let wanted = &port["targetPort"];
        let number = match wanted.as_str() {
            None => wanted.clone(),
            Some(_) => {
                let found = pods
                    .iter()
                    .flat_map(|pod| list(&pod["spec"], "containers"))
                    .flat_map(|container| list(container, "ports"))
                    .find(|found| found["name"] == *wanted)?;
                found["containerPort"].clone()
            }
        };
        let name = port["name"].as_str().unwrap_or_default();
        Some(json!({"name": name, "port": number, "protocol": port["protocol"]}))
    });
    ports.collect()
}
