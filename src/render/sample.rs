//! Objects of a kind that are generated from its schema: the sample, and arbitrary ones.

use operator_schema::{Objects, Schema, Violation};
use serde_json::{Map, Value, json};

use crate::{
    crd::{Api, Version},
    diagnostic::{Code, Diagnostic, Severity},
};

/// A sample of the kind that its schema accepts, without a namespace, so that it is created in the namespace in which it is applied.
pub fn sample(api: &Api, version: &Version) -> Result<Value, Diagnostic> {
    let made = operator_schema::sample(&scaled(version));
    let root = match made {
        Ok(Value::Object(root)) => root,
        Ok(_) => Map::new(),
        Err(none) => return Err(no_sample(version, &none.violations)),
    };
    let name = format!("{}-sample", api.names.singular);
    let mut sample = whole(api, version, &name, root);
    let required = version.schema.required.iter().any(|wire| wire == "status");
    if required && !version.status_subresource {
        return Ok(sample);
    }
    if let Some(sample) = sample.as_object_mut() {
        sample.shift_remove("status");
    }
    if required {
        // the API server removes the status from a new object before it checks required fields
        let violations = operator_schema::violations(&version.schema, &sample);
        return Err(no_sample(version, &violations));
    }
    Ok(sample)
}

fn no_sample(version: &Version, violations: &[Violation]) -> Diagnostic {
    let first = violations.first();
    let why = first
        .map(|violation| format!("{}: {}", violation.path, violation.detail))
        .unwrap_or_default();
    Diagnostic {
        code: Code::NoValidSample,
        severity: Severity::Warning,
        pointer: version.schema_pointer(),
        message: format!(
            "no sample that its schema accepts could be generated; the closest one has {why}"
        ),
        instead: Some("the project has no sample and no test for the kind".into()),
        help: Some("write one by hand if the tests need it".into()),
    }
}

/// `count` arbitrary objects of the kind that its schema accepts, the sample first; fewer only if there is none.
pub fn objects(api: &Api, version: &Version, seed: u64, count: usize) -> Vec<Value> {
    let schema = scaled(version);
    let objects = Objects::new(&schema, seed).take(count);
    let numbered = objects.enumerate().map(|(index, object)| {
        let root = match object {
            Value::Object(root) => root,
            _ => Map::new(),
        };
        let name = format!("{}-{}", api.names.singular, index + 1);
        whole(api, version, &name, root)
    });
    numbered.collect()
}

/// The version's schema, with the API server's requirements for the fields that the scale subresource reads: integers from 0 to 2³¹ - 1.
fn scaled(version: &Version) -> Schema {
    let mut schema = version.schema.clone();
    let paths = version.scale.iter();
    for path in paths.flat_map(|scale| [&scale.spec_replicas_path, &scale.status_replicas_path]) {
        let mut names = path.split('.').filter(|name| !name.is_empty());
        let field = names.try_fold(&mut schema, |schema, name| schema.properties.get_mut(name));
        if let Some(field) = field.filter(|field| field.type_.as_deref() == Some("integer")) {
            let least = field.minimum.take().filter(|it| it.as_f64() > Some(0.0));
            field.minimum = Some(least.unwrap_or_else(|| 0.into()));
            let most = field
                .maximum
                .take()
                .filter(|it| it.as_f64() < Some(i32::MAX.into()));
            field.maximum = Some(most.unwrap_or_else(|| i32::MAX.into()));
        }
    }
    schema
}

/// An object of the kind with these fields; `name` is used only if the fields contain none.
fn whole(api: &Api, version: &Version, name: &str, root: Map<String, Value>) -> Value {
    let mut object = json!({
        "apiVersion": format!("{}/{}", api.group, version.name),
        "kind": api.names.kind,
        "metadata": {"name": name},
    });
    // Some kinds have rules about the name.
    if let Some(named) = root.get("metadata").and_then(|it| it.get("name")) {
        object["metadata"]["name"] = named.clone();
    }
    for (field, value) in root {
        if !matches!(field.as_str(), "apiVersion" | "kind" | "metadata") {
            object[field] = value;
        }
    }
    object
}
