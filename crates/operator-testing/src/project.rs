//! Reads samples, conditions and schemas in tests, and checks a project's own files: its CRDs and samples.

use std::path::Path;

use kube::Resource;
use kube::core::CustomResourceExt;
use operator_schema::Schema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::Result;
use crate::difference::{crd_differences, of_version};
use crate::fixture::sample_text;

/// Reads an object from YAML, for example a sample in `manifests/samples/`. Fails if the text does not contain exactly one object, or if
/// the object is not a `K`.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let greeting: ConfigMap = operator_testing::sample("{metadata: {name: greeting}}")?;
/// assert_eq!(greeting.metadata.name.as_deref(), Some("greeting"));
/// # Ok::<_, operator_testing::Error>(())
/// ```
pub fn sample<K: DeserializeOwned>(yaml: &str) -> Result<K> {
    // reading a `Value` puts half as many copies of a large object on the stack as reading YAML
    let object: Value = serde_yaml::from_str(yaml)?;
    match K::deserialize(object) {
        Ok(object) => Ok(object),
        // this error has the line and the column
        Err(_) => Ok(serde_yaml::from_str(yaml)?),
    }
}

/// Returns the status (`True`, `False`, `Unknown`) of a [condition] of an object; `None` if it does not have the condition.
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
    let condition = object["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == type_)?;
    condition["status"].as_str().map(str::to_owned)
}

/// Checks that `crd()` of a type equals the CRD in YAML from which the type was generated: names, scope, subresources, printer columns,
/// selectable fields, and the schema with its rules and descriptions.
///
/// # Panics
///
/// Panics with all differences, if there are any.
pub fn assert_is_crd<K: CustomResourceExt + Resource<DynamicType = ()>>(crd: &str) {
    let definition = definition(crd, &K::kind(&()));
    let derived = serde_json::to_value(K::crd()).expect("a definition is JSON");
    let differences = crd_differences(&definition, &derived, &K::version(&()));
    assert!(
        differences.is_empty(),
        "crd() is not its CRD: {differences:#?}"
    );
}

/// Returns the schema in `crd()` of a kind's version, to test whether the API server would accept an object.
///
/// With the feature `cel`, its methods `validate` and `validate_update` also evaluate CEL rules, including transition rules. Without the
/// feature, [`operator_schema::violations`] returns all other violations. Before validation, the API server calls the equivalents of
/// [`operator_schema::prune`] and [`operator_schema::apply_defaults`].
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
/// If `crd()` lacks the version or its schema.
pub fn schema<K: CustomResourceExt + Resource<DynamicType = ()>>() -> Schema {
    let crd = serde_json::to_value(K::crd()).expect("a definition is JSON");
    let version = of_version(&crd, &K::version(&()));
    serde_json::from_value(version["schema"]["openAPIV3Schema"].clone())
        .expect("the version has a schema")
}

/// Checks that a sample is valid according to the schema of its version in `crd`, with the feature `cel` also its rules, and that
/// the type `K` reads and writes it without loss.
///
/// # Panics
///
/// Panics with all problems, if the sample is invalid, has unknown fields, or is not the same after the type has read and written it.
pub fn assert_is_valid<K>(crd: &str, sample: &str)
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
{
    let problems = problems::<K>(crd, sample);
    assert!(
        problems.is_empty(),
        "the sample is not valid:\n{}",
        problems.join("\n")
    );
}

