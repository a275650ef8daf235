//! Whether a CRD is applied over the installed one. A pure function of both.
//!
//! The operator that applies a CRD writes its own version into an annotation. The annotation counts as long as nobody else has changed the
//! versions of the CRD since, which the managed fields show: the higher version wins. Otherwise the schemas decide: a CRD is newer if it
//! has something that the other lacks.

use serde_json::{Map, Value};

/// What to do about an installed CRD.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The installed CRD is what the operator would apply.
    Keep,
    Apply,
    /// The installed CRD is newer.
    Leave {
        reason: String,
    },
    /// Applying would remove a version that stored objects may have.
    Refuse {
        version: String,
    },
}

/// The annotation with the version of the operator that applied a CRD.
pub(super) fn annotation(operator: &str) -> String {
    format!("{operator}/crd-version")
}

/// Decides what to do about the `installed` CRD. `own` is the CRD of this operator, which has this `version`.
pub(super) fn decide(own: &Value, version: &str, installed: &Value, operator: &str) -> Decision {
    let annotated = installed["metadata"]["annotations"][annotation(operator)]
        .as_str()
        .filter(|_| is_unchanged_by_others(installed, operator));
    let order = annotated.and_then(|annotated| {
        Some(release(version)?.cmp(&release(annotated)?)).filter(|order| order.is_ne())
    });
    let lost = losses(installed, own);
    if lost.is_empty() && is_same(installed, own) {
        return Decision::Keep;
    }
    let removed = missing_versions(installed, own);
    let mut stored = texts(&installed["status"]["storedVersions"]);
    let stored = stored.find(|stored| removed.contains(stored));
    // If our CRD has a version that the installed CRD lacks, this operator is not the older one.
    let is_ahead = !missing_versions(own, installed).is_empty();
    match (order, stored) {
        (Some(order), _) if order.is_lt() => Decision::Leave {
            reason: format!(
                "version {} of this operator applied it",
                annotated.unwrap_or_default()
            ),
        },
        (Some(_), None) => Decision::Apply,
        (Some(_), Some(stored)) => Decision::Refuse {
            version: stored.to_owned(),
        },
        (None, Some(stored)) if is_ahead => Decision::Refuse {
            version: stored.to_owned(),
        },
        (None, _) if lost.is_empty() => Decision::Apply,
        (None, _) => Decision::Leave {
            reason: format!("it has what this operator's CRD lacks: {}", summary(&lost)),
        },
    }
}

/// Whether the operator still owns the versions: a change by another manager would move the ownership to that one.
/// <https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management>
fn is_unchanged_by_others(installed: &Value, operator: &str) -> bool {
    let managers = installed["metadata"]["managedFields"].as_array();
    managers.into_iter().flatten().any(|entry| {
        entry["manager"] == operator && !entry["fieldsV1"]["f:spec"]["f:versions"].is_null()
    })
}

/// The numbers of a semantic version, and whether it is a release rather than a pre-release.
fn release(version: &str) -> Option<([u64; 3], bool)> {
    let version = version.split('+').next().unwrap_or_default();
    let (numbers, pre) = match version.split_once('-') {
        Some((numbers, pre)) => (numbers, Some(pre)),
        None => (version, None),
    };
    let numbers: Option<Vec<u64>> = numbers.split('.').map(|text| text.parse().ok()).collect();
    Some((numbers?.try_into().ok()?, pre.is_none()))
}

/// Whether `installed` is `own` with the defaults of the API server, which are neither in the versions nor in the lists of names.
fn is_same(installed: &Value, own: &Value) -> bool {
    let (installed, own) = (&installed["spec"], &own["spec"]);
    let has_no_more = ["/versions", "/names/shortNames", "/names/categories"]
        .iter()
        .all(|part| match (own.pointer(part), installed.pointer(part)) {
            (Some(own), Some(installed)) => covers(own, installed),
            (None, Some(installed)) => is_empty(installed),
            (_, None) => true,
        });
    has_no_more && covers(installed, own)
}

/// Whether `installed` has every value of `own`; it may have more, such as the defaults of the API server.
fn covers(installed: &Value, own: &Value) -> bool {
    match (installed, own) {
        (Value::Object(installed), Value::Object(own)) => {
            own.iter().all(|(key, own)| match installed.get(key) {
                Some(installed) => covers(installed, own),
                // an empty value means the same as none, except as the default of a field
                None => key != "default" && is_empty(own),
            })
        }
        (Value::Array(installed), Value::Array(own)) => {
            installed.len() == own.len()
                && installed
                    .iter()
                    .zip(own)
                    .all(|(installed, own)| covers(installed, own))
        }
        (Value::Number(installed), Value::Number(own)) => {
            installed == own || installed.as_f64() == own.as_f64()
        }
        (installed, own) => installed == own,
    }
}

