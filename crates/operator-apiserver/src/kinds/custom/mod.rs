//! Validates custom objects by their schema, its rules, and the paths of the scale subresource.

mod scale;

use operator_schema::Schema;
use serde_json::Value;

use crate::model::{Cause, Custom};

/// The violations of the schema in a custom object that is new or replaces `live`. Its rules are evaluated with the feature `cel`.
pub(crate) fn violations(custom: &Custom, live: Option<&Value>, object: &Value) -> Vec<Cause> {
    let mut causes: Vec<Cause> = schema_violations(&custom.schema, live, object);
    if let Some(scale) = &custom.scale {
        causes.extend(scale::violations(object, scale));
    }
    causes
}

pub(crate) fn has_rules(custom: &Custom) -> bool {
    !operator_schema::unchecked_rules(&custom.schema).is_empty()
}

/// The violations of the schema in a new custom object, without its rules.
pub(crate) fn violations_without_rules(custom: &Custom, object: &Value) -> Vec<Cause> {
    const SKIPPED: &str = "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
    let violations = operator_schema::violations(&custom.schema, object);
    violations
        .into_iter()
        .map(cause)
        .chain([Cause::invalid("<nil>", SKIPPED)])
        .collect()
}

/// The violations in an update of the status.
pub(crate) fn status_violations(custom: &Custom, live: &Value, object: &Value) -> Vec<Cause> {
    let mut causes = status_schema_violations(&custom.schema, live, object);
    if let Some(scale) = &custom.scale {
        let of_scale = scale::violations(object, scale).into_iter();
        causes.extend(of_scale.filter(|it| it.field.trim_start_matches('.').starts_with("status")));
    }
    causes
}

#[cfg(not(feature = "cel"))]
fn schema_violations(schema: &Schema, live: Option<&Value>, object: &Value) -> Vec<Cause> {
    let violations = match live {
        Some(live) => operator_schema::update_violations(schema, live, object),
        None => operator_schema::violations(schema, object),
    };
    violations.into_iter().map(cause).collect()
}

#[cfg(feature = "cel")]
fn schema_violations(schema: &Schema, live: Option<&Value>, object: &Value) -> Vec<Cause> {
    causes(match live {
        Some(live) => schema.validate_update(live, object),
        None => schema.validate(object),
    })
}

#[cfg(not(feature = "cel"))]
fn status_schema_violations(schema: &Schema, live: &Value, object: &Value) -> Vec<Cause> {
    let violations = operator_schema::status_violations(schema, live, object);
    violations.into_iter().map(cause).collect()
}

#[cfg(feature = "cel")]
fn status_schema_violations(schema: &Schema, live: &Value, object: &Value) -> Vec<Cause> {
    causes(schema.validate_status(live, object))
}

#[cfg(feature = "cel")]
fn causes(judgement: operator_schema::Judgement) -> Vec<Cause> {
    // A real server may reject the object because of a rule that cannot be evaluated here, so a test must not pass.
    let unsupported = judgement.unsupported.into_iter().map(|rule| {
        let text = format!("Invalid value: the API server of the tests can't evaluate {rule}");
        Cause::invalid("<nil>", text)
    });
    let violations = judgement.violations.into_iter().map(cause);
    violations.chain(unsupported).collect()
}

fn cause(violation: operator_schema::Violation) -> Cause {
    Cause {
        reason: violation.reason.as_str(),
        message: violation.detail,
        field: violation.path,
    }
}