/// Like [`assert_is_valid`], for a sample in a file.
///
/// # Panics
///
/// Also panics, with the path, if the file cannot be read or does not contain exactly one object.
pub fn assert_sample_is_valid<K>(crd: &str, path: impl AsRef<Path>)
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
{
    let path = path.as_ref();
    let sample = sample_text(path).unwrap_or_else(|error| panic!("{error}"));
    let problems: Vec<String> = problems::<K>(crd, &sample)
        .into_iter()
        .map(|problem| format!("{}: {problem}", path.display()))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The problems of a sample.
fn problems<K>(crd: &str, sample: &str) -> Vec<String>
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
{
    let value: Value = match serde_yaml::from_str(sample) {
        Ok(value) => value,
        Err(error) => return vec![format!("it is not valid YAML: {error}")],
    };
    let expected = [("apiVersion", K::api_version(&())), ("kind", K::kind(&()))];
    let mut problems = vec![];
    for (field, expected) in expected {
        if value[field] != *expected {
            problems.push(format!("{field} is {}, not {expected:?}", value[field]));
        }
    }
    let definition = definition(crd, &K::kind(&()));
    let schema = &of_version(&definition, &K::version(&()))["schema"]["openAPIV3Schema"];
    let schema = Schema::deserialize(schema).expect("the CRD has a schema");
    problems.extend(schema_problems(&schema, &value));
    if !problems.is_empty() {
        return problems;
    }
    match K::deserialize(&value) {
        Err(error) => vec![format!("it can't be read: {error}")],
        Ok(object) => {
            let written = serde_json::to_value(&object).expect("the sample can be written");
            if written == value {
                vec![]
            } else {
                vec![format!(
                    "read and written again, it changed:\n{value:#}\nbecame\n{written:#}"
                )]
            }
        }
    }
}

/// The problems of an object by its schema: violations, also of rules with the feature `cel`, and fields that the API server would drop.
pub(crate) fn schema_problems(schema: &Schema, object: &Value) -> Vec<String> {
    let mut created = object.clone();
    let unknown = operator_schema::prune(schema, &mut created).into_iter();
    operator_schema::apply_defaults(schema, &mut created);
    let violations = operator_schema::violations(schema, &created);
    #[cfg(feature = "cel")]
    let violations = if violations.is_empty() {
        operator_schema::rule_violations(schema, &created, None).violations
    } else {
        violations
    };
    violations
        .into_iter()
        .map(|it| format!("{}: {}", it.path, it.detail))
        .chain(unknown.map(|path| format!("{path}: the schema does not have this field")))
        .collect()
}

/// The CustomResourceDefinition of a kind in the documents of a CRD file.
fn definition(crd: &str, kind: &str) -> Value {
    serde_yaml::Deserializer::from_str(crd)
        .map(|document| {
            Value::deserialize(document)
                .unwrap_or_else(|error| panic!("the CRD is not YAML: {error}"))
        })
        .find(|value| {
            value["kind"] == "CustomResourceDefinition" && value["spec"]["names"]["kind"] == kind
        })
        .unwrap_or_else(|| panic!("the CRD does not define {kind}"))
}

#[cfg(test)]
mod tests {
    use kube::CustomResource;

    use super::*;

    const CRD: &str = "
kind: CustomResourceDefinition
spec:
  names: {kind: Garden}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              soil: {type: string, enum: [sand, loam]}
              depth: {type: integer, default: 3}
            required: [depth]
            x-kubernetes-validations:
            - rule: \"!has(self.soil) || self.soil != 'loam' || self.depth > 3\"
              message: loam is deep
";

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
    #[kube(
        group = "example.com",
        version = "v1",
        kind = "Garden",
        namespaced,
        schema = "disabled"
    )]
    struct GardenSpec {
        soil: String,
    }

    #[test]
    fn each_problem_of_a_sample_is_reported() {
        let of = |sample: &str| problems::<Garden>(CRD, sample);
        let garden = |rest: &str| {
            format!("{{apiVersion: example.com/v1, kind: Garden, metadata: {{name: a}}, {rest}}}")
        };
        assert_eq!(of(&garden("spec: {soil: sand}")), [""; 0]);
        for (sample, expected) in [
            (garden("spec: {soil: clay}"), "spec.soil: "),
            #[cfg(feature = "cel")]
            (
                garden("spec: {soil: loam}"),
                "spec: Invalid value: loam is deep",
            ),
            (
                garden("spec: {soil: sand, sole: x}"),
                "spec.sole: the schema does not have this field",
            ),
            (garden("spec: {}"), "it can't be read: missing field `soil`"),
            (
                garden("spec: {soil: sand}").replace("Garden", "Gardn"),
                "kind is \"Gardn\", not \"Garden\"",
            ),
            (
                garden("spec: {soil: sand}").replace("v1", "v2"),
                "apiVersion is \"example.com/v2\", not \"example.com/v1\"",
            ),
            ("a: [".into(), "it is not valid YAML: "),
        ] {
            let problems = of(&sample);
            assert!(
                problems.len() == 1 && problems[0].starts_with(expected),
                "{sample}: {problems:?}"
            );
        }
    }

    #[test]
    #[should_panic(expected = "the CRD is not YAML")]
    fn a_crd_file_that_is_not_yaml_is_reported_as_such() {
        definition("kind: [a\nspec: {x: y", "Widget");
    }
}