/// Whether the API server drops the value, because it means the same as an absent field.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// What the installed CRD has and `own` lacks, so that objects that use it would lose it or become invalid.
fn losses(installed: &Value, own: &Value) -> Vec<String> {
    let mut lost = vec![];
    for version in versions(installed) {
        let name = version["name"].as_str().unwrap_or_default();
        let mut known = versions(own);
        match known.find(|known| known["name"] == *name) {
            None => lost.push(format!("version {name}")),
            Some(known) => {
                let [installed, own] =
                    [version, known].map(|version| &version["schema"]["openAPIV3Schema"]);
                schema_losses(installed, own, name, &mut lost);
            }
        }
    }
    lost
}

/// Adds what the installed schema has and `own` lacks. `path` is that of both.
fn schema_losses(installed: &Value, own: &Value, path: &str, lost: &mut Vec<String>) {
    const PRESERVE_UNKNOWN_FIELDS: &str = "x-kubernetes-preserve-unknown-fields";
    if own[PRESERVE_UNKNOWN_FIELDS] == true {
        return;
    }
    if installed[PRESERVE_UNKNOWN_FIELDS] == true {
        lost.push(format!("unknown fields in {path}"));
    }
    let empty = Map::new();
    let (properties, known) = [installed, own].map(|schema| &schema["properties"]).into();
    for (name, property) in properties.as_object().unwrap_or(&empty) {
        let path = format!("{path}.{name}");
        match (&known[name], &own["additionalProperties"]) {
            (Value::Null, Value::Null | Value::Bool(false)) => lost.push(path),
            (Value::Null, Value::Bool(true)) => {}
            (Value::Null, own) | (own, _) => schema_losses(property, own, &path, lost),
        }
    }
    for (keyword, suffix) in [("items", "[]"), ("additionalProperties", ".*")] {
        let path = format!("{path}{suffix}");
        match (&installed[keyword], &own[keyword]) {
            (Value::Null | Value::Bool(false), _) | (_, Value::Bool(true)) => {}
            (_, Value::Null | Value::Bool(false)) => lost.push(path),
            (installed, own) => schema_losses(installed, own, &path, lost),
        }
    }
    if let (Some(values), Some(known)) = (installed["enum"].as_array(), own["enum"].as_array()) {
        let unknown = values.iter().filter(|value| !known.contains(value));
        lost.extend(unknown.map(|value| format!("value {value} of {path}")));
    }
}

/// The names of the versions that only the first CRD has.
fn missing_versions<'a>(of: &'a Value, from: &Value) -> Vec<&'a str> {
    versions(of)
        .filter_map(|version| version["name"].as_str())
        .filter(|name| !versions(from).any(|version| version["name"] == **name))
        .collect()
}

