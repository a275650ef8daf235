//! The JSON type and the Rust type of a schema node, without its `Option`.

use operator_schema::{Schema, SchemaOrBool};

/// The JSON type that the API server accepts; empty if it accepts all types.
pub fn json(schema: &Schema) -> &str {
    match schema.type_.as_deref() {
        _ if schema.int_or_string => INT_OR_STRING,
        None if is_int_or_string_union(schema) => INT_OR_STRING,
        None => "",
        Some(type_) => type_,
    }
}

const INT_OR_STRING: &str = "int-or-string";

/// Whether all values of one JSON type are also values of another.
pub fn is_wider(before: &str, after: &str) -> bool {
    matches!(
        (before, after),
        (_, "") | ("integer", "number" | INT_OR_STRING) | ("string", INT_OR_STRING)
    )
}

/// A name for the Rust type that `types` generates for a node, as far as it depends only on this node. An enum counts as a string, because
/// its values have their own differences.
pub fn rust(schema: &Schema) -> &'static str {
    let is_either = schema.int_or_string && schema.type_.is_none();
    if is_either || is_int_or_string_union(schema) {
        return match schema.pattern.as_deref() {
            Some(pattern) if pattern.contains(QUANTITY) => "Quantity",
            _ => "IntOrString",
        };
    }
    match schema.type_.as_deref() {
        Some("string") => "String",
        Some("boolean") => "bool",
        Some("integer") if schema.format.as_deref() == Some("int32") => "i32",
        Some("integer") => "i64",
        Some("number") => "Number",
        Some("array") => "Vec",
        Some("object") | None if !schema.properties.is_empty() => "struct",
        Some("object") if schema.prunes_all() => "struct",
        Some("object") => match &schema.additional_properties {
            Some(SchemaOrBool::Schema(_)) if !keeps_unknown(schema) => "map of typed values",
            _ => "map of any values",
        },
        _ => "Value",
    }
}

/// A part of the pattern that controller-gen generates for a `resource.Quantity`.
const QUANTITY: &str = "([KMGTPE]i)|[numkMGTPE]";

fn keeps_unknown(schema: &Schema) -> bool {
    schema.preserve_unknown_fields == Some(true) || schema.embedded_resource
}

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

/// Whether the `anyOf` adds nothing to the type: `anyOf: [{type: integer}, {type: string}]`.
pub fn is_only_int_or_string(schema: &Schema) -> bool {
    let is_only_type = |part: &Schema| {
        let only = Schema {
            type_: part.type_.clone(),
            ..Schema::default()
        };
        *part == only
    };
    is_int_or_string_union(schema)
        && schema.any_of.len() == 2
        && schema.any_of.iter().all(is_only_type)
}
