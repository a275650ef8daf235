//! What the server says of itself: [discovery], its version, its health.
//!
//! [discovery]: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api

use std::sync::Arc;

use serde_json::{Value, json};

use super::builtin::builtin;
use super::kind::Kind;
use super::request::Call;
use super::status::{Failure, Result};
use super::{Reply, State};

impl State {
    pub(crate) fn serve_other(&self, call: &Call, path: &str) -> Result<Reply> {
        self.authorize_path(call)?;
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        if !matches!(call.method.as_str(), "GET" | "HEAD") {
            return Err(Failure::no_such_path());
        }
        match parts.as_slice() {
            ["readyz" | "livez" | "healthz", ..] => Ok(Reply::Text("ok")),
            ["version"] => Ok(Reply::ok(version())),
            ["api"] => Ok(Reply::ok(json!({
                "kind": "APIVersions",
                "versions": ["v1"],
                "serverAddressByClientCIDRs": [],
            }))),
            ["apis"] => {
                let groups: Vec<Value> = self.groups().iter().map(|g| self.group(g)).collect();
                Ok(Reply::ok(
                    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}),
                ))
            }
            ["apis", group] if self.groups().iter().any(|known| known == group) => {
                let mut found = self.group(group);
                found["kind"] = "APIGroup".into();
                found["apiVersion"] = "v1".into();
                Ok(Reply::ok(found))
            }
            ["api", version] => self.resources("", version),
            ["apis", group, version] => self.resources(group, version),
            ["openapi", "v3"] => Ok(Reply::ok(self.documents())),
            ["openapi", "v3", "api", version] => self.document("", version),
            ["openapi", "v3", "apis", group, version] => self.document(group, version),
            _ => Err(Failure::no_such_path()),
        }
    }

    /// The index of `/openapi/v3`.
    fn documents(&self) -> Value {
        let mut paths = serde_json::Map::new();
        for kind in self.registry.all() {
            let root = root(kind);
            let url = json!({"serverRelativeURL": format!("/openapi/v3/{root}")});
            paths.insert(root, url);
        }
        json!({"paths": paths})
    }

    /// No schemas: only that patches know `fieldValidation`, without which `kubectl apply` does not begin.
    fn document(&self, group: &str, version: &str) -> Result<Reply> {
        let mut paths = serde_json::Map::new();
        let kinds = self.registry.all();
        for kind in kinds.filter(|kind| kind.group == group && kind.version == version) {
            let gvk = json!({"group": group, "version": version, "kind": kind.kind});
            let parameter =
                json!({"name": "fieldValidation", "in": "query", "schema": {"type": "string"}});
            let place = if kind.namespaced {
                "namespaces/{namespace}/"
            } else {
                ""
            };
            let path = format!("/{}/{place}{}/{{name}}", root(kind), kind.plural);
            let patch = json!({"parameters": [parameter], "responses": {}, "x-kubernetes-group-version-kind": gvk});
            paths.insert(path, json!({"patch": patch}));
        }
        if paths.is_empty() {
            return Err(Failure::no_such_path());
        }
        let info = json!({"title": "operator-testing", "version": builtin().server});
        Ok(Reply::ok(
            json!({"openapi": "3.0.0", "info": info, "paths": paths}),
        ))
    }

    fn groups(&self) -> Vec<String> {
        let mut groups: Vec<String> = Vec::new();
        for kind in self.registry.all() {
            if !kind.group.is_empty() && !groups.contains(&kind.group) {
                groups.push(kind.group.clone());
            }
        }
        groups
    }

    fn group(&self, group: &str) -> Value {
        let mut versions: Vec<&str> = Vec::new();
        for kind in self.registry.all().filter(|kind| kind.group == group) {
            if !versions.contains(&kind.version.as_str()) {
                versions.push(&kind.version);
            }
        }
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        let versions: Vec<Value> = versions
            .iter()
            .map(
                |version| json!({"groupVersion": format!("{group}/{version}"), "version": version}),
            )
            .collect();
        json!({"name": group, "versions": versions, "preferredVersion": versions.first()})
    }

    fn resources(&self, group: &str, version: &str) -> Result<Reply> {
        let kinds: Vec<&Arc<Kind>> = self
            .registry
            .all()
            .filter(|kind| kind.group == group && kind.version == version)
            .collect();
        let Some(first) = kinds.first() else {
            return Err(Failure::no_such_path());
        };
        let resources: Vec<Value> = kinds.iter().flat_map(|kind| entries(kind)).collect();
        Ok(Reply::ok(json!({
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": first.api_version(),
            "resources": resources,
        })))
    }
}

/// `api/v1` or `apis/GROUP/VERSION`.
fn root(kind: &Kind) -> String {
    match kind.group.as_str() {
        "" => format!("api/{}", kind.version),
        _ => format!("apis/{}", kind.api_version()),
    }
}

/// A kind and its subresources.
fn entries(kind: &Kind) -> Vec<Value> {
    let mut entry = json!({
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": kind.verbs,
    });
    if !kind.short_names.is_empty() {
        entry["shortNames"] = kind.short_names.clone().into();
    }
    if !kind.categories.is_empty() {
        entry["categories"] = kind.categories.clone().into();
    }
    let mut entries = vec![entry];
    for (name, verbs) in &kind.subresources {
        let mut entry = json!({
            "name": format!("{}/{name}", kind.plural),
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": verbs,
        });
        if name == "scale" {
            entry["group"] = "autoscaling".into();
            entry["version"] = "v1".into();
            entry["kind"] = "Scale".into();
        }
        entries.push(entry);
    }
    entries
}

/// [Version priority]: `v2` before `v1`, stable before `v1beta1` before `v1alpha1`, all else last.
///
/// [Version priority]: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority
fn priority(version: &str) -> (u8, u32, u32) {
    let Some(rest) = version.strip_prefix('v') else {
        return (0, 0, 0);
    };
    let stage = |name: &str, rank: u8| {
        let (major, minor) = rest.split_once(name)?;
        Some((rank, major.parse().ok()?, minor.parse().ok()?))
    };
    match rest.parse() {
        Ok(major) => (3, major, 0),
        Err(_) => stage("beta", 2)
            .or_else(|| stage("alpha", 1))
            .unwrap_or((0, 0, 0)),
    }
}

fn version() -> Value {
    let server = builtin().server.trim_start_matches('v');
    let mut numbers = server.split('.');
    json!({
        "major": numbers.next(),
        "minor": numbers.next(),
        "gitVersion": format!("v{server}+operator-testing"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "",
        "goVersion": "",
        "compiler": "",
        "platform": "memory",
    })
}
