//! Structural schemas as the Kubernetes API server treats them.
//!
//! In: a [`Schema`] and JSON values. Out: violations, defaulted and pruned values, samples. It does no io and knows no client.
//!
//! | question | function |
//! |---|---|
//! | what does the API server refuse in this object, or in this update? | [`violations`], [`update_violations`] |
//! | which fields does it drop, which does it add? | [`prune`], [`apply_defaults`] |
//! | does the API server take this schema? | [`structural`] |
//! | which CEL rules does a schema have? | [`unchecked_rules`] |
//! | what do these say? (feature `cel`) | `Schema::validate`, `Schema::validate_update`, `rule_violations` |
//! | which of them are no CEL? (feature `cel`) | `unreadable_rules` |
//! | what does a valid object look like? | [`sample`] |
//! | what else can valid objects look like? | [`Objects`] |

mod correlate;
mod default;
mod embedded;
mod format;
mod go;
mod list;
mod number;
mod objects;
mod pattern;
mod prune;
#[cfg_attr(not(feature = "cel"), path = "unruled.rs")]
mod rules;
mod sample;
mod schema;
mod structural;
mod validate;
mod violation;

pub use default::apply_defaults;
pub use objects::{Coverage, Edge, Objects, Unreached};
pub use prune::prune;
#[cfg(feature = "cel")]
pub use rules::{Judgement, Unsupported, rule_violations, unreadable_rules};
pub use sample::{NoSample, sample};
pub use schema::{Rule, Schema, SchemaOrBool};
pub use structural::{Effect, Problem, UncheckedRule, structural, unchecked_rules};
pub use validate::{status_violations, update_violations, violations};
pub use violation::{Reason, Violation};
