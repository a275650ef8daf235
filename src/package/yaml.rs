//! Writes values to YAML files: a comment line, then a document for each value.
//!
//! Strings that YAML 1.1 would read as another type (`on`, `yes`, `1e3`) are quoted.

use serde_json::Value;

/// A file could not be written as YAML.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path} as YAML: {source}")]
pub struct Error {
    path: String,
    source: serde_saphyr::ser::Error,
}

/// The YAML of a value, without a comment.
pub fn plain(value: &Value) -> Result<String, Error> {
    serde_saphyr::to_string(value).map_err(|source| Error {
        path: "values.yaml".to_owned(),
        source,
    })
}

/// The text of a file: a comment and the documents.
pub fn text(path: &str, comment: &str, documents: &[Value]) -> Result<String, Error> {
    let mut text = format!("# {comment}\n");
    for (index, document) in documents.iter().enumerate() {
        if index > 0 {
            text.push_str("---\n");
        }
        let yaml = serde_saphyr::to_string(document).map_err(|source| Error {
            path: path.to_owned(),
            source,
        })?;
        text.push_str(yaml.trim_end());
        text.push('\n');
    }
    Ok(text)
}