fn versions(crd: &Value) -> impl Iterator<Item = &Value> {
    crd["spec"]["versions"].as_array().into_iter().flatten()
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Lists the first few, and how many more there are.
fn summary(lost: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = lost.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    let shown = shown.join(", ");
    match lost.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A CRD with a version of each name, whose schemas have these properties.
    fn crd(versions: &[&str], properties: Value) -> Value {
        let version = |name: &&str| {
            json!({ "name": name, "served": true, "storage": false, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": properties.clone(),
            } } })
        };
        let versions: Vec<Value> = versions.iter().map(version).collect();
        json!({ "spec": { "group": "example.com", "versions": versions } })
    }

    /// The CRD as it is installed, with a default of the API server and these stored versions.
    fn installed(mut crd: Value, stored: &[&str]) -> Value {
        crd["spec"]["conversion"] = json!({ "strategy": "None" });
        crd["status"]["storedVersions"] = json!(stored);
        crd
    }

    /// The CRD as this version of the operator has applied it.
    fn applied(crd: Value, version: &str) -> Value {
        let mut crd = installed(crd, &["v1"]);
        crd["metadata"]["annotations"]["op/crd-version"] = version.into();
        crd["metadata"]["managedFields"] = json!([
            { "manager": "kubectl", "fieldsV1": { "f:metadata": {} } },
            { "manager": "op", "fieldsV1": { "f:spec": { "f:group": {}, "f:versions": {} } } },
        ]);
        crd
    }

    fn text() -> Value {
        json!({ "type": "string" })
    }

    fn older() -> Value {
        crd(&["v1"], json!({ "a": text() }))
    }

    fn newer() -> Value {
        crd(&["v1"], json!({ "a": text(), "b": text() }))
    }

    fn decision(own: Value, installed: Value) -> Decision {
        decide(&own, "0.2.0", &installed, "op")
    }

    fn assert_left(own: Value, installed: Value, reason: &str) {
        match decision(own, installed) {
            Decision::Leave { reason: found } if found.contains(reason) => {}
            other => panic!("{other:?}, and not left because of {reason}"),
        }
    }

    #[test]
    fn what_the_api_server_adds_is_no_difference() {
        let mut own = older();
        own["spec"]["preserveUnknownFields"] = false.into();
        own["spec"]["versions"][0]["additionalPrinterColumns"] = json!([]);
        assert_eq!(
            decision(own.clone(), installed(older(), &["v1"])),
            Decision::Keep
        );
        let a = "/spec/versions/0/schema/openAPIV3Schema/properties/a";
        own.pointer_mut(a).unwrap()["default"] = "".into();
        assert_eq!(
            decision(own, installed(older(), &["v1"])),
            Decision::Apply,
            "an empty default is a value"
        );
    }

    #[test]
    fn without_a_version_the_schema_that_has_more_is_newer() {
        assert_eq!(
            decision(newer(), installed(older(), &["v1"])),
            Decision::Apply
        );
        assert_left(older(), installed(newer(), &["v1"]), "v1.b");
        for (more, fewer, lost) in [
            (
                json!({ "a": { "type": "array", "items": { "properties": { "b": text() } } } }),
                json!({ "a": { "type": "array", "items": { "properties": {} } } }),
                "v1.a[].b",
            ),
            (
                json!({ "a": { "additionalProperties": text() } }),
                json!({ "a": { "type": "object" } }),
                "v1.a.*",
            ),
            (
                json!({ "a": { "enum": ["x", "y"] } }),
                json!({ "a": { "enum": ["x"] } }),
                "value \"y\" of v1.a",
            ),
            (
                json!({ "a": { "x-kubernetes-preserve-unknown-fields": true } }),
                json!({ "a": { "type": "object" } }),
                "unknown fields in v1.a",
            ),
        ] {
            let [more, fewer] = [more, fewer].map(|properties| crd(&["v1"], properties));
            assert_left(fewer.clone(), installed(more.clone(), &["v1"]), lost);
            assert_eq!(decision(more, installed(fewer, &["v1"])), Decision::Apply);
        }
        let both = crd(&["v1", "v2"], json!({}));
        let first = crd(&["v1"], json!({}));
        assert_left(first, installed(both, &["v1", "v2"]), "version v2");
    }

    #[test]
    fn a_schema_that_preserves_unknown_fields_loses_nothing() {
        let anything = json!({ "a": { "x-kubernetes-preserve-unknown-fields": true } });
        let something = json!({ "a": { "properties": { "b": text() } } });
        let [anything, something] = [anything, something].map(|schema| crd(&["v1"], schema));
        assert_eq!(
            decision(anything, installed(something, &["v1"])),
            Decision::Apply
        );
    }

    #[test]
    fn a_dropped_constraint_is_a_difference() {
        let limited = crd(&["v1"], json!({ "a": { "type": "integer", "maximum": 9 } }));
        let free = crd(&["v1"], json!({ "a": { "type": "integer" } }));
        let unversioned = installed(limited.clone(), &["v1"]);
        assert_eq!(decision(free.clone(), unversioned), Decision::Apply);
        assert_eq!(
            decision(free.clone(), applied(limited.clone(), "0.1.0")),
            Decision::Apply
        );
        let mut named = free.clone();
        named["spec"]["names"]["shortNames"] = json!(["w"]);
        assert_eq!(
            decision(free.clone(), applied(named, "0.1.0")),
            Decision::Apply
        );
        assert_left(free, applied(limited, "0.10.0"), "0.10.0");
    }

    #[test]
    fn the_higher_version_of_the_operator_wins() {
        assert_eq!(
            decision(older(), applied(newer(), "0.1.9")),
            Decision::Apply
        );
        assert_left(newer(), applied(older(), "0.10.0"), "0.10.0");
        assert_left(older(), applied(newer(), "0.2.0"), "v1.b");
        assert_eq!(
            decision(newer(), applied(older(), "0.2.0")),
            Decision::Apply
        );
        assert_eq!(
            decision(older(), applied(newer(), "0.2.0-rc.1")),
            Decision::Apply,
            "a pre-release is older"
        );
        assert_eq!(decision(older(), applied(older(), "0.3.0")), Decision::Keep);
    }

    #[test]
    fn the_version_does_not_count_after_a_change_by_another() {
        let mut changed = applied(newer(), "0.1.0");
        changed["metadata"]["managedFields"][1]["fieldsV1"] =
            json!({ "f:spec": { "f:group": {} } });
        assert_left(older(), changed, "v1.b");
    }

    #[test]
    fn a_version_of_stored_objects_is_never_removed() {
        let next = || crd(&["v2"], json!({ "a": text() }));
        let refused = Decision::Refuse {
            version: "v1".into(),
        };
        assert_eq!(decision(next(), installed(older(), &["v1"])), refused);
        assert_eq!(decision(next(), applied(older(), "0.1.0")), refused);
        let both = crd(&["v1", "v2"], json!({ "a": text() }));
        let mut migrated = applied(both, "0.1.0");
        migrated["status"]["storedVersions"] = json!(["v2"]);
        assert_eq!(decision(next(), migrated), Decision::Apply);
    }
}
