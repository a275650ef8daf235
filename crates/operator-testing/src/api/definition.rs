//! What is wrong with a CustomResourceDefinition.

use operator_schema::{Effect, Schema};
use serde_json::{Value, json};

use super::crd::versions;
use super::metadata::name;
use super::status::Cause;

/// What is wrong with a definition.
pub(crate) fn violations(live: Option<&Value>, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &object["spec"];
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let expected = format!("{plural}.{group}");
    if name(object) != expected {
        let text = format!(
            "Invalid value: {:?}: must be spec.names.plural+\".\"+spec.group",
            name(object)
        );
        causes.push(Cause::invalid("metadata.name", text));
    }
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    }
    let scope = text(&spec["scope"]);
    if !matches!(scope.as_str(), "Cluster" | "Namespaced") {
        let text =
            format!("Unsupported value: {scope:?}: supported values: \"Cluster\", \"Namespaced\"");
        causes.push(Cause::unsupported("spec.scope", text));
    }
    if live.is_some_and(|live| live["spec"]["scope"] != spec["scope"]) {
        let text = format!("Invalid value: {scope:?}: field is immutable");
        causes.push(Cause::invalid("spec.scope", text));
    }
    let versions = versions(object);
    let stored = versions
        .iter()
        .filter(|version| version["storage"] == true)
        .count();
    let mut names: Vec<&Value> = versions.iter().map(|version| &version["name"]).collect();
    names.sort_by_key(ToString::to_string);
    names.dedup();
    if names.len() != versions.len() {
        let text = format!(
            "Invalid value: {}: must contain unique version names",
            in_go(versions)
        );
        causes.push(Cause::invalid("spec.versions", text));
    }
    if stored != 1 {
        let text = format!(
            "Invalid value: {}: must have exactly one version marked as storage version",
            in_go(versions)
        );
        causes.push(Cause::invalid("spec.versions", text));
    }
    for field in ["plural", "singular", "kind", "listKind"] {
        let found = text(&spec["names"][field]);
        let is_derived = field == "listKind" && found == "List";
        if found.is_empty() || is_derived {
            causes.push(Cause::required(format!("spec.names.{field}"), ""));
        }
    }
    if stored == 0 {
        let text = "Invalid value: null: must have at least one stored version";
        causes.push(Cause::invalid("status.storedVersions", text));
    }
    for (at, version) in versions.iter().enumerate() {
        let field = format!("spec.versions[{at}].schema.openAPIV3Schema");
        let schema = &version["schema"]["openAPIV3Schema"];
        if schema.is_null() {
            causes.push(Cause::required(field, ""));
            continue;
        }
        match serde_json::from_value::<Schema>(schema.clone()) {
            Err(error) => causes.push(Cause::invalid(field, format!("Invalid value: {error}"))),
            Ok(read) => {
                // One schema for all versions is named as the field of older definitions.
                let same = versions
                    .iter()
                    .all(|other| other["schema"] == version["schema"]);
                let field = if same {
                    "spec.validation.openAPIV3Schema".to_owned()
                } else {
                    field
                };
                if !same || at == 0 {
                    causes.extend(structural_violations(&read, schema, &field));
                }
            }
        }
    }
    causes
}

/// Versions as Go prints them, but for their parts.
fn in_go(versions: &[Value]) -> Value {
    if versions.is_empty() {
        return Value::Null;
    }
    let versions = versions.iter().map(|version| {
        json!({
            "Name": version["name"],
            "Served": version["served"] == true,
            "Storage": version["storage"] == true,
            "Deprecated": version["deprecated"] == true,
            "DeprecationWarning": version["deprecationWarning"],
            "Schema": null,
            "Subresources": null,
            "AdditionalPrinterColumns": null,
            "SelectableFields": null,
        })
    });
    versions.collect()
}

/// What keeps a schema from being [structural].
///
/// [structural]: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
fn structural_violations(schema: &Schema, text: &Value, field: &str) -> Vec<Cause> {
    let problems = operator_schema::structural(schema).into_iter();
    let refused = problems.filter(|problem| problem.effect == Effect::Refused);
    refused
        .map(|problem| {
            let mut place = field.to_owned();
            let mut in_map = false;
            for part in problem.pointer.split('/').skip(1) {
                let part = part.replace("~1", "/").replace("~0", "~");
                match in_map || part.parse::<usize>().is_ok() {
                    true => place += &format!("[{part}]"),
                    false => place += &format!(".{part}"),
                }
                in_map = !in_map && part == "properties";
            }
            let (reason, word) = match text.pointer(&problem.pointer) {
                None => ("FieldValueRequired", "Required value"),
                Some(_) => ("FieldValueForbidden", "Forbidden"),
            };
            Cause {
                reason,
                message: format!("{word}: {}", problem.message),
                field: place,
            }
        })
        .collect()
}
