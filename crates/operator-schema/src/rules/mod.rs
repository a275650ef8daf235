//! Evaluates the CEL rules of a schema as the API server does.
//!
//! The traversal of the schema, the correlation of old and new values, and the messages are those of the API server; the crate `kube-cel`
//! evaluates single expressions. What it does not support is reported as [`Unsupported`].

mod check;
mod condition;
mod depth;
mod evaluate;
mod functions;
mod message;
mod parse;
mod sampling;
mod solve;
mod tree;
mod value;

pub use check::{RuleCost, RuleFault, RuleFaultKind, rule_costs, rule_faults};
pub use condition::{ConditionError, condition};
pub(crate) use sampling::{broken, mentioned, metadata, permits};
pub(crate) use solve::solve;

use self::depth::with_stack;
use self::evaluate::Evaluation;
use crate::correlate::Old;
use crate::default::field;
use crate::path::enter;
use crate::{Reason, Schema, Violation, status_violations, update_violations, violations};
use serde_json::Value;

/// A rule that was not evaluated, because the evaluator does not support it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{pointer}: {what}: {rule}")]
pub struct Unsupported {
    /// A JSON pointer from the root of the schema to the rule.
    pub pointer: String,
    /// The CEL expression.
    pub rule: String,
    /// The unsupported function, `syntax`, or the error of the evaluation.
    pub what: String,
}

/// The result of a validation that includes rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Why the API server would reject the object.
    pub violations: Vec<Violation>,
    /// The rules that could not be evaluated; the API server may reject the object because of them as well.
    pub unsupported: Vec<Unsupported>,
}

impl Judgement {
    /// Whether there are no violations, and all rules were evaluated.
    pub fn is_valid(&self) -> bool {
        self.violations.is_empty() && self.unsupported.is_empty()
    }
}

impl Schema {
    /// The reasons why the API server would reject the creation of `object`: [`violations`], and [`rule_violations`] unless the former
    /// prevent the evaluation of rules.
    ///
    /// `self` is the root of a version. `object` is pruned and defaulted, and has `apiVersion`, `kind` and `metadata`.
    pub fn validate(&self, object: &Value) -> Judgement {
        with_rules(self, violations(self, object), object, None)
    }

    /// The reasons why the API server would reject the update of `old` to `new`: [`update_violations`], and the rules, with `old` as
    /// `oldSelf`. A violation by an unchanged value is accepted, unless its rule uses `oldSelf`.
    pub fn validate_update(&self, old: &Value, new: &Value) -> Judgement {
        with_rules(self, update_violations(self, old, new), new, Some(old))
    }

    /// The reasons why the API server would reject the update of `old` to `new` through the subresource `status`: [`status_violations`],
    /// and the rules of the whole object, as in [`Schema::validate_update`].
    pub fn validate_status(&self, old: &Value, new: &Value) -> Judgement {
        with_rules(self, status_violations(self, old, new), new, Some(old))
    }
}

/// Adds the violations of rules to those of the schema, as far as these allow it.
fn with_rules(
    schema: &Schema,
    mut violations: Vec<Violation>,
    new: &Value,
    old: Option<&Value>,
) -> Judgement {
    // the API server evaluates no rules of an object with such a violation
    let blocks = |reason| {
        matches!(
            reason,
            Reason::NotSupported
                | Reason::Required
                | Reason::TooLong
                | Reason::TooMany
                | Reason::TypeInvalid
        )
    };
    if has_rules(schema) && violations.iter().any(|it| blocks(it.reason)) {
        violations.push(Violation::new(Reason::Invalid, "", "null", SKIPPED));
        return Judgement {
            violations,
            unsupported: Vec::new(),
        };
    }
    let mut judgement = rule_violations(schema, new, old);
    judgement.violations.splice(0..0, violations);
    judgement
}

const SKIPPED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

/// Evaluates the CEL rules of a schema for a new object, or with `old` for an update.
///
/// Rules that use `oldSelf` are evaluated only if there is an old value: in a list of type `map`, that is the item with the same keys;
/// items of other lists have none. With `optionalOldSelf`, rules are always evaluated. The cost limits of the API server are not checked.
///
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules>
pub fn rule_violations(schema: &Schema, object: &Value, old: Option<&Value>) -> Judgement {
    evaluate_rules(schema, object, old, true)
}

/// Evaluates the rules of a schema; those of a root see `apiVersion`, `kind` and `metadata`.
fn evaluate_rules(
    schema: &Schema,
    object: &Value,
    old: Option<&Value>,
    is_root: bool,
) -> Judgement {
    let mut walk = Walk::default();
    if has_rules(schema) {
        let old = old.map_or(Old::default(), |old| Old::of(schema, object, old));
        with_stack(|| walk.at(schema, "", object, old, is_root));
    }
    walk.judgement
}

#[derive(Default)]
struct Walk {
    path: String,
    judgement: Judgement,
}

impl Walk {
    /// Evaluates the rules of the schema, which is at `pointer`, and of the schemas below it.
    fn at(&mut self, schema: &Schema, pointer: &str, value: &Value, old: Old<'_>, is_root: bool) {
        if !has_rules(schema) {
            return;
        }
        if !schema.validations.is_empty() && !value.is_null() {
            self.rules(schema, pointer, value, old, is_root);
        }
        let length = self.path.len();
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    let Some(field) = field(schema, key) else {
                        continue;
                    };
                    let step = if schema.properties.contains_key(key) {
                        format!("/properties/{}", crate::pointer::escape(key))
                    } else {
                        "/additionalProperties".to_owned()
                    };
                    enter(&mut self.path, schema, key);
                    let old = old.member(schema, field, key, value);
                    self.at(field, &format!("{pointer}{step}"), value, old, false);
                    self.path.truncate(length);
                }
            }
            Value::Array(list) => {
                let Some(items) = &schema.items else { return };
                for (index, item) in list.iter().enumerate() {
                    self.path.push_str(&format!("[{index}]"));
                    let old = old.item(schema, items, item);
                    self.at(items, &format!("{pointer}/items"), item, old, false);
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn rules(
        &mut self,
        schema: &Schema,
        pointer: &str,
        value: &Value,
        old: Old<'_>,
        is_root: bool,
    ) {
        let evaluation = Evaluation::new(schema, value, old.value(), is_root);
        for (index, rule) in schema.validations.iter().enumerate() {
            let pointer = format!("{pointer}/x-kubernetes-validations/{index}");
            let outcome = evaluation.of(rule, &pointer);
            self.judgement.unsupported.extend(outcome.unsupported);
            let is_forgiven = old.is_unchanged() && !outcome.looks_back;
            if let Some(refusal) = outcome.refusal.filter(|_| !is_forgiven) {
                let violation = message::violation(rule, schema, &self.path, value, refusal);
                self.judgement.violations.push(violation);
            }
        }
    }
}

/// Whether the schema, or one below it, has rules.
pub(crate) fn has_rules(schema: &Schema) -> bool {
    let additional = match &schema.additional_properties {
        Some(crate::SchemaOrBool::Schema(schema)) => Some(schema.as_ref()),
        _ => None,
    };
    let mut below = schema
        .properties
        .values()
        .chain(schema.items.as_deref())
        .chain(additional);
    !schema.validations.is_empty() || below.any(has_rules)
}
