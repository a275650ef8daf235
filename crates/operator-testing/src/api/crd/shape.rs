//! The versions of a definition as field ownership sees them.

use std::collections::BTreeMap;

use operator_schema::{Schema, SchemaOrBool};
use serde_json::Value;

use super::versions;
use crate::api::builtin::OBJECT_META;
use crate::api::kind::{Shape, api_version};

pub(super) fn schema(version: &Value) -> Option<Schema> {
    serde_json::from_value(version["schema"]["openAPIV3Schema"].clone()).ok()
}

/// The shapes of all versions, served or not.
pub(super) fn shapes(definition: &Value) -> BTreeMap<String, Shape> {
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let versions = versions(definition).iter();
    versions
        .filter_map(|version| {
            let subresources = &version["subresources"];
            let replicas = subresources["scale"]["specReplicasPath"].as_str();
            let shape = Shape {
                schema: shape(schema(version)?),
                replicas: replicas.map(str::to_owned),
                has_status: subresources["status"].is_object(),
            };
            Some((api_version(group, version["name"].as_str()?), shape))
        })
        .collect()
}

/// The schema with the types of `apiVersion`, `kind` and `metadata` as the server knows them, at the root and in embedded resources.
fn shape(mut schema: Schema) -> Schema {
    identify(&mut schema);
    spread(&mut schema, false);
    schema
}

/// Writes out what a schema says of those below it: an embedded resource has types of its own, and what keeps unknown fields keeps them
/// in all that is within, as ownership sees it.
fn spread(schema: &mut Schema, keeps: bool) {
    if schema.embedded_resource {
        identify(schema);
    }
    let keeps = keeps || schema.preserve_unknown_fields == Some(true);
    schema.preserve_unknown_fields = keeps.then_some(true);
    let element = match &mut schema.additional_properties {
        Some(SchemaOrBool::Schema(element)) => Some(&mut **element),
        _ => None,
    };
    let items = schema.items.as_deref_mut();
    let below = schema.properties.values_mut().chain(items).chain(element);
    below.for_each(|below| spread(below, keeps));
}

fn identify(schema: &mut Schema) {
    let text = || Schema {
        type_: Some("string".into()),
        ..Schema::default()
    };
    let mut metadata = Schema::default();
    metadata.unknown.insert("$ref".into(), OBJECT_META.into());
    schema.properties.insert("apiVersion".into(), text());
    schema.properties.insert("kind".into(), text());
    schema.properties.insert("metadata".into(), metadata);
}
