//! The versions of a CRD, and what the API server does with an object in each.

use std::path::Path;

use operator_schema::{Objects, Schema, apply_defaults, prune};
use serde_json::{Value, json};

use crate::install::documents;

/// A CRD, as far as conversions are concerned.
pub(super) struct Crd {
    pub name: String,
    pub group: String,
    kind: String,
    is_namespaced: bool,
    pub versions: Vec<Version>,
}

/// A version and its schema.
pub(super) struct Version {
    pub name: String,
    schema: Schema,
}

impl Crd {
    /// Reads a CRD from a file that may have several.
    ///
    /// # Panics
    ///
    /// If the file cannot be read or has no such CRD, with the path.
    pub fn read(path: &Path, name: &str) -> Self {
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let objects =
            documents(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let crd = objects.iter().find(|it| it["metadata"]["name"] == name);
        Self::of(crd.unwrap_or_else(|| panic!("{} has no CRD {name}", path.display())))
    }

    /// # Panics
    ///
    /// If a schema cannot be read.
    pub fn of(crd: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let spec = &crd["spec"];
        let versions = spec["versions"].as_array().into_iter().flatten();
        let versions = versions.map(|version| {
            let schema = &version["schema"]["openAPIV3Schema"];
            let schema = serde_json::from_value(schema.clone());
            Version {
                name: text(&version["name"]),
                schema: schema.unwrap_or_else(|error| panic!("{}: {error}", version["name"])),
            }
        });
        Self {
            name: text(&crd["metadata"]["name"]),
            group: text(&spec["group"]),
            kind: text(&spec["names"]["kind"]),
            is_namespaced: spec["scope"] == "Namespaced",
            versions: versions.collect(),
        }
    }

    /// The key of the annotation in which a conversion keeps the values that the other version cannot have.
    pub fn annotation(&self) -> String {
        format!("conversion.{}/kept", self.group)
    }

    /// `apiVersion` of a version.
    pub fn api_version(&self, version: &str) -> String {
        format!("{}/{version}", self.group)
    }

    /// The version that an object has by its `apiVersion`.
    pub fn version_of(&self, object: &Value) -> Option<&Version> {
        let api_version = object["apiVersion"].as_str()?;
        self.versions
            .iter()
            .find(|version| self.api_version(&version.name) == api_version)
    }

    /// Arbitrary valid objects of a version, the same in every run: first objects that cover its schema with all optional fields and
    /// edge cases, at most `covering`, then random ones.
    pub fn objects(&self, version: &Version, covering: usize) -> Vec<Value> {
        const RANDOM: usize = 100;
        // fewer large objects, so that the proof of a large kind takes seconds
        const BYTES: usize = 100_000;
        let mut objects = Objects::new(&version.schema, 22);
        let mut all = objects.cover(covering);
        let mut bytes = 0;
        all.extend(objects.take(RANDOM).take_while(|object| {
            bytes += object.to_string().len();
            bytes < BYTES
        }));
        all.into_iter()
            .enumerate()
            .map(|(index, object)| self.completed(version, object, index))
            .collect()
    }

    /// Completes an object with its version, kind and metadata. Every second one also has labels, annotations, finalizers and an owner.
    fn completed(&self, version: &Version, mut object: Value, index: usize) -> Value {
        object["apiVersion"] = self.api_version(&version.name).into();
        object["kind"] = self.kind.as_str().into();
        let mut metadata =
            json!({"name": "a", "uid": "u", "resourceVersion": "7", "generation": 2});
        if self.is_namespaced {
            metadata["namespace"] = "default".into();
        }
        if index % 2 == 1 {
            metadata["labels"] = json!({"a.example.com/b": "c"});
            metadata["annotations"] = json!({"a.example.com/b": "{}"});
            metadata["finalizers"] = json!(["a.example.com/b"]);
            metadata["ownerReferences"] =
                json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]);
        }
        if let Some(given) = object["metadata"].as_object() {
            for (name, value) in given {
                metadata[name] = value.clone();
            }
        }
        object["metadata"] = metadata;
        version.settle(&mut object);
        object
    }
}

impl Version {
    /// Drops unknown fields and sets defaults, as the API server does after each conversion. Returns the paths of the dropped fields.
    pub fn settle(&self, object: &mut Value) -> Vec<String> {
        let dropped = prune(&self.schema, object);
        apply_defaults(&self.schema, object);
        dropped
    }

    /// Why the API server would reject an object. With the feature `cel`, rules are evaluated too.
    pub fn violations(&self, object: &Value) -> Vec<String> {
        #[cfg(feature = "cel")]
        let violations = self.schema.validate(object).violations;
        #[cfg(not(feature = "cel"))]
        let violations = operator_schema::violations(&self.schema, object);
        let texts = violations.iter().map(ToString::to_string);
        // the API server adds this text to other violations
        let is_consequence =
            |text: &String| text.contains("some validation rules were not checked");
        texts.filter(|text| !is_consequence(text)).collect()
    }
}
