//! The [discovery] documents, the version and the health of the server.
//!
//! [discovery]: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api

use std::sync::Arc;

use serde_json::{Value, json};

#[cfg(feature = "faces")]
use super::openapi;
use crate::access::rbac::authorize_path;
use crate::model::builtin::builtin;
use crate::model::kind::version_priority;
use crate::model::{Failure, Kind, Result};
use crate::read::Reply;
use crate::request::Call;
use crate::request::format::Format;
use crate::store::{Registry, Store};

/// Serves a request to a path that is not a resource.
pub(crate) fn serve_other(
    store: &Store,
    registry: &Registry,
    call: &Call,
    path: &str,
    format: Result<Format>,
) -> Result<Reply> {
    authorize_path(store, call)?;
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    if !matches!(call.method.as_str(), "GET" | "HEAD") {
        return Err(Failure::no_such_path());
    }
    // health checks ignore the accepted format
    match parts.as_slice() {
        [check @ ("readyz" | "livez" | "healthz")] => {
            return Ok(Reply::Text(health(call, check)));
        }
        ["readyz" | "livez" | "healthz", "ping"] => return Ok(Reply::Text("ok")),
        _ => {}
    }
    let format = format?;
    match parts.as_slice() {
        [""] => Ok(Reply::ok(json!({"paths": paths(registry)}))),
        ["version"] => Ok(Reply::ok(version())),
        ["api"] if format == Format::Discovery => {
            Ok(aggregated_discovery(registry, &[String::new()]))
        }
        ["apis"] if format == Format::Discovery => {
            Ok(aggregated_discovery(registry, &groups(registry)))
        }
        ["api"] => Ok(Reply::ok(json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [],
        }))),
        ["apis"] => {
            let groups: Vec<Value> = groups(registry)
                .iter()
                .map(|g| group_object(registry, g))
                .collect();
            Ok(Reply::ok(
                json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}),
            ))
        }
        ["apis", group] if groups(registry).iter().any(|known| known == group) => {
            let mut found = group_object(registry, group);
            found["kind"] = "APIGroup".into();
            found["apiVersion"] = "v1".into();
            Ok(Reply::ok(found))
        }
        ["api", version] => resources(registry, "", version),
        ["apis", group, version] => resources(registry, group, version),
        // an empty document, which protobuf encodes as zero bytes: kubectl requests it for kinds that the newer documents lack
        #[cfg(feature = "faces")]
        ["openapi", "v2"] if format == Format::Swagger => Ok(Reply::Text("")),
        #[cfg(feature = "faces")]
        ["openapi", "v3"] => Ok(Reply::ok(openapi::documents(registry))),
        #[cfg(feature = "faces")]
        ["openapi", "v3", "api", version] => openapi::document(registry, "", version),
        #[cfg(feature = "faces")]
        ["openapi", "v3", "apis", group, version] => openapi::document(registry, group, version),
        _ => Err(Failure::no_such_path()),
    }
}

/// The groups with all their versions and resources in one response: [aggregated discovery].
///
/// [aggregated discovery]: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
fn aggregated_discovery(registry: &Registry, groups: &[String]) -> Reply {
    let kinds = |group: &str, version: &str| -> Vec<Value> {
        registry
            .all()
            .filter(|kind| kind.group == group && kind.version == version)
            .map(|kind| aggregated(kind))
            .collect()
    };
    let group = |name: &String| {
        let versions = versions(registry, name);
        let versions = versions.iter().map(|version| {
            json!({
                "version": version,
                "resources": kinds(name, version),
                "freshness": "Current",
            })
        });
        let metadata = match name.as_str() {
            "" => json!({}),
            name => json!({"name": name}),
        };
        json!({"metadata": metadata, "versions": versions.collect::<Vec<_>>()})
    };
    Reply::ok(json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": groups.iter().map(group).collect::<Vec<_>>(),
    }))
}

fn groups(registry: &Registry) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for kind in registry.all() {
        if !kind.group.is_empty() && !groups.contains(&kind.group) {
            groups.push(kind.group.clone());
        }
    }
    groups
}

