//! The columns that a CustomResourceDefinition [adds](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns).

use serde::Deserialize;
use serde_json::{Value, json};

use super::path::Path;
use super::{Column, age, age_column};
use crate::api::metadata::text;

/// A column and where its cells come from.
#[derive(Clone, Debug)]
pub(crate) struct PrinterColumn {
    pub(super) column: Column,
    path: Path,
}

/// As definitions write it.
#[derive(Deserialize)]
struct Written {
    #[serde(flatten)]
    column: Column,
    #[serde(rename = "jsonPath")]
    json_path: String,
}

impl PrinterColumn {
    /// The columns of a version; its age when it adds none.
    pub fn of_version(version: &Value) -> Vec<Self> {
        let written = version["additionalPrinterColumns"].as_array();
        match written.filter(|columns| !columns.is_empty()) {
            Some(columns) => columns.iter().filter_map(Self::read).collect(),
            None => vec![Self {
                column: Column {
                    type_: "date".to_owned(),
                    ..age_column().clone()
                },
                path: Path::read(".metadata.creationTimestamp"),
            }],
        }
    }

    /// The columns of the scale subresource.
    pub fn of_scales() -> Vec<Self> {
        let count = |name: &str, json_path: &str, description: &str| json!({"name": name, "type": "integer", "description": description, "jsonPath": json_path});
        let counts = [
            count("Desired", ".spec.replicas", "Number of desired replicas"),
            count("Available", ".status.replicas", "Number of actual replicas"),
        ];
        let counts = counts.iter().filter_map(Self::read);
        counts.chain(Self::of_version(&Value::Null)).collect()
    }

    fn read(written: &Value) -> Option<Self> {
        let mut written = Written::deserialize(written).ok()?;
        if written.column.description.is_empty() {
            written.column.description = format!(
                "Custom resource definition column (in JSONPath format): {}",
                written.json_path
            );
        }
        Some(Self {
            path: Path::read(&written.json_path),
            column: written.column,
        })
    }

    fn cell(&self, object: &Value) -> Value {
        let Some(value) = self.path.find(object) else {
            return Value::Null;
        };
        match (self.column.type_.as_str(), value) {
            ("string", value) => printed(value).into(),
            ("integer", Value::Number(number)) => {
                // A fraction is cut off, as Go's conversion does.
                let whole = number
                    .as_i64()
                    .or(number.as_f64().map(|number| number as i64));
                json!(whole)
            }
            ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
            ("date", Value::String(_)) => age::since(value).into(),
            _ => Value::Null,
        }
    }
}

/// Name and columns of an object.
pub(super) fn cells(columns: &[PrinterColumn], object: &Value) -> Vec<Value> {
    let name = Value::from(text(object, "name"));
    let cells = columns.iter().map(|column| column.cell(object));
    std::iter::once(name).chain(cells).collect()
}

fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<no value>".to_owned(),
        Value::Object(_) | Value::Array(_) => {
            let mut sorted = value.clone();
            sorted.sort_all_objects();
            sorted.to_string()
        }
        other => other.to_string(),
    }
}
