//! Structural schemas as the Kubernetes API server treats them.
//!
//! In: a [`Schema`] and JSON values. Out: violations, defaulted and pruned values, samples. The crate does no I/O and needs no client.
//!
//! | question | function |
//! |---|---|
//! | why does the API server reject this object, or this update? | [`violations`], [`update_violations`] |
//! | which fields does it drop, and which does it add? | [`prune`], [`apply_defaults`] |
//! | does the API server accept this schema? | [`structural`] |
//! | which CEL rules does a schema have? | [`unchecked_rules`] |
//! | does an object satisfy them? (feature `cel`) | `Schema::validate`, `Schema::validate_update`, `rule_violations` |
//! | for which of them does the API server reject the CRD? (feature `cel`) | `rule_faults` |
//! | what does the API server expect them to cost? (feature `cel`) | `rule_costs` |
//! | what does a valid object look like? | [`sample`] |
//! | what else can valid objects look like? | [`Objects`] |
//! | how is an object written so that two revisions of it are easy to compare? | [`reviewable`] |
//!
//! A request passes through these as in the API server: unknown fields are dropped, defaults are set, then the object is validated.
//!
//! ```
//! use operator_schema::{Schema, apply_defaults, prune, sample, violations};
//! use serde_json::json;
//!
//! let schema: Schema = serde_json::from_value(json!({
//!     "type": "object",
//!     "properties": {"spec": {"type": "object", "required": ["name"], "properties": {
//!         "name": {"type": "string"},
//!         "size": {"type": "integer", "minimum": 1, "default": 3},
//!     }}},
//! }))?;
//! let mut object = json!({"spec": {"name": "a", "colour": "red"}});
//! assert_eq!(prune(&schema, &mut object), ["spec.colour"]);
//! apply_defaults(&schema, &mut object);
//! assert_eq!(object, json!({"spec": {"name": "a", "size": 3}}));
//! assert!(violations(&schema, &object).is_empty());
//!
//! object["spec"]["size"] = json!(0);
//! assert_eq!(
//!     violations(&schema, &object)[0].to_string(),
//!     "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"
//! );
//! let valid = sample(&schema).expect("the schema has valid objects");
//! assert!(valid["spec"]["name"].is_string());
//! # Ok::<_, serde_json::Error>(())
//! ```

#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::too_many_lines, clippy::unwrap_used))]

mod correlate;
mod default;
pub mod dev;
mod embedded;
mod format;
mod go;
mod list;
mod number;
mod objects;
mod path;
mod pattern;
pub mod pointer;
mod prune;
mod reviewable;
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
pub use reviewable::reviewable;
#[cfg(feature = "cel")]
pub use rules::{
    ConditionError, Judgement, RuleCost, RuleFault, RuleFaultKind, Unsupported, condition,
    rule_costs, rule_faults, rule_violations,
};
pub use sample::{NoSample, sample};
pub use schema::{Rule, Schema, SchemaOrBool};
pub use structural::{Effect, Problem, UncheckedRule, structural, unchecked_rules};
pub use validate::{status_violations, update_violations, violations};
pub use violation::{Reason, Violation};
