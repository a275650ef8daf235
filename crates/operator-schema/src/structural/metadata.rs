//! Checks the schemas of the fields that all resources have.

use super::{Level, Problems};
use crate::Schema;

impl Problems {
    /// Checks `apiVersion`, `kind` and `metadata` of the root and of embedded resources.
    pub(super) fn meta_fields(&mut self, schema: &Schema, level: Level) {
        let is_resource = level == Level::Root || schema.embedded_resource;
        for (name, wanted) in [
            ("apiVersion", "string"),
            ("kind", "string"),
            ("metadata", "object"),
        ] {
            let Some(field) = schema.properties.get(name).filter(|_| is_resource) else {
                continue;
            };
            if field.type_.as_deref() != Some(wanted) {
                self.refuse(
                    &format!("properties/{name}/type"),
                    format!("must be {wanted}"),
                );
            }
        }
        if level == Level::Root
            && let Some(metadata) = schema.properties.get("metadata")
            && !is_restricted(metadata)
        {
            let message = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            self.refuse("properties/metadata", message);
        }
        let unspecified =
            schema.preserve_unknown_fields != Some(true) && schema.properties.is_empty();
        let message = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        self.refuse_if(
            schema.embedded_resource && unspecified,
            "properties",
            message,
        );
    }
}

/// Whether a schema of `metadata` has only a type, a default and restrictions of the name.
fn is_restricted(metadata: &Schema) -> bool {
    let names = metadata
        .properties
        .keys()
        .all(|name| name == "name" || name == "generateName");
    let mut rest = metadata.clone();
    rest.properties.clear();
    rest.unknown.clear();
    names
        && rest
            == Schema {
                type_: rest.type_.clone(),
                default: rest.default.clone(),
                ..Schema::default()
            }
}
