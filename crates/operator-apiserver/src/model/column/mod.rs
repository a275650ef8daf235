//! The columns of tables: those recorded from a real server for built-in kinds, and those that a CustomResourceDefinition [adds].
//!
//! [adds]: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns

mod path;

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::path::Path;
use super::kind::Kind;

/// A column, as clients get it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Column {
    pub name: String,
    #[serde(rename = "type")]
    pub type_: String,
    #[serde(default)]
    pub format: String,
    #[serde(default)]
    pub description: String,
    /// Columns with priority 0 are always shown, others on request.
    #[serde(default)]
    pub priority: i32,
}

/// A column, and the path to its cells.
#[derive(Clone, Debug)]
pub(crate) struct PrinterColumn {
    pub column: Column,
    pub path: Path,
}

/// A column in a CRD.
#[derive(Deserialize)]
struct Written {
    #[serde(flatten)]
    column: Column,
    #[serde(rename = "jsonPath")]
    json_path: String,
}

impl PrinterColumn {
    /// The columns of a version; only the age if the CRD has none.
    pub fn of_version(version: &Value) -> Vec<Self> {
        let written = version["additionalPrinterColumns"].as_array();
        match written.filter(|columns| !columns.is_empty()) {
            Some(columns) => columns.iter().filter_map(Self::read).collect(),
            None => vec![Self {
                column: Column {
                    // built-in kinds have an age of type `string`
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
}

/// The recorded columns of a built-in kind, if it has its own.
pub(crate) fn of_kind(kind: &Kind) -> Option<&'static Vec<Column>> {
    recorded().get(&place(kind))
}

/// The columns of built-in kinds, which `examples/record.rs` recorded from a real server; parsed once per process.
fn recorded() -> &'static HashMap<String, Vec<Column>> {
    static RECORDED: OnceLock<HashMap<String, Vec<Column>>> = OnceLock::new();
    RECORDED.get_or_init(|| {
        serde_json::from_str(include_str!("../../../data/columns.json"))
            .expect("the recorded data has this form, which every test of tables sees")
    })
}

pub(crate) fn name_column() -> &'static Column {
    &recorded()["api/v1/serviceaccounts"][0]
}

pub(crate) fn age_column() -> &'static Column {
    &recorded()["api/v1/serviceaccounts"][1]
}

/// The key of a kind in the recorded data.
fn place(kind: &Kind) -> String {
    match kind.group.as_str() {
        "" => format!("api/{}/{}", kind.version, kind.plural),
        group => format!("apis/{group}/{}/{}", kind.version, kind.plural),
    }
}
