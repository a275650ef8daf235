//! What the tests of a project ask of its own files: specs and samples.

use std::path::Path;

use kube::Resource;
use kube::core::CustomResourceExt;
use operator_schema::Schema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::Result;
use crate::difference::{of_version, spec_differences};
use crate::fixture::sample_text;

/// Reads an object from YAML, such as a sample of `manifests/samples/`.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let greeting: ConfigMap = operator_testing::sample("{metadata: {name: greeting}}")?;
/// assert_eq!(greeting.metadata.name.as_deref(), Some("greeting"));
/// # Ok::<_, operator_testing::Error>(())
/// ```
pub fn sample<K: DeserializeOwned>(yaml: &str) -> Result<K> {
    // serde_json's reader of values holds half as many copies of a large object on the stack as the reader of YAML
    let object: Value = serde_yaml::from_str(yaml)?;
    match K::deserialize(object) {
        Ok(object) => Ok(object),
        // this error has the line
        Err(_) => Ok(serde_yaml::from_str(yaml)?),
    }
}

/// The status (`True`, `False`, `Unknown`) of a [condition] of an object.
///
/// [condition]: https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties
///
/// ```
/// use operator_testing::condition;
///
/// let object = serde_json::json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
/// assert_eq!(condition(&object, "Ready").as_deref(), Some("False"));
/// ```
pub fn condition<K: Serialize>(object: &K, type_: &str) -> Option<String> {
    let object = serde_json::to_value(object).ok()?;
    let conditions = object["status"]["conditions"].as_array()?;
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == type_)?;
    found["status"].as_str().map(str::to_owned)
}

/// Compares `crd()` of a type with the spec that it was made from: names, scope, subresources, printer columns, selectable fields, and
/// the schema with all its rules and descriptions.
///
/// # Panics
///
/// Where they differ.
pub fn assert_is_spec<K: CustomResourceExt + Resource<DynamicType = ()>>(spec: &str) {
    let definition = definition(spec, &K::kind(&()));
    let crd = serde_json::to_value(K::crd()).expect("a definition is JSON");
    let differences = spec_differences(&definition, &crd, &K::version(&()));
    assert!(
        differences.is_empty(),
        "crd() is not its spec: {differences:#?}"
    );
}

/// The schema of a kind's version, as `crd()` has it, for tests of what the API server would say of an object.
///
/// With the feature `cel` its `validate` and `validate_update` ask the CEL rules as well, transition rules among them; without it
/// [`operator_schema::violations`] tells the rest. [`operator_schema::apply_defaults`] and [`operator_schema::prune`] do what the server
/// does before.
///
/// ```
/// use kube::CustomResource;
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
/// #[kube(group = "example.com", version = "v1", kind = "Widget", namespaced)]
/// struct WidgetSpec {
///     #[schemars(range(min = 1))]
///     size: i32,
/// }
///
/// let schema = operator_testing::schema::<Widget>();
/// let widget = serde_json::to_value(Widget::new("a", WidgetSpec { size: 0 }))?;
/// assert!(!operator_testing::operator_schema::violations(&schema, &widget).is_empty());
/// # Ok::<_, serde_json::Error>(())
/// ```
///
/// # Panics
///
/// Where `crd()` lacks the version or its schema.
pub fn schema<K: CustomResourceExt + Resource<DynamicType = ()>>() -> Schema {
    let crd = serde_json::to_value(K::crd()).expect("a definition is JSON");
    let version = of_version(&crd, &K::version(&()));
    serde_json::from_value(version["schema"]["openAPIV3Schema"].clone())
        .expect("the version has a schema")
}

/// Checks a sample against the schema of its version, and that the type reads and writes it without a loss.
///
/// # Panics
///
/// Where it is not valid, or changed.
pub fn assert_is_valid<K>(spec: &str, sample: &str)
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
{
    let definition = definition(spec, &K::kind(&()));
    let schema = &of_version(&definition, &K::version(&()))["schema"]["openAPIV3Schema"];
    let schema = Schema::deserialize(schema).expect("the spec has a schema");
    let value: Value = serde_yaml::from_str(sample).expect("the sample is YAML");
    let violations = operator_schema::violations(&schema, &value);
    assert!(
        violations.is_empty(),
        "the sample is not valid: {violations:#?}"
    );
    let object: K = serde_json::from_value(value.clone()).expect("the sample can be read");
    let written = serde_json::to_value(&object).expect("the sample can be written");
    assert_eq!(written, value, "read and written again, the sample changed");
}

/// As [`assert_is_valid`], for the sample of a file.
///
/// # Panics
///
/// Also where the file can't be read, or has more than one object or none; with its name.
pub fn assert_sample_is_valid<K>(spec: &str, path: impl AsRef<Path>)
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
{
    let sample = sample_text(path.as_ref()).unwrap_or_else(|error| panic!("{error}"));
    assert_is_valid::<K>(spec, &sample);
}

/// The CustomResourceDefinition of a kind among the documents of a spec.
fn definition(spec: &str, kind: &str) -> Value {
    serde_yaml::Deserializer::from_str(spec)
        .map(|document| {
            Value::deserialize(document)
                .unwrap_or_else(|error| panic!("the spec is no YAML: {error}"))
        })
        .find(|value| {
            value["kind"] == "CustomResourceDefinition" && value["spec"]["names"]["kind"] == kind
        })
        .unwrap_or_else(|| panic!("the spec does not define {kind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "the spec is no YAML")]
    fn a_spec_that_is_no_yaml_ends_the_search() {
        definition("kind: [a\nspec: {x: y", "Widget");
    }
}
