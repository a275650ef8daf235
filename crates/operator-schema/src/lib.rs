//! Structural schemas as the Kubernetes API server treats them.
//!
//! In: a [`Schema`] and JSON values. Out: violations, defaulted and pruned values, samples. It does no io and knows no client.

mod schema;

pub use schema::{Rule, Schema, SchemaOrBool};
