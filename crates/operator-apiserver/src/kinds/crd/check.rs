//! Validates CustomResourceDefinitions.

use operator_schema::{Effect, Schema, pointer};
use serde_json::{Value, json};

use super::lifecycle::versions;
use super::naming::is_established;
use super::part::{
    check_approval, check_columns, check_conversion, check_deprecation, check_scale,
    check_selectable,
};
use crate::kinds::rule::field::{invalid, refuse, unsupported};
use crate::model::Cause;
use crate::model::json::items;
use crate::model::metadata::name;
use crate::model::name::{bad_dns1035, bad_subdomain};

/// Whether to check the schemas of a CRD, too.
#[derive(Clone, Copy, PartialEq)]
enum Schemas {
    Checked,
    Skipped,
}

/// The violations in a CRD.
pub(crate) fn violations(live: Option<&Value>, object: &Value) -> Vec<Cause> {
    check(live, object, Schemas::Checked)
}

/// The violations in a new CRD, except for its schemas.
pub(crate) fn violations_beside_schemas(object: &Value) -> Vec<Cause> {
    check(None, object, Schemas::Skipped)
}

fn check(live: Option<&Value>, object: &Value, schemas: Schemas) -> Vec<Cause> {
    let mut causes = Vec::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &object["spec"];
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let expected = format!("{plural}.{group}");
    let misnamed = |field: &str, found: &str| {
        let why = "must be spec.names.plural+\".\"+spec.group";
        invalid(field, format!("{found:?}"), why)
    };
    let fixed: Vec<Cause> = live.map_or_else(Vec::new, |live| renamed(live, spec));
    // the name is not reported if the group or the plural was changed, which is reported itself
    let is_elsewhere = fixed.iter().any(|cause| !cause.field.ends_with("kind"));
    if !name(object).is_empty() && name(object) != expected && !is_elsewhere {
        causes.push(misnamed("metadata.name", name(object)));
    }
    // the prefix of a generated name is validated like a name
    let prefix = text(&object["metadata"]["generateName"]);
    if !prefix.is_empty() && prefix != expected && live.is_none() {
        causes.push(misnamed("metadata.generateName", &prefix));
    }
    match group.as_str() {
        "" => causes.push(Cause::required("spec.group", "")),
        group => {
            let wrong = bad_subdomain(group);
            if wrong.is_empty() && !group.contains('.') {
                let text =
                    format!("Invalid value: {group:?}: should be a domain with at least one dot");
                causes.push(Cause::invalid("spec.group", text));
            }
            refuse("spec.group", group, wrong, &mut causes);
        }
    }
    let scope = text(&spec["scope"]);
    match scope.as_str() {
        "Cluster" | "Namespaced" => {}
        "" => causes.push(Cause::required("spec.scope", "")),
        scope => {
            let allowed = &["Cluster", "Namespaced"];
            causes.push(unsupported("spec.scope", format!("{scope:?}"), allowed));
        }
    }
    if live.is_some_and(|live| live["spec"]["scope"] != spec["scope"]) {
        let text = format!("Invalid value: {scope:?}: field is immutable");
        causes.push(Cause::invalid("spec.scope", text));
    }
    causes.extend(fixed);
    if spec["preserveUnknownFields"] == true {
        if spec["conversion"]["strategy"] == "Webhook" {
            let text =
                "Invalid value: \"Webhook\": must be None if spec.preserveUnknownFields is true";
            causes.push(Cause::invalid("spec.conversion.strategy", text));
        }
        let text = "Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        causes.push(Cause::invalid("spec.preserveUnknownFields", text));
    }
    let common = check_versions(versions(object), schemas, &mut causes);
    check_names(&spec["names"], &mut causes);
    causes.extend(common);
    check_conversion(&spec["conversion"], &mut causes);
    if !versions(object)
        .iter()
        .any(|version| version["storage"] == true)
    {
        let text = "Invalid value: null: must have at least one stored version";
        causes.push(Cause::invalid("status.storedVersions", text));
    }
    if live.is_some() {
        causes.extend(lost_versions(object));
    }
    check_approval(live, object, &mut causes);
    causes
}

/// Checks the names of a CRD that must not change; its kind must not change after it is established.
fn renamed(live: &Value, spec: &Value) -> Vec<Cause> {
    let is_established = is_established(live);
    let names = [
        ("/names/kind", is_established),
        ("/group", true),
        ("/names/plural", true),
    ];
    names
        .into_iter()
        .filter(|(pointer, is_fixed)| {
            *is_fixed && live["spec"].pointer(pointer) != spec.pointer(pointer)
        })
        .map(|(pointer, _)| {
            let found = spec.pointer(pointer).unwrap_or(&Value::Null);
            let text = format!("Invalid value: {found}: field is immutable");
            Cause::invalid(format!("spec{}", pointer.replace('/', ".")), text)
        })
        .collect()
}

