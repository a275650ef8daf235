//! The form of a case, in YAML.
//!
//! A step is one request: a method with a path, and what is sent. A path like `widgets/a/status` is in the case's namespace, and an object
//! that is created, replaced or applied there gets the `apiVersion` and `kind` that [`KINDS`] has for it, unless it has its own; `${ns}` is
//! the namespace's name. `save` keeps values of the answer, by JSON pointer, for `${name}` in later steps. `eventually` repeats the step
//! until the answer has a code (`404`), has what a pointer points at (`/metadata/uid`, `/spec/a=b`), or has not (`!/metadata/uid`). It
//! waits for the controllers of a real cluster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ask::Answer;

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    get: Option<String>,
    watch: Option<String>,
    post: Option<String>,
    put: Option<String>,
    delete: Option<String>,
    apply: Option<String>,
    merge: Option<String>,
    json: Option<String>,
    strategic: Option<String>,
    /// The body, as YAML.
    send: Option<Value>,
    /// The body, as text.
    pub raw: Option<String>,
    /// Another media type than the method's own.
    pub media: Option<String>,
    pub accept: Option<String>,
    pub agent: Option<String>,
    #[serde(default, rename = "as")]
    pub user: String,
    #[serde(default)]
    save: BTreeMap<String, String>,
    pub eventually: Option<String>,
    /// What the webhooks answer from now on.
    pub answers: Option<BTreeMap<String, Value>>,
    /// Records the whole reviews that webhooks got, and not only a summary.
    #[serde(default)]
    pub reviews: bool,
}

/// The kinds that short paths name.
const KINDS: &[(&str, &str, &str)] = &[
    ("configmaps", "v1", "ConfigMap"),
    ("events", "v1", "Event"),
    ("persistentvolumeclaims", "v1", "PersistentVolumeClaim"),
    ("pods", "v1", "Pod"),
    ("podtemplates", "v1", "PodTemplate"),
    ("secrets", "v1", "Secret"),
    ("serviceaccounts", "v1", "ServiceAccount"),
    ("services", "v1", "Service"),
    ("daemonsets", "apps/v1", "DaemonSet"),
    ("deployments", "apps/v1", "Deployment"),
    ("replicasets", "apps/v1", "ReplicaSet"),
    ("statefulsets", "apps/v1", "StatefulSet"),
    ("cronjobs", "batch/v1", "CronJob"),
    ("jobs", "batch/v1", "Job"),
    ("leases", "coordination.k8s.io/v1", "Lease"),
    ("ingresses", "networking.k8s.io/v1", "Ingress"),
    ("networkpolicies", "networking.k8s.io/v1", "NetworkPolicy"),
    ("poddisruptionbudgets", "policy/v1", "PodDisruptionBudget"),
    ("roles", "rbac.authorization.k8s.io/v1", "Role"),
    (
        "rolebindings",
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
    ),
    ("widgets", "cases.example.com/v1", "Widget"),
    ("gadgets", "cases.example.com/v1", "Gadget"),
    // The kinds of `converted/`, each in the group of its case.
    ("servers.v1", "${ns}.example.com/v1", "Server"),
    ("servers.v2", "${ns}.example.com/v2", "Server"),
    ("zones.v1", "${ns}.example.com/v1", "Zone"),
];

impl Step {
    /// The key of the request in the step, its HTTP method, its path as written, and the media type of the method.
    fn request(&self) -> (&'static str, &'static str, &str, &'static str) {
        let methods = [
            ("get", "GET", &self.get, ""),
            ("watch", "GET", &self.watch, ""),
            ("post", "POST", &self.post, "application/json"),
            ("put", "PUT", &self.put, "application/json"),
            ("delete", "DELETE", &self.delete, "application/json"),
            (
                "apply",
                "PATCH",
                &self.apply,
                "application/apply-patch+yaml",
            ),
            (
                "merge",
                "PATCH",
                &self.merge,
                "application/merge-patch+json",
            ),
            ("json", "PATCH", &self.json, "application/json-patch+json"),
            (
                "strategic",
                "PATCH",
                &self.strategic,
                "application/strategic-merge-patch+json",
            ),
        ];
        let mut given = methods
            .into_iter()
            .filter_map(|(verb, method, path, media)| {
                Some((verb, method, path.as_deref()?, media))
            });
        given.next().expect("a step has a method")
    }

    pub fn verb(&self) -> &'static str {
        self.request().0
    }

    pub fn is_watch(&self) -> bool {
        self.watch.is_some()
    }

    pub fn path(&self) -> &str {
        self.request().2
    }

    /// The method, the whole path, the media type and the body.
    pub fn filled(
        &self,
        values: &BTreeMap<String, String>,
    ) -> (&'static str, String, &str, String) {
        let (_, method, short, media) = self.request();
        let plural = short.split(['/', '?']).next().unwrap_or_default();
        let kind = KINDS.iter().find(|(known, _, _)| *known == plural);
        let kept = short.strip_prefix(plural).unwrap_or_default();
        let short = match plural.split_once('.') {
            Some((plural, _)) if kind.is_some() => format!("{plural}{kept}"),
            _ => short.to_owned(),
        };
        let path = match kind {
            None => short,
            Some((_, group, "Zone")) => format!("/apis/{group}/{short}"),
            Some((_, "v1", _)) => format!("/api/v1/namespaces/${{ns}}/{short}"),
            Some((_, group, _)) => format!("/apis/{group}/namespaces/${{ns}}/{short}"),
        };
        let mut sent = self.send.clone();
        let names_kind = self.post.is_some() || self.put.is_some() || self.apply.is_some();
        if let (Some((_, api_version, kind)), Some(Value::Object(fields)), true) =
            (kind, &mut sent, names_kind)
            && !fields.contains_key("apiVersion")
            && !fields.contains_key("kind")
        {
            let mut whole = Map::from_iter([
                ("apiVersion".to_owned(), Value::from(*api_version)),
                ("kind".to_owned(), Value::from(*kind)),
            ]);
            whole.append(fields);
            *fields = whole;
        }
        let body = match (sent, &self.raw) {
            (Some(sent), _) => sent.to_string(),
            (None, raw) => raw.clone().unwrap_or_default(),
        };
        let media = self.media.as_deref().unwrap_or(media);
        (method, fill(&path, values), media, fill(&body, values))
    }

    /// Whether the answer is what the step waits for.
    pub fn is_reached(&self, answer: &Answer, values: &BTreeMap<String, String>) -> bool {
        let Some(goal) = self.eventually.as_deref() else {
            return true;
        };
        let goal = fill(goal, values);
        if let Some(absent) = goal.strip_prefix('!') {
            return answer.code == 200 && answer.body.pointer(absent).is_none();
        }
        match goal.split_once('=') {
            Some((pointer, value)) => answer
                .body
                .pointer(pointer)
                .is_some_and(|found| *found == value),
            None if goal.starts_with('/') => answer.body.pointer(&goal).is_some(),
            None => goal == answer.code.to_string(),
        }
    }

    pub fn save(
        &self,
        answer: &Answer,
        values: &mut BTreeMap<String, String>,
    ) -> Result<(), String> {
        for (name, pointer) in &self.save {
            let found = answer
                .body
                .pointer(pointer)
                .ok_or_else(|| format!("no {pointer} in {answer}"))?;
            let text = found
                .as_str()
                .map_or_else(|| found.to_string(), str::to_owned);
            values.insert(name.clone(), text);
        }
        Ok(())
    }
}

/// Replaces each `${name}` by its value.
pub fn fill(text: &str, values: &BTreeMap<String, String>) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("${{{name}}}"), value)
    })
}
