//! Structural schemas as the Kubernetes API server treats them.
//!
//! In: a [`Schema`] and JSON values. Out: violations, defaulted and pruned values, samples. It does no io and knows no client.
//!
//! | question | function |
//! |---|---|
//! | what does the API server refuse in this object? | [`violations`] |
//! | which fields does it drop, which does it add? | [`prune`], [`apply_defaults`] |
//! | does the API server take this schema? | [`structural`] |
//! | which CEL rules are left unchecked? | [`unchecked_rules`] |
//! | what does a valid object look like? | [`sample`] |
//! | what else can valid objects look like? | [`Objects`] |

mod default;
mod embedded;
mod format;
mod go;
mod list;
mod number;
mod objects;
mod pattern;
mod prune;
mod sample;
mod schema;
mod structural;
mod validate;
mod violation;

pub use default::apply_defaults;
pub use objects::{Coverage, Edge, Objects, Unreached};
pub use prune::prune;
pub use sample::{NoSample, sample};
pub use schema::{Rule, Schema, SchemaOrBool};
pub use structural::{Problem, UncheckedRule, structural, unchecked_rules};
pub use validate::violations;
pub use violation::{Reason, Violation};
