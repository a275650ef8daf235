//! The columns that a CustomResourceDefinition [adds](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns).

use serde_json::{Value, json};

use crate::kinds::cells::age;
use crate::model::column::PrinterColumn;
use crate::model::metadata::text;

fn cell(column: &PrinterColumn, object: &Value) -> Value {
    let Some(value) = column.path.find(object) else {
        return Value::Null;
    };
    match (column.column.type_.as_str(), value) {
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

/// The cells of an object: its name, and the columns.
pub(crate) fn cells(columns: &[PrinterColumn], object: &Value) -> Vec<Value> {
    let name = Value::from(text(object, "name"));
    let cells = columns.iter().map(|column| cell(column, object));
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
