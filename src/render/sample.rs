//! A sample object for each kind, made from its schema.

use serde_json::{Map, Value, json};

use crate::{
    crd::{Api, Version},
    diagnostic::{Code, Diagnostic, Severity},
};

/// A sample of the kind that its schema accepts; without a namespace, so that it goes where it is applied.
pub fn sample(api: &Api, version: &Version) -> Result<Value, Diagnostic> {
    let made = operator_schema::sample(&version.schema);
    let root = match made {
        Ok(Value::Object(root)) => root,
        Ok(_) => Map::new(),
        Err(none) => {
            let first = none.violations.first();
            let why = first
                .map(|violation| format!("{}: {}", violation.path, violation.detail))
                .unwrap_or_default();
            return Err(Diagnostic {
                code: Code::NoValidSample,
                severity: Severity::Warning,
                pointer: version.schema_pointer(),
                message: format!(
                    "no sample could be made that its schema accepts; the closest has {why}"
                ),
                help: Some("write one by hand where the tests need it".into()),
            });
        }
    };
    let mut sample = json!({
        "apiVersion": format!("{}/{}", api.group, version.name),
        "kind": api.names.kind,
        "metadata": {"name": format!("{}-sample", api.names.singular)},
    });
    for (field, value) in root {
        if !matches!(
            field.as_str(),
            "apiVersion" | "kind" | "metadata" | "status"
        ) {
            sample[field] = value;
        }
    }
    Ok(sample)
}