/// The versions of a group, sorted by priority.
fn versions<'a>(registry: &'a Registry, group: &str) -> Vec<&'a str> {
    let mut versions: Vec<&str> = Vec::new();
    for kind in registry.all().filter(|kind| kind.group == group) {
        if !versions.contains(&kind.version.as_str()) {
            versions.push(&kind.version);
        }
    }
    versions.sort_by_key(|version| std::cmp::Reverse(version_priority(version)));
    versions
}

/// The paths of the server.
fn paths(registry: &Registry) -> Vec<String> {
    let mut paths: Vec<String> = [
        "/api",
        "/apis",
        "/healthz",
        "/livez",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.extend(
        groups(registry)
            .iter()
            .map(|group| format!("/apis/{group}")),
    );
    let roots = registry.all().map(|kind| format!("/{}", root(kind)));
    paths.extend(roots);
    paths.sort();
    paths.dedup();
    paths
}

fn group_object(registry: &Registry, group: &str) -> Value {
    let versions: Vec<Value> = versions(registry, group)
        .iter()
        .map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
        .collect();
    json!({"name": group, "versions": versions, "preferredVersion": versions.first()})
}

fn resources(registry: &Registry, group: &str, version: &str) -> Result<Reply> {
    let kinds: Vec<&Arc<Kind>> = registry
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

/// `api/v1` or `apis/GROUP/VERSION`.
pub(crate) fn root(kind: &Kind) -> String {
    match kind.group.as_str() {
        "" => format!("api/{}", kind.version),
        _ => format!("apis/{}", kind.api_version()),
    }
}

/// The entries of a kind and its subresources.
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
        if let Some((group, version, kind)) = foreign(name) {
            entry["group"] = group.into();
            entry["version"] = version.into();
            entry["kind"] = kind.into();
        }
        entries.push(entry);
    }
    entries
}

/// The entry of a kind in aggregated discovery, with its subresources.
fn aggregated(kind: &Kind) -> Value {
    // for a built-in resource, the real server omits the group and version, which are those of the list
    let (group, version) = match &kind.custom {
        Some(_) => (kind.group.as_str(), kind.version.as_str()),
        None => ("", ""),
    };
    let named = |(group, version, kind): (&str, &str, &str)| json!({"group": group, "version": version, "kind": kind});
    let own = (group, version, kind.kind.as_str());
    let mut entry = json!({
        "resource": kind.plural,
        "responseKind": named(own),
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular,
        "verbs": kind.verbs,
    });
    if !kind.short_names.is_empty() {
        entry["shortNames"] = kind.short_names.clone().into();
    }
    if !kind.categories.is_empty() {
        entry["categories"] = kind.categories.clone().into();
    }
    let subresources = kind.subresources.iter().map(|(name, verbs)| {
        let kind = named(foreign(name).unwrap_or(own));
        json!({"subresource": name, "responseKind": kind, "verbs": verbs})
    });
    let subresources: Vec<Value> = subresources.collect();
    if !subresources.is_empty() {
        entry["subresources"] = subresources.into();
    }
    entry
}

/// The group, version and name of the kind of a subresource, if it has a kind of its own.
fn foreign(subresource: &str) -> Option<(&'static str, &'static str, &'static str)> {
    match subresource {
        "eviction" => Some(("policy", "v1", "Eviction")),
        "scale" => Some(("autoscaling", "v1", "Scale")),
        "token" => Some(("authentication.k8s.io", "v1", "TokenRequest")),
        _ => None,
    }
}

/// The response to a health check. The server is healthy whenever it responds.
fn health(call: &Call, check: &str) -> &'static str {
    match check {
        _ if !call.query.contains_key("verbose") => "ok",
        "readyz" => "[+]ping ok\nreadyz check passed\n",
        "livez" => "[+]ping ok\nlivez check passed\n",
        _ => "[+]ping ok\nhealthz check passed\n",
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
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "memory",
    })
}
