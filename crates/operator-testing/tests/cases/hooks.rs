//! The webhooks of a case: their configurations, and the CRD whose versions they convert.
//!
//! `mutating` and `validating` have webhooks by the names of their configurations. A webhook has a name, `hook: first`, by which its
//! `answers` are found, and the fields of its configuration. Missing fields get defaults: it is called for all operations on widgets,
//! only in the namespace of the case. A `crd` names a file of `converted/`, a CRD for this case.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use operator_testing::Server;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::case::{Step, fill};

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Hooks {
    crd: Option<String>,
    #[serde(default)]
    mutating: BTreeMap<String, Vec<Map<String, Value>>>,
    #[serde(default)]
    validating: BTreeMap<String, Vec<Map<String, Value>>>,
    /// What they answer from the start; see [`crate::service`].
    #[serde(default)]
    pub answers: BTreeMap<String, Value>,
}

impl Hooks {
    pub fn has_any(&self) -> bool {
        self.crd.is_some() || !self.mutating.is_empty() || !self.validating.is_empty()
    }

    /// Creates what the case declares. A real server gets some time to notice it.
    pub async fn install(
        &self,
        server: &Server,
        folder: &Path,
        values: &BTreeMap<String, String>,
    ) -> Result<(), String> {
        let mut objects = Vec::new();
        if let Some(crd) = &self.crd {
            let file = folder.join(format!("converted/{crd}.yaml"));
            objects.push(std::fs::read_to_string(file).map_err(|error| error.to_string())?);
        }
        for (kind, configurations) in [
            ("Mutating", &self.mutating),
            ("Validating", &self.validating),
        ] {
            for (name, hooks) in configurations {
                let hooks: Vec<Value> = hooks.iter().map(whole).collect();
                let configuration = json!({
                    "apiVersion": "admissionregistration.k8s.io/v1",
                    "kind": format!("{kind}WebhookConfiguration"),
                    "metadata": {"name": format!("${{ns}}-{name}")},
                    "webhooks": hooks,
                });
                objects.push(configuration.to_string());
            }
        }
        for object in &objects {
            let installed = server.install(&fill(object, values)).await;
            installed.map_err(|error| error.to_string())?;
        }
        if server.is_real() && !objects.is_empty() {
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
        Ok(())
    }

    /// The names of the validating webhooks, which are called concurrently.
    pub fn validating(&self) -> Vec<String> {
        let hooks = self.validating.values().flatten();
        hooks.map(|hook| name(hook).to_owned()).collect()
    }
}

impl Step {
    /// The calls of webhooks as they are recorded: a summary or the whole review of each. Concurrent calls are sorted.
    pub fn asked(&self, mut asked: Vec<(String, Value)>, validating: &[String]) -> Vec<Value> {
        let is_validating = |(hook, _): &(String, Value)| validating.contains(hook);
        for calls in asked.chunk_by_mut(|one, other| is_validating(one) && is_validating(other)) {
            calls.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
        let about = |(hook, request): (String, Value)| {
            if self.reviews {
                return json!({hook: request});
            }
            let text = |field: &str| request[field].as_str().unwrap_or_default();
            let kind = &request["kind"];
            let kind = format!("{}/{}", kind["version"], kind["kind"]).replace('"', "");
            let parts = [
                hook.as_str(),
                text("operation"),
                &kind,
                text("subResource"),
                text("name"),
            ];
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join(" ").into()
        };
        asked.into_iter().map(about).collect()
    }
}

fn name(hook: &Map<String, Value>) -> &str {
    hook["hook"].as_str().unwrap_or_default()
}

/// The configuration of a webhook, with defaults.
fn whole(hook: &Map<String, Value>) -> Value {
    let name = name(hook);
    let mut whole = json!({
        "name": format!("{name}.example.com"),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": format!("${{hooks}}/{name}"), "caBundle": "${bundle}"},
        "rules": [{}],
        "namespaceSelector": {},
    });
    for (field, value) in hook.iter().filter(|(field, _)| *field != "hook") {
        whole[field] = value.clone();
    }
    whole["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] = "${ns}".into();
    for rule in whole["rules"].as_array_mut().into_iter().flatten() {
        for (field, value) in [
            ("operations", "*"),
            ("apiGroups", "cases.example.com"),
            ("apiVersions", "*"),
            ("resources", "widgets"),
        ] {
            if rule.get(field).is_none() {
                rule[field] = json!([value]);
            }
        }
    }
    whole
}
