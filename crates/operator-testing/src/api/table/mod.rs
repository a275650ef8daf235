//! [Tables]: objects as the rows that kubectl prints.
//!
//! In: an object, or a list of them, and its kind. Out: columns and cells, as the real server has them for custom kinds and for the
//! built-in ones of [`builtin::cells`]; all others have their names and ages.
//!
//! [Tables]: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables

mod age;
mod builtin;
mod cluster;
mod core;
mod custom;
mod labels;
mod path;
mod pod;
mod workload;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) use self::custom::PrinterColumn;

use crate::api::form::{items, partial};
use crate::api::kind::Kind;
use crate::api::metadata::text;
use crate::api::status::{Failure, Result};

/// One column, as clients see it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Column {
    name: String,
    #[serde(rename = "type")]
    type_: String,
    #[serde(default)]
    format: String,
    #[serde(default)]
    description: String,
    /// 0 is always shown, more on request.
    #[serde(default)]
    priority: i32,
}

/// What rows hold of their objects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

/// What the rows of a table are of.
#[derive(Clone, Debug)]
pub(crate) enum Rows {
    Objects(Arc<Kind>),
    /// The scale subresource of any kind.
    Scales,
}

/// Whether a table says what its columns are: the first of a watch does, and each that is not of a watch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Header {
    Shown,
    Omitted,
}

impl Include {
    /// Reads `includeObject` of the query.
    pub fn read(text: &str) -> Result<Self> {
        match text {
            "None" => Ok(Self::Nothing),
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            other => Err(Failure::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', 'Object', 'None', or empty"
            ))),
        }
    }
}

/// An object or a list of them as a table.
pub(crate) fn table(rows: &Rows, object: &Value, include: Include, header: Header) -> Value {
    let mut metadata = json!({});
    for field in ["resourceVersion", "continue", "remainingItemCount"] {
        let value = &object["metadata"][field];
        if !value.is_null() {
            metadata[field] = value.clone();
        }
    }
    let items = items(object).unwrap_or_else(|| std::slice::from_ref(object));
    let shown: Vec<Value> = items.iter().map(|item| row(rows, item, include)).collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": match header {
            Header::Shown => json!(columns(rows)),
            Header::Omitted => Value::Null,
        },
        "rows": shown,
    })
}

fn row(rows: &Rows, object: &Value, include: Include) -> Value {
    let cells = match rows {
        Rows::Scales => custom::cells(&PrinterColumn::of_scales(), object),
        Rows::Objects(kind) => match &kind.custom {
            Some(custom) => custom::cells(&custom.columns, object),
            None => builtin::cells(kind, object).unwrap_or_else(|| plain(object)),
        },
    };
    let shown = match include {
        Include::Nothing => Value::Null,
        Include::Metadata => partial(object, "meta.k8s.io/v1"),
        Include::Object => with_kind(rows, object),
    };
    let mut row = json!({"cells": cells});
    if let Some(condition) = pod::end(object) {
        row["conditions"] = json!([condition]);
    }
    row["object"] = shown;
    row
}

/// An object with its kind, which those of a built-in list do not say.
fn with_kind(rows: &Rows, object: &Value) -> Value {
    let mut shown = json!({});
    if let Rows::Objects(kind) = rows {
        shown = json!({"kind": kind.kind, "apiVersion": kind.api_version()});
    }
    let fields = object.as_object().into_iter().flatten();
    for (name, value) in fields {
        shown[name.as_str()] = value.clone();
    }
    shown
}

fn columns(rows: &Rows) -> Vec<Column> {
    let after_name = |columns: &[PrinterColumn]| {
        let columns = columns.iter().map(|column| column.column.clone());
        std::iter::once(name_column().clone())
            .chain(columns)
            .collect()
    };
    match rows {
        Rows::Scales => after_name(&PrinterColumn::of_scales()),
        Rows::Objects(kind) => match (&kind.custom, recorded().get(&place(kind))) {
            (Some(custom), _) => after_name(&custom.columns),
            (None, Some(columns)) => columns.clone(),
            (None, None) => vec![name_column().clone(), age_column().clone()],
        },
    }
}

/// The cells of a kind that has no columns of its own.
fn plain(object: &Value) -> Vec<Value> {
    vec![
        text(object, "name").into(),
        age::since(&object["metadata"]["creationTimestamp"]).into(),
    ]
}

fn place(kind: &Kind) -> String {
    match kind.group.as_str() {
        "" => format!("api/{}/{}", kind.version, kind.plural),
        group => format!("apis/{group}/{}/{}", kind.version, kind.plural),
    }
}

/// The columns of built-in kinds, as `examples/record.rs` took them from a real server; read once a process.
fn recorded() -> &'static HashMap<String, Vec<Column>> {
    static RECORDED: OnceLock<HashMap<String, Vec<Column>>> = OnceLock::new();
    RECORDED.get_or_init(|| {
        serde_json::from_str(include_str!("../../../data/columns.json"))
            .expect("the recorded data has this form, which every test of tables sees")
    })
}

fn name_column() -> &'static Column {
    &recorded()["api/v1/serviceaccounts"][0]
}

fn age_column() -> &'static Column {
    &recorded()["api/v1/serviceaccounts"][1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::builtin::builtin;

    #[test]
    fn kinds_that_are_printed_are_those_whose_columns_are_recorded() {
        for kind in &builtin().kinds {
            let object = json!({"metadata": {"name": "a"}});
            let cells = builtin::cells(kind, &object).map(|cells| cells.len());
            let columns = recorded().get(&place(kind)).map(Vec::len);
            assert_eq!(cells, columns, "{}", place(kind));
        }
    }
}
