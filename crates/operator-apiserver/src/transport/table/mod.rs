//! [Tables]: objects as the rows that kubectl prints.
//!
//! In: an object or a list, and its kind. Out: columns and cells, as on the real server for custom kinds and for built-in kinds whose
//! strategy has cells; all other kinds have name and age.
//!
//! [Tables]: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables

mod custom;

use std::sync::Arc;

use serde_json::{Value, json};

use super::view::{items, partial};
use crate::kinds::cells::{self, plain};
use crate::kinds::strategy;
use crate::model::Kind;
use crate::model::column::{self, Column, PrinterColumn, age_column, name_column};
use crate::model::json::entries;
use crate::request::format::Include;

/// The kind of rows in a table.
#[derive(Clone, Debug)]
pub(crate) enum Rows {
    Objects(Arc<Kind>),
    /// The scale subresource of any kind.
    Scales,
}

/// Whether a table defines its columns. Only the later tables of a watch do not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Header {
    Shown,
    Omitted,
}

/// Converts an object or a list to a table.
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
            None => strategy(kind).cells.unwrap_or(plain)(object),
        },
    };
    let shown = match include {
        Include::Nothing => Value::Null,
        Include::Metadata => partial(object, "meta.k8s.io/v1"),
        Include::Object => with_kind(rows, object),
    };
    let mut row = json!({"cells": cells});
    if let Some(condition) = cells::pod::end(object) {
        row["conditions"] = json!([condition]);
    }
    row["object"] = shown;
    row
}

/// Adds `apiVersion` and `kind` to an object, which items of a built-in list lack.
fn with_kind(rows: &Rows, object: &Value) -> Value {
    let mut shown = json!({});
    if let Rows::Objects(kind) = rows {
        shown = json!({"kind": kind.kind, "apiVersion": kind.api_version()});
    }
    let fields = entries(object);
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
        Rows::Objects(kind) => match (&kind.custom, column::of_kind(kind)) {
            (Some(custom), _) => after_name(&custom.columns),
            (None, Some(columns)) => columns.clone(),
            (None, None) => vec![name_column().clone(), age_column().clone()],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::builtin::builtin;

    #[test]
    fn kinds_with_cells_are_those_with_recorded_columns() {
        for kind in &builtin().kinds {
            let object = json!({"metadata": {"name": "a"}});
            let cells = strategy(kind).cells.map(|cells| cells(&object).len());
            let columns = column::of_kind(kind).map(Vec::len);
            assert_eq!(
                cells,
                columns,
                "the cells in src/kinds/ and the columns in data/columns.json of {}, whose list is PRINTED in operator-testing/examples/record.rs",
                kind.qualified()
            );
        }
    }
}
