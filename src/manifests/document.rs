//! Objects on their way to YAML files: one comment line, then a document for each object.
//!
//! Strings that YAML 1.1 would read as something else (`on`, `yes`, `1e3`) are quoted.

use k8s_openapi::Resource;
use serde::Serialize;
use serde_json::Value;

use super::Error;

/// First line of every file.
const HEADER: &str = "# Written by `cargo operator gen-manifests` from operator.toml and crds/. \
                      Patch it from overlays/.\n";

/// One object, ready to be written.
pub struct Document(Value);

/// A file's path and the objects in it.
pub struct File {
    pub path: String,
    documents: Vec<Document>,
}

impl Document {
    pub fn of(object: impl Resource + Serialize) -> Self {
        Self::plain(object)
    }

    /// Something that is no object of the API, such as a `Kustomization`.
    pub fn plain(value: impl Serialize) -> Self {
        Self(serde_json::to_value(value).expect("maps with string keys and finite numbers"))
    }
}

impl From<Value> for Document {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

impl File {
    pub fn new(path: impl Into<String>, documents: Vec<Document>) -> Self {
        Self {
            path: path.into(),
            documents,
        }
    }

    pub fn under(self, folder: &str) -> Self {
        Self {
            path: format!("{folder}/{}", self.path),
            ..self
        }
    }

    pub fn to_yaml(&self) -> Result<(String, String), Error> {
        let mut text = HEADER.to_owned();
        for (index, document) in self.documents.iter().enumerate() {
            if index > 0 {
                text.push_str("---\n");
            }
            let yaml = serde_saphyr::to_string(&document.0).map_err(|source| Error::Yaml {
                path: self.path.clone(),
                source,
            })?;
            text.push_str(yaml.trim_end());
            text.push('\n');
        }
        Ok((self.path.clone(), text))
    }
}
