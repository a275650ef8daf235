//! Writes values to YAML files: a comment line, then a document for each value.
//!
//! Strings that YAML 1.1 would read as another type (`on`, `yes`, `1e3`) are quoted.

use serde_json::Value;

/// The YAML of a value, without a comment.
pub fn plain(value: &Value) -> String {
    serde_saphyr::to_string(value).expect("a JSON value can be written as YAML")
}

/// The text of a file: a comment and the documents.
pub fn text(comment: &str, documents: &[Value]) -> String {
    let documents: Vec<String> = documents
        .iter()
        .map(|document| format!("{}\n", plain(document).trim_end()))
        .collect();
    format!("# {comment}\n{}", documents.join("---\n"))
}
