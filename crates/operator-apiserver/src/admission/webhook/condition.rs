//! The [match conditions] of a webhook: CEL expressions over the request, all of which must be true for the webhook to be called.
//!
//! [match conditions]: https://github.com/kubernetes/apiserver/blob/master/pkg/admission/plugin/webhook/matchconditions/matcher.go

#[cfg(feature = "cel")]
use operator_schema::{ConditionError, condition};
use serde_json::Value;

use super::hook::Hook;
use super::review::Attributes;
use crate::model::{Failure, Result};

impl Hook {
    /// Whether all conditions are true. One false condition decides, even if another one fails.
    #[cfg(feature = "cel")]
    pub(super) fn meets_conditions(
        &self,
        attributes: &Attributes,
        object: Option<&Value>,
    ) -> Result<bool> {
        let variables = [
            ("object", object.unwrap_or(&Value::Null)),
            ("oldObject", attributes.old.as_ref().unwrap_or(&Value::Null)),
            ("request", attributes.request()),
        ];
        let mut failed = Vec::new();
        for expression in &self.conditions {
            match condition(expression, &variables) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(ConditionError::Failed(why)) => {
                    failed.push(format!(
                        "expression '{expression}' resulted in error: {why}"
                    ));
                }
                Err(unsupported) => {
                    let what = format!("{} ({unsupported})", self.conditions_in_words());
                    return Err(Failure::not_implemented(what));
                }
            }
        }
        match failed.as_slice() {
            [] => Ok(true),
            _ if self.ignores_failure => Ok(false),
            [one] => Err(attributes.forbidden(one)),
            many => Err(attributes.forbidden(&format!("[{}]", many.join(", ")))),
        }
    }

    /// Whether there are no conditions; they need the feature `cel`.
    #[cfg(not(feature = "cel"))]
    pub(super) fn meets_conditions(&self, _: &Attributes, _: Option<&Value>) -> Result<bool> {
        if self.conditions.is_empty() {
            return Ok(true);
        }
        let what = format!("{} without the feature `cel`", self.conditions_in_words());
        Err(Failure::not_implemented(what))
    }

    fn conditions_in_words(&self) -> String {
        format!("matchConditions of the admission webhook {}", self.name)
    }
}