/// The versions in which objects may be stored, but which the CRD no longer has.
fn lost_versions(object: &Value) -> Vec<Cause> {
    let stored = items(&object["status"]["storedVersions"]).enumerate();
    let is_there = |name: &Value| {
        versions(object)
            .iter()
            .any(|version| version["name"] == *name)
    };
    let lost = stored.filter(|(_, name)| !is_there(name));
    let cause = |(at, version): (usize, &Value)| {
        let name = version.as_str().unwrap_or_default();
        let text = format!(
            "Invalid value: {version}: missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        );
        Cause::invalid(format!("status.storedVersions[{at}]"), text)
    };
    lost.map(cause).collect()
}

/// A check of a part of a version, at a field.
type Check = fn(&Value, &str, &mut Vec<Cause>);

/// Checks versions. Violations in parts that all versions share are returned, because they are reported later.
fn check_versions(versions: &[Value], schemas: Schemas, causes: &mut Vec<Cause>) -> Vec<Cause> {
    const PARTS: [(&str, Check); 3] = [
        ("subresources", check_scale),
        ("additionalPrinterColumns", check_columns),
        ("selectableFields", check_selectable),
    ];
    let mut common = Vec::new();
    // The server converts parts that are equal in all versions to top-level fields, as v1beta1 has them, and names those in messages.
    let is_shared = |part: &str| {
        let mut all = versions.iter().map(|version| &version[part]);
        let first = all.next();
        all.all(|it| Some(it) == first)
    };
    let is_common = is_shared("schema");
    check_selectable_beside_schemas(versions, is_common, is_shared("selectableFields"), causes);
    for (at, version) in versions.iter().enumerate() {
        let found = version["name"].as_str().unwrap_or_default();
        let field = format!("spec.versions[{at}].name");
        refuse(&field, found, bad_dns1035(found), causes);
        let field = format!("spec.versions[{at}].schema.openAPIV3Schema");
        let schema = &version["schema"]["openAPIV3Schema"];
        if schema.is_null() {
            causes.push(Cause::required(field, ""));
        } else if schemas == Schemas::Skipped {
            // the caller checks the schemas itself
        } else if !is_common {
            check_schema(schema, &field, causes);
        } else if at == 0 {
            check_schema(schema, "spec.validation.openAPIV3Schema", &mut common);
        }
        let field = format!("spec.versions[{at}]");
        check_deprecation(version, &field, causes);
        for (part, check) in PARTS {
            match is_shared(part) {
                false => check(version, &field, causes),
                true if at == 0 => check(version, "spec", &mut common),
                true => {}
            }
        }
    }
    let mut names: Vec<&Value> = versions.iter().map(|version| &version["name"]).collect();
    names.sort_by_key(ToString::to_string);
    names.dedup();
    if names.len() != versions.len() {
        let why = "must contain unique version names";
        causes.push(invalid("spec.versions", in_go(versions), why));
    }
    let stored = versions.iter().filter(|version| version["storage"] == true);
    if stored.count() != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(invalid("spec.versions", in_go(versions), why));
    }
    let first = versions
        .first()
        .and_then(|version| version["name"].as_str());
    if let Some(first) = first.filter(|name| !name.is_empty()) {
        refuse("spec.version", first, bad_dns1035(first), causes);
    }
    common
}

/// Checks that the schema and the selectable fields are either both equal in all versions, or neither: the API server looks for the schema
/// where it finds the fields.
fn check_selectable_beside_schemas(
    versions: &[Value],
    is_schema_common: bool,
    are_fields_common: bool,
    causes: &mut Vec<Cause>,
) {
    let mut refuse = |field: String, wanted: &str| {
        let text = format!("Invalid value: \"\": may only be set when {wanted}");
        causes.push(Cause::invalid(field, text));
    };
    let selectable = versions.iter().enumerate().filter(|(_, version)| {
        let fields = version["selectableFields"].as_array();
        fields.is_some_and(|fields| !fields.is_empty())
    });
    for (at, _) in selectable {
        match (is_schema_common, are_fields_common) {
            (false, true) if at == 0 => refuse(
                "spec.selectableFields".into(),
                "validations.schema is included",
            ),
            (true, false) => refuse(
                format!("spec.versions[{at}].selectableFields"),
                "`version.schema.openAPIV3Schema` is not included",
            ),
            _ => {}
        }
    }
}

