//! Objects of a kind that are generated from its schema: the sample, and arbitrary ones.

use operator_schema::{Objects, Schema, Violation, apply_defaults, unchecked_rules};
use serde_json::{Map, Value, json};

use crate::{
    crd::{Api, Version},
    diagnostic::{Code, Diagnostic, Severity},
    operator::ResourceType,
};

/// No object was found that the schema accepts.
#[derive(Debug)]
pub struct NoSample {
    /// The object that violates the least.
    pub closest: Value,
    pub violations: Vec<Violation>,
}

/// A sample of the kind that its schema accepts, without a namespace, so that it is created in the namespace in which it is applied.
pub fn sample(api: &Api, version: &Version) -> Result<Value, NoSample> {
    let made = operator_schema::sample(&served_schema(version));
    let (root, mut violations) = match made {
        Ok(root) => (root, vec![]),
        Err(none) => (none.closest, none.violations),
    };
    let root = match root {
        Value::Object(root) => root,
        _ => Map::new(),
    };
    let name = format!("{}-sample", api.names.singular);
    let mut sample = with_type_and_name(api, version, &name, root);
    let required = version.schema.required.iter().any(|wire| wire == "status");
    if !required || version.status_subresource {
        if let Some(sample) = sample.as_object_mut() {
            sample.shift_remove("status");
        }
        if required && violations.is_empty() {
            // the API server removes the status from a new object before it checks required fields
            violations = operator_schema::violations(&version.schema, &sample);
        }
    }
    if violations.is_empty() {
        Ok(sample)
    } else {
        Err(NoSample {
            closest: sample,
            violations,
        })
    }
}

impl NoSample {
    /// Describes the first violation of the closest object.
    pub fn why(&self) -> String {
        let first = self
            .violations
            .first()
            .map(|it| format!("{}: {}", it.path, it.detail));
        format!(
            "no sample that its schema accepts could be generated; the closest one has {}",
            first.unwrap_or_default()
        )
    }

    /// Lists all violations of the closest object, one on each line.
    pub fn list(&self) -> String {
        self.violations
            .iter()
            .map(|it| format!("\n  {it}"))
            .collect()
    }

    /// The warning that `file` has the closest object instead of a sample.
    pub fn diagnostic(&self, version: &Version, file: &str) -> Diagnostic {
        // to find the pointer of the rule that the closest object breaks
        let rules = unchecked_rules(&version.schema);
        let broken = rules.iter().find(|it| {
            let text = it.rule.message.as_ref().unwrap_or(&it.rule.rule);
            self.violations
                .first()
                .into_iter()
                .any(|violation| violation.detail.contains(text.trim()))
        });
        Diagnostic {
            code: Code::NoValidSample,
            severity: Severity::Warning,
            pointer: version.schema_pointer() + broken.map_or("", |it| it.pointer.as_str()),
            message: self.why(),
            instead: Some(format!(
                "{file} has the closest one, and tests fail until it is valid"
            )),
            help: Some(format!(
                "edit it, and keep the edit with `cargo operator regenerate --adopt {file}`; or correct the schema if it contradicts itself. The closest object violates{}",
                self.list()
            )),
        }
    }
}

/// A minimal object of a built-in kind, if there is one that needs nothing else in the cluster.
pub fn builtin_sample(resource: &ResourceType) -> Option<Value> {
    let samples: Vec<Value> =
        serde_json::from_str(include_str!("builtin_samples.json")).expect("a test reads it");
    let api_version = match resource.group.as_str() {
        "" => resource.version.clone(),
        group => format!("{group}/{}", resource.version),
    };
    let is_meant = |it: &Value| it["apiVersion"] == *api_version && it["kind"] == *resource.kind;
    samples.into_iter().find(is_meant)
}

/// The rules that the sample may break, because they could not be evaluated.
pub fn unevaluated_rules(version: &Version, sample: &Value) -> Vec<Diagnostic> {
    let schema = served_schema(version);
    let mut object = sample.clone();
    apply_defaults(&schema, &mut object);
    let unsupported = operator_schema::rule_violations(&schema, &object, None).unsupported;
    let mut diagnostics: Vec<Diagnostic> = unsupported
        .into_iter()
        .map(|it| Diagnostic {
            code: Code::UncheckedRule,
            severity: Severity::Warning,
            pointer: version.schema_pointer() + &it.pointer,
            // the other lines only repeat the rule
            message: format!(
                "the rule `{}` could not be evaluated: {}",
                it.rule.trim().replace('\n', " "),
                it.what.lines().next().unwrap_or_default()
            ),
            instead: Some("the sample may break it".into()),
            help: Some("compare the sample with the rule: the API server evaluates it".into()),
        })
        .collect();
    // a rule for items is reported once, not once for each item
    diagnostics.dedup_by(|a, b| a.pointer == b.pointer);
    diagnostics
}

