//! Finds the JSON paths of printer columns and of the scale subresource that lead to no field of the schema. The API server does not check
//! them, so once a field is removed, its column stays empty, or scaling has no effect.

use operator_schema::{Schema, SchemaOrBool};

use crate::{
    crd::Version,
    diagnostic::{Code, Diagnostic, Severity},
};

pub fn diagnostics(version: &Version) -> impl Iterator<Item = Diagnostic> {
    let index = version.index;
    let columns = version.printer_columns.iter().enumerate();
    let columns = columns.map(move |(at, column)| {
        let pointer = format!("/spec/versions/{index}/additionalPrinterColumns/{at}/jsonPath");
        (pointer, &column.json_path, "the column stays empty")
    });
    let scale = version.scale.iter().flat_map(move |scale| {
        let paths = [
            ("specReplicasPath", Some(&scale.spec_replicas_path)),
            ("statusReplicasPath", Some(&scale.status_replicas_path)),
            ("labelSelectorPath", scale.label_selector_path.as_ref()),
        ];
        paths.into_iter().filter_map(move |(key, path)| {
            let pointer = format!("/spec/versions/{index}/subresources/scale/{key}");
            Some((pointer, path?, "the scale subresource has no value"))
        })
    });
    columns
        .chain(scale)
        .filter(|(_, path, _)| !resolves(&version.schema, path))
        .map(|(pointer, path, effect)| Diagnostic {
            code: Code::Contradiction,
            severity: Severity::Warning,
            pointer,
            message: format!("the schema has no field `{path}`"),
            instead: Some(effect.into()),
            help: Some("use a field of the schema, or remove the reference to this one".into()),
        })
}

/// Whether a JSON path can find a field. A path with an unsupported syntax is assumed to find one.
fn resolves(schema: &Schema, path: &str) -> bool {
    let Some(steps) = steps(path) else {
        return true;
    };
    let mut schema = schema;
    for (depth, step) in steps.iter().enumerate() {
        let is_envelope = ["apiVersion", "kind", "metadata"].contains(&&**step);
        if is_envelope && (depth == 0 || schema.embedded_resource) {
            return true;
        }
        schema = match (schema.properties.get(step), &schema.additional_properties) {
            (Some(property), _) => property,
            (None, Some(SchemaOrBool::Schema(values))) => values,
            (None, Some(SchemaOrBool::Bool(true))) => return true,
            (None, _) => return schema.preserve_unknown_fields == Some(true),
        };
    }
    true
}

/// The fields of `.spec.a['b.c']`; `None` for a path with indexes, filters or anything else.
fn steps(path: &str) -> Option<Vec<String>> {
    let mut steps = vec![];
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    while !rest.is_empty() {
        let (step, after) = if let Some(inner) = rest.strip_prefix("['") {
            let (name, after) = inner.split_once("']")?;
            (name.replace("\\.", "."), after)
        } else {
            let rest = rest.strip_prefix('.')?;
            let mut end = rest.len();
            let mut is_escaped = false;
            for (at, c) in rest.char_indices() {
                if !is_escaped && (c == '.' || c == '[') {
                    end = at;
                    break;
                }
                is_escaped = !is_escaped && c == '\\';
            }
            (rest[..end].replace("\\.", "."), &rest[end..])
        };
        let is_name = |c: char| c.is_alphanumeric() || "-_./$".contains(c);
        if step.is_empty() || !step.chars().all(is_name) {
            return None;
        }
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_resolves_if_the_schema_has_or_may_have_the_field() {
        let schema = serde_json::json!({
            "type": "object",
            "properties": {
                "spec": {"type": "object", "properties": {
                    "size": {"type": "integer"},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "pod": {"type": "object", "x-kubernetes-embedded-resource": true},
                    "items": {"type": "array", "items": {"type": "string"}},
                }},
            },
        });
        let schema: Schema = serde_json::from_value(schema).unwrap();
        for path in [
            ".spec.size",
            ".metadata.creationTimestamp",
            ".kind",
            ".spec.labels.app",
            ".spec.labels['example.com/name']",
            ".spec.labels.example\\.com/name",
            ".spec.any.deep.er",
            ".spec.pod.metadata.name",
            ".spec.items[0]",
            ".status.conditions[?(@.type==\"Ready\")].status",
            "..x",
            "{.spec}",
        ] {
            assert!(resolves(&schema, path), "{path}");
        }
        for path in [
            ".spec.replicas",
            ".status.phase",
            ".spec.size.x",
            ".spec['replicas']",
            ".spec.items.x",
        ] {
            assert!(!resolves(&schema, path), "{path}");
        }
    }
}
