//! Questions about the values that a schema allows.

use operator_schema::{Schema, SchemaOrBool};

/// Whether the object keeps unknown fields. An embedded resource has at least `apiVersion`, `kind` and `metadata`.
pub fn keeps_unknown(schema: &Schema) -> bool {
    let more = schema.additional_properties.as_ref();
    schema.preserve_unknown_fields == Some(true)
        || schema.embedded_resource
        || (more.is_some_and(|more| *more != SchemaOrBool::Bool(false))
            && !schema.properties.is_empty())
}

/// Whether the schema has the pattern that controller-gen generates for a `resource.Quantity`, whose integers often exceed 32 bits.
pub fn is_quantity(schema: &Schema) -> bool {
    let pattern = schema.pattern.as_deref();
    pattern.is_some_and(|pattern| pattern.contains("([KMGTPE]i)|[numkMGTPE]"))
}

/// Whether the value is an integer or a string, by the extension or by a union. If it also has a `type`, that decides, as in the API
/// server.
pub fn is_int_or_string(schema: &Schema) -> bool {
    schema.int_or_string && schema.type_.is_none() || is_int_or_string_union(schema)
}

/// Whether the schema has `anyOf: [{type: integer}, {type: string}]`, which some CRDs have without the Kubernetes extension.
fn is_int_or_string_union(schema: &Schema) -> bool {
    let types: Vec<_> = schema
        .any_of
        .iter()
        .filter_map(|part| part.type_.as_deref())
        .collect();
    schema.type_.is_none()
        && matches!(
            types.as_slice(),
            ["integer", "string"] | ["string", "integer"]
        )
}

/// Calls `visit` for a schema and all schemas below it, except for those in `allOf`, `anyOf`, `oneOf` and `not`.
pub fn walk(schema: &Schema, visit: &mut impl FnMut(&Schema)) {
    visit(schema);
    for property in schema.properties.values() {
        walk(property, visit);
    }
    if let Some(items) = &schema.items {
        walk(items, visit);
    }
    if let Some(SchemaOrBool::Schema(values)) = &schema.additional_properties {
        walk(values, visit);
    }
}