/// Why the API server would refuse to create the object.
pub fn violations(version: &Version, object: &Value) -> Vec<Violation> {
    let schema = served_schema(version);
    let mut object = object.clone();
    if version.status_subresource
        && let Some(fields) = object.as_object_mut()
    {
        fields.shift_remove("status");
    }
    apply_defaults(&schema, &mut object);
    let mut violations = operator_schema::violations(&schema, &object);
    violations.extend(operator_schema::rule_violations(&schema, &object, None).violations);
    violations
}

/// `count` arbitrary objects of the kind that its schema accepts, the sample first; fewer only if there is none.
pub fn objects(api: &Api, version: &Version, seed: u64, count: usize) -> Vec<Value> {
    let schema = served_schema(version);
    Objects::new(&schema, seed)
        .take(count)
        .enumerate()
        .map(|(index, object)| {
            let root = match object {
                Value::Object(root) => root,
                _ => Map::new(),
            };
            let name = format!("{}-{}", api.names.singular, index + 1);
            with_type_and_name(api, version, &name, root)
        })
        .collect()
}

/// The version's schema as the API server uses it: the fields that the scale subresource reads are integers from 0 to 2³¹ - 1, and rules
/// can refer to the metadata, whether the schema has it or not.
fn served_schema(version: &Version) -> Schema {
    let mut schema = version.schema.clone();
    if !schema.validations.is_empty() {
        for (field, type_) in [
            ("apiVersion", "string"),
            ("kind", "string"),
            ("metadata", "object"),
        ] {
            let properties = &mut schema.properties;
            properties
                .entry(field.to_owned())
                .or_insert_with(|| Schema {
                    type_: Some(type_.to_owned()),
                    ..Schema::default()
                });
        }
    }
    let paths = version.scale.iter();
    for path in paths.flat_map(|scale| [&scale.spec_replicas_path, &scale.status_replicas_path]) {
        let field = path
            .split('.')
            .filter(|name| !name.is_empty())
            .try_fold(&mut schema, |schema, name| schema.properties.get_mut(name));
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
fn with_type_and_name(api: &Api, version: &Version, name: &str, root: Map<String, Value>) -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::builtin_kinds;

    #[test]
    fn a_rule_about_the_name_needs_no_metadata_in_the_schema() {
        let text = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: limits.example.com}
spec:
  group: example.com
  names: {kind: Limit, plural: limits, singular: limit}
  scope: Cluster
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          x-kubernetes-validations:
            - rule: self.metadata.name == 'cluster'
          properties:
            spec: {type: object}
"#;
        let api = crate::crd::read("limits.yaml", text).unwrap().remove(0);
        let sample = sample(&api, &api.versions[0]).unwrap();
        assert_eq!(sample["metadata"]["name"], "cluster");
    }

    #[tokio::test]
    async fn the_api_server_accepts_the_samples_of_all_built_in_kinds() {
        let samples: Vec<Value> =
            serde_json::from_str(include_str!("builtin_samples.json")).unwrap();
        let mut rejected = vec![];
        for sample in &samples {
            let server = operator_testing::Server::start().await.unwrap();
            let text = |name: &str| sample[name].as_str().unwrap().to_owned();
            let kind = format!("{}/{}", text("apiVersion"), text("kind"));
            if let Err(error) = server.install(&sample.to_string()).await {
                rejected.push(format!("{kind}: {error}"));
            }
            let resource = ResourceType::named(&kind, &[]).unwrap();
            assert!(resource.k8s_openapi_path().is_some(), "{kind}");
            assert_eq!(builtin_sample(&resource).as_ref(), Some(sample));
        }
        assert_eq!(rejected, [""; 0]);
        // all but CertificateSigningRequest, which somebody has to sign
        assert_eq!(samples.len(), builtin_kinds().count() - 1);
    }
}
