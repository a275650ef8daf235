//! The schema of a version for field ownership.

use operator_schema::{Schema, SchemaOrBool};

use crate::model::builtin::OBJECT_META;

/// The schema with the server's types of `apiVersion`, `kind` and `metadata`, at the root and in embedded resources.
pub(crate) fn typed(schema: &Schema) -> Schema {
    let mut schema = schema.clone();
    identify(&mut schema);
    spread(&mut schema, false);
    schema
}

/// Expands extensions for field ownership: an embedded resource gets the types of its metadata, and schemas inside of one that preserves
/// unknown fields preserve them too.
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

/// Sets the types of `apiVersion`, `kind` and `metadata`.
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
