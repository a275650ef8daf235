//! The cells of an object's row in a [table], for kinds that have columns of their own.
//!
//! [table]: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables

pub(crate) mod age;
pub(crate) mod cluster;
pub(crate) mod core;
pub(crate) mod pod;
pub(crate) mod workload;

use serde_json::Value;

use crate::model::metadata::text;

/// The cells of a kind without its own columns.
pub(crate) fn plain(object: &Value) -> Vec<Value> {
    vec![name(object), age(object)]
}

fn name(object: &Value) -> Value {
    text(object, "name").into()
}

fn age(object: &Value) -> Value {
    age::since(&object["metadata"]["creationTimestamp"]).into()
}
