//! What the Rust types do not carry of a schema, counted: one diagnostic for a feature and kind, not thousands.

use operator_schema::{Schema, SchemaOrBool};

use super::graph::TypeGraph;
use crate::{
    crd::Version,
    diagnostic::{Code, Diagnostic, Severity},
};

/// For `derive` mode: rules, unions, defaults, bounds and merge strategies hold in the cluster, but are not in `crd()`.
pub fn not_carried(version: &Version, graph: &TypeGraph) -> Vec<Diagnostic> {
    let mut counts: [(Code, &str, usize, String); 5] = [
        (Code::RulesNotCarried, "CEL rules", 0, String::new()),
        (
            Code::UnionsNotCarried,
            "unions (anyOf, oneOf, allOf, not)",
            0,
            String::new(),
        ),
        (Code::DefaultsNotCarried, "defaults", 0, String::new()),
        (
            Code::BoundsNotCarried,
            "bounds, patterns and formats",
            0,
            String::new(),
        ),
        (
            Code::MergeNotCarried,
            "list and map types",
            0,
            String::new(),
        ),
    ];
    walk(
        &version.schema,
        version.schema_pointer(),
        &mut |schema, pointer| {
            let union =
                !(schema.any_of.is_empty() && schema.one_of.is_empty() && schema.all_of.is_empty())
                    || schema.not.is_some();
            let bound = schema.minimum.is_some()
                || schema.maximum.is_some()
                || schema.multiple_of.is_some()
                || schema.pattern.is_some()
                || schema.min_length.is_some()
                || schema.max_length.is_some()
                || schema.min_items.is_some()
                || schema.max_items.is_some()
                || schema.min_properties.is_some()
                || schema.max_properties.is_some()
                || schema
                    .format
                    .as_deref()
                    .is_some_and(|format| !matches!(format, "int32" | "int64" | "double"));
            let found = [
                !schema.validations.is_empty(),
                union && !schema.int_or_string,
                schema.default.is_some(),
                bound,
                schema.list_type.is_some() || schema.map_type.is_some(),
            ];
            for (count, found) in counts.iter_mut().zip(found) {
                if found {
                    count.2 += 1;
                    if count.3.is_empty() {
                        count.3 = pointer.to_owned();
                    }
                }
            }
        },
    );
    let counted = counts.into_iter().filter(|(_, _, count, _)| *count > 0).map(|(code, what, count, pointer)| Diagnostic {
        code,
        severity: Severity::Note,
        pointer,
        message: format!("{count} schemas with {what}: they hold in the cluster, but are not in crd() of the Rust type"),
        help: None,
    });
    counted.chain(untyped(version, graph)).collect()
}

/// Where the schema does not say what a value is, and keywords that definitions do not have.
pub fn untyped(version: &Version, graph: &TypeGraph) -> Vec<Diagnostic> {
    let mut found = vec![];
    if let Some(first) = graph.untyped.first() {
        found.push(Diagnostic {
            code: Code::Untyped,
            severity: Severity::Note,
            pointer: first.clone(),
            message: format!(
                "{} values have no type in the schema and are serde_json::Value",
                graph.untyped.len()
            ),
            help: None,
        });
    }
    let mut unknown = vec![];
    walk(
        &version.schema,
        version.schema_pointer(),
        &mut |schema, pointer| {
            unknown.extend(
                schema
                    .unknown
                    .keys()
                    .map(|keyword| (keyword.clone(), pointer.to_owned())),
            );
        },
    );
    if let Some((keyword, pointer)) = unknown.first() {
        found.push(Diagnostic {
            code: Code::UnknownKeyword,
            severity: Severity::Warning,
            pointer: pointer.clone(),
            message: format!(
                "`{keyword}` is no keyword of a definition's schema and is passed over ({} such)",
                unknown.len()
            ),
            help: Some("remove it; the API server drops or refuses it".into()),
        });
    }
    found
}

/// Calls `visit` for a schema and all below it that have a place in the structure.
fn walk(schema: &Schema, pointer: String, visit: &mut impl FnMut(&Schema, &str)) {
    visit(schema, &pointer);
    for (wire, property) in &schema.properties {
        walk(
            property,
            format!(
                "{pointer}/properties/{}",
                wire.replace('~', "~0").replace('/', "~1")
            ),
            visit,
        );
    }
    if let Some(items) = &schema.items {
        walk(items, format!("{pointer}/items"), visit);
    }
    if let Some(SchemaOrBool::Schema(values)) = &schema.additional_properties {
        walk(values, format!("{pointer}/additionalProperties"), visit);
    }
}