fn check_names(names: &Value, causes: &mut Vec<Cause>) {
    for field in ["plural", "singular", "kind", "listKind"] {
        let found = names[field].as_str().unwrap_or_default();
        let is_derived = field == "listKind"
            && found == "List"
            && names["kind"].as_str().unwrap_or_default().is_empty();
        let place = format!("spec.names.{field}");
        if found.is_empty() || is_derived {
            causes.push(Cause::required(place, ""));
        } else {
            let shown = match field {
                "kind" | "listKind" => found.to_lowercase(),
                _ => found.to_owned(),
            };
            refuse(&place, found, bad_dns1035(&shown), causes);
        }
    }
    for field in ["shortNames", "categories"] {
        let found = items(&names[field]);
        for (at, found) in found.enumerate() {
            let found = found.as_str().unwrap_or_default();
            let place = format!("spec.names.{field}[{at}]");
            refuse(&place, found, bad_dns1035(found), causes);
        }
        if field == "shortNames"
            && names["kind"] == names["listKind"]
            && let Some(kind) = names["kind"].as_str().filter(|kind| !kind.is_empty())
        {
            let text = format!("Invalid value: {kind:?}: kind and listKind may not be the same");
            causes.push(Cause::invalid("spec.names.listKind", text));
        }
    }
}

fn check_schema(schema: &Value, field: &str, causes: &mut Vec<Cause>) {
    if schema["type"].is_string() && schema["type"] != "object" {
        let (field, why) = (format!("{field}.type"), "must be object at the root");
        causes.push(invalid(field, &schema["type"], why));
        return;
    }
    match serde_json::from_value::<Schema>(schema.clone()) {
        Err(error) => causes.push(Cause::invalid(field, format!("Invalid value: {error}"))),
        Ok(read) => {
            causes.extend(structural_violations(&read, schema, field));
            #[cfg(feature = "cel")]
            causes.extend(rule_violations(&read, field));
        }
    }
}

/// Formats versions as Go does, without their parts.
fn in_go(versions: &[Value]) -> Value {
    if versions.is_empty() {
        return Value::Null;
    }
    versions
        .iter()
        .map(|version| {
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
        })
        .collect()
}

/// The reasons why a schema is not [structural].
///
/// [structural]: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
fn structural_violations(schema: &Schema, text: &Value, field: &str) -> Vec<Cause> {
    let problems = operator_schema::structural(schema).into_iter();
    problems
        .filter(|problem| problem.effect == Effect::Refused)
        .map(|problem| {
            let place = place(field, &problem.pointer);
            let found = text.pointer(&problem.pointer);
            let known = problem.message.strip_prefix("must be one of ");
            if let (Some(Value::String(found)), Some(known)) = (found, known) {
                let known: Vec<&str> = known.split(", ").collect();
                return unsupported(&place, format!("{found:?}"), &known);
            }
            let is_absent = found.is_none_or(|found| *found == "");
            let (reason, word) = if is_absent {
                ("FieldValueRequired", "Required value")
            } else {
                ("FieldValueForbidden", "Forbidden")
            };
            Cause {
                reason,
                message: format!("{word}: {}", problem.message),
                field: place,
            }
        })
        .collect()
}

/// Converts a pointer to a path below a field.
fn place(field: &str, pointer: &str) -> String {
    let mut place = field.to_owned();
    let mut in_map = false;
    for part in pointer.split('/').skip(1) {
        let part = pointer::unescape(part);
        if in_map || part.parse::<usize>().is_ok() {
            place += &format!("[{part}]");
        } else {
            place += &format!(".{part}");
        }
        in_map = !in_map && part == "properties";
    }
    place
}

/// The rules that do not compile or may cost too much, which are checked only with the feature `cel`.
#[cfg(feature = "cel")]
fn rule_violations(schema: &Schema, field: &str) -> Vec<Cause> {
    use operator_schema::RuleFaultKind;
    let refused = operator_schema::rule_faults(schema).into_iter();
    refused
        .map(|fault| {
            let place = place(field, &fault.pointer);
            match fault.kind {
                RuleFaultKind::Cost => Cause {
                    reason: "FieldValueForbidden",
                    message: format!("Forbidden: {}", fault.message),
                    field: place,
                },
                _ => invalid(place, format!("{:?}", fault.rule), fault.message),
            }
        })
        .collect()
}
