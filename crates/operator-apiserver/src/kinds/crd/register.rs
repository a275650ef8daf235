//! The kinds that a CRD registers: one for each served version.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::naming::is_established;
use super::typed::typed;
use super::versions;
#[cfg(feature = "faces")]
use crate::model::column::PrinterColumn;
use crate::model::kind::{ConversionWebhook, VersionSchema, version_priority};
use crate::model::metadata::name;
use crate::model::{Crd, Custom, Kind, api_version};

const VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

/// A CRD whose kinds are served.
#[derive(Clone)]
pub(crate) struct RegisteredCrd {
    pub crd: Arc<Crd>,
    pub kinds: Vec<Arc<Kind>>,
}

/// The kinds that a CRD registers in place of its revision `before`; none until its names are accepted. `now` is the version of the store.
pub(crate) fn register(
    object: &Value,
    before: Option<&Arc<Crd>>,
    now: u64,
) -> Option<RegisteredCrd> {
    if !is_established(object) {
        return None;
    }
    let identity = json!([
        object["metadata"]["uid"],
        object["metadata"]["generation"],
        object["status"]["acceptedNames"],
    ]);
    let crd = match before {
        Some(before) if before.identity == identity => before.clone(),
        _ => Arc::new(revision(object, identity, before, now)),
    };
    let kinds = versions(object)
        .iter()
        .filter(|version| version["served"] == true)
        .filter_map(|version| kind(object, version, &crd))
        .map(Arc::new)
        .collect();
    Some(RegisteredCrd { crd, kinds })
}

/// Creates the new revision of a CRD. A version whose schema is the same as in the revision `before` keeps its `since`.
fn revision(object: &Value, identity: Value, before: Option<&Arc<Crd>>, now: u64) -> Crd {
    let group = object["spec"]["group"].as_str().unwrap_or_default();
    let mut storage = String::new();
    let mut schemas = BTreeMap::new();
    for version in versions(object) {
        let name = api_version(group, version["name"].as_str().unwrap_or_default());
        if version["storage"] == true {
            storage.clone_from(&name);
        }
        if let Some(mut schema) = version_schema(version) {
            let older = before.and_then(|before| before.versions.get(&name));
            schema.since = match older {
                Some(older) if older.schema == schema.schema => older.since,
                None if before.is_none() => 0,
                _ => now,
            };
            schemas.insert(name, schema);
        }
    }
    Crd {
        identity,
        since: now,
        storage,
        versions: schemas,
        webhook: webhook(object).map(Arc::new),
    }
}

fn webhook(object: &Value) -> Option<ConversionWebhook> {
    let conversion = &object["spec"]["conversion"];
    if conversion["strategy"] != "Webhook" {
        return None;
    }
    let versions = conversion["webhook"]["conversionReviewVersions"]
        .as_array()
        .into_iter()
        .flatten();
    Some(ConversionWebhook {
        crd: name(object).to_owned(),
        client_config: conversion["webhook"]["clientConfig"].clone(),
        review_versions: versions
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect(),
    })
}

/// The schemas of a version. The caller sets `since`.
fn version_schema(version: &Value) -> Option<VersionSchema> {
    let schema = version["schema"]["openAPIV3Schema"].clone();
    let schema = Arc::new(serde_json::from_value(schema).ok()?);
    let subresources = &version["subresources"];
    let replicas = subresources["scale"]["specReplicasPath"].as_str();
    Some(VersionSchema {
        typed: typed(&schema),
        schema,
        since: 0,
        replicas: replicas.map(str::to_owned),
        has_status: subresources["status"].is_object(),
    })
}

/// The warning of a deprecated version: its own, or one that names a newer version.
fn deprecation(spec: &Value, version: &Value) -> String {
    if let Some(text) = version["deprecationWarning"].as_str() {
        return text.to_owned();
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, kind, name) = (
        text(&spec["group"]),
        text(&spec["names"]["kind"]),
        text(&version["name"]),
    );
    let newer = spec["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|it| it["served"] == true && it["deprecated"] != true)
        .map(|it| text(&it["name"]))
        .filter(|it| version_priority(it) > version_priority(&name));
    let instead = match newer.max_by_key(|it| version_priority(it)) {
        Some(newer) => format!("; use {group}/{newer} {kind}"),
        None => String::new(),
    };
    format!("{group}/{name} {kind} is deprecated{instead}")
}

/// The kind that a version of a CRD registers.
fn kind(object: &Value, version: &Value, crd: &Arc<Crd>) -> Option<Kind> {
    let spec = &object["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(text).collect()
    };
    let names = &spec["names"];
    let (group, name) = (text(&spec["group"]), text(&version["name"]));
    let subresource = |name: &str| {
        version["subresources"]
            .get(name)
            .filter(|sub| !sub.is_null())
    };
    let writes = || ["get", "patch", "update"].map(str::to_owned).to_vec();
    let subresources: BTreeMap<String, Vec<String>> = ["status", "scale"]
        .into_iter()
        .filter(|name| subresource(name).is_some())
        .map(|name| (name.to_owned(), writes()))
        .collect();
    let custom = Custom {
        list_kind: text(&names["listKind"]),
        deprecation: (version["deprecated"] == true).then(|| deprecation(spec, version)),
        is_converted: spec["conversion"]["strategy"] == "Webhook"
            && (version["storage"] != true || has_older(object)),
        schema: crd
            .versions
            .get(&api_version(&group, &name))?
            .schema
            .clone(),
        crd: crd.clone(),
        scale: subresource("scale").and_then(|scale| serde_json::from_value(scale.clone()).ok()),
        selectable_fields: list_of(&version["selectableFields"], "jsonPath"),
        #[cfg(feature = "faces")]
        columns: PrinterColumn::of_version(version),
    };
    Some(Kind {
        group,
        version: name,
        kind: text(&names["kind"]),
        plural: text(&names["plural"]),
        singular: text(&names["singular"]),
        short_names: list(&names["shortNames"]),
        categories: list(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        verbs: VERBS.map(str::to_owned).to_vec(),
        subresources,
        type_name: None,
        custom: Some(Arc::new(custom)),
    })
}

/// Whether objects may be stored in a version other than the storage version.
fn has_older(crd: &Value) -> bool {
    let stored = crd["status"]["storedVersions"].as_array();
    stored.is_some_and(|stored| stored.len() > 1)
}

fn list_of(items: &Value, field: &str) -> Vec<String> {
    items
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| Some(item[field].as_str()?.to_owned()))
        .collect()
}
