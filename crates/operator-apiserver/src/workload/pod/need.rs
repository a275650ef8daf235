//! The ConfigMaps, Secrets and claims that a pod needs to start, and the message of the kubelet or the scheduler about a missing one.
//! Optional references are ignored.

use serde_json::Value;

use super::step::MissingReference;
use crate::kinds::pod::claims;
use crate::kinds::resource::{CONFIG_MAPS, Resource, SECRETS, VOLUME_CLAIMS};
use crate::model::Key;
use crate::model::json::list;
use crate::model::metadata::{is_deleting, text};
use crate::workload::controllers::Controllers;

/// A reference to a ConfigMap or a Secret.
struct Reference<'a> {
    resource: Resource,
    name: &'a str,
    keys: Vec<&'a str>,
    is_optional: bool,
}

impl<'a> Reference<'a> {
    fn new(resource: Resource, source: &'a Value, name: &str) -> Option<Self> {
        Some(Self {
            resource,
            name: source[name].as_str()?,
            keys: Vec::new(),
            is_optional: source["optional"] == true,
        })
    }

    fn with_key(mut self, source: &'a Value) -> Self {
        self.keys.extend(source["key"].as_str());
        self
    }

    fn with_items(mut self, source: &'a Value) -> Self {
        let keys = list(source, "items").iter();
        self.keys
            .extend(keys.filter_map(|item| item["key"].as_str()));
        self
    }
}

/// The sources of a volume.
fn of_volume(volume: &Value) -> Vec<Reference<'_>> {
    let secret = |source, name| Reference::new(SECRETS, source, name);
    let config_map = |source| Reference::new(CONFIG_MAPS, source, "name");
    let own = [
        secret(&volume["secret"], "secretName").map(|it| it.with_items(&volume["secret"])),
        config_map(&volume["configMap"]).map(|it| it.with_items(&volume["configMap"])),
    ];
    let projected = list(&volume["projected"], "sources")
        .iter()
        .flat_map(|source| {
            [
                secret(&source["secret"], "name").map(|it| it.with_items(&source["secret"])),
                config_map(&source["configMap"]).map(|it| it.with_items(&source["configMap"])),
            ]
        });
    own.into_iter().chain(projected).flatten().collect()
}

/// The sources of a container's variables, in the order in which a kubelet reads them.
fn of_container(container: &Value) -> Vec<Reference<'_>> {
    let all = list(container, "envFrom").iter().flat_map(|from| {
        [
            Reference::new(CONFIG_MAPS, &from["configMapRef"], "name"),
            Reference::new(SECRETS, &from["secretRef"], "name"),
        ]
    });
    let single = list(container, "env").iter().flat_map(|variable| {
        let from = &variable["valueFrom"];
        let (config_map, secret) = (&from["configMapKeyRef"], &from["secretKeyRef"]);
        [
            Reference::new(CONFIG_MAPS, config_map, "name").map(|it| it.with_key(config_map)),
            Reference::new(SECRETS, secret, "name").map(|it| it.with_key(secret)),
        ]
    });
    all.chain(single).flatten().collect()
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    ["initContainers", "containers"]
        .into_iter()
        .flat_map(|field| list(&pod["spec"], field))
}

/// Whether a pod waits for an object, or for a key in it.
pub(in crate::workload) fn waits_for(pod: &Value, object: &Key) -> bool {
    if pod["status"]["phase"] != "Pending" {
        return false;
    }
    let mut references = list(&pod["spec"], "volumes")
        .iter()
        .flat_map(of_volume)
        .chain(containers(pod).flat_map(of_container));
    references.any(|it| object.is(it.resource) && it.name == object.name)
        || object.is(VOLUME_CLAIMS) && claims(pod).any(|claim| claim == object.name)
}

impl Controllers<'_> {
    /// The missing objects that keep a pod on a node from starting.
    pub(super) fn missing_reference(&self, pod: &Value) -> Option<MissingReference> {
        for volume in list(&pod["spec"], "volumes") {
            let why = |it: &Reference<'_>| {
                self.missing(pod, it, |reference, key| {
                    let kind = match reference.resource {
                        SECRETS => "secret",
                        _ => "config",
                    };
                    format!("references non-existent {kind} key: {key}")
                })
            };
            if let Some(why) = of_volume(volume).iter().find_map(why) {
                let name = volume["name"].as_str().unwrap_or_default().to_owned();
                return Some(MissingReference::Volume { name, why });
            }
        }
        let lacking = containers(pod).filter_map(|container| {
            let why = |it: &Reference<'_>| {
                self.missing(pod, it, |reference, key| {
                    let kind = match reference.resource {
                        SECRETS => "Secret",
                        _ => "ConfigMap",
                    };
                    let namespace = text(pod, "namespace");
                    format!(
                        "couldn't find key {key} in {kind} {namespace}/{}",
                        reference.name
                    )
                })
            };
            let why = of_container(container).iter().find_map(why)?;
            let name = container["name"].as_str().unwrap_or_default();
            Some((name.to_owned(), why))
        });
        let lacking: Vec<_> = lacking.collect();
        (!lacking.is_empty()).then_some(MissingReference::Variables(lacking))
    }

    /// The message about a reference to an object or a key that does not exist.
    fn missing(
        &self,
        pod: &Value,
        reference: &Reference<'_>,
        without_key: impl Fn(&Reference<'_>, &str) -> String,
    ) -> Option<String> {
        if reference.is_optional {
            return None;
        }
        let key = Key::new(reference.resource, text(pod, "namespace"), reference.name);
        let Some(found) = self.state.store.find(&key) else {
            let kind = reference.resource.1.trim_end_matches('s');
            return Some(format!("{kind} {:?} not found", reference.name));
        };
        let has = |key: &&&str| {
            ["data", "binaryData"]
                .iter()
                .any(|at| !found[*at][**key].is_null())
        };
        reference
            .keys
            .iter()
            .find(|key| !has(key))
            .map(|key| without_key(reference, key))
    }

    /// The reason why the scheduler does not assign a pod, because of its claims.
    pub(super) fn unclaimed(&self, pod: &Value) -> Option<String> {
        claims(pod).find_map(|name| {
            let key = Key::new(VOLUME_CLAIMS, text(pod, "namespace"), name);
            match self.state.store.find(&key) {
                None => Some(format!("persistentvolumeclaim {name:?} not found")),
                Some(claim) if is_deleting(&claim) => {
                    Some(format!("persistentvolumeclaim {name:?} is being deleted"))
                }
                Some(_) => None,
            }
        })
    }
}
