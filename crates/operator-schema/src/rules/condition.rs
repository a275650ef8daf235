//! Evaluates [match conditions]: expressions over whole objects, whose types come from no schema.
//!
//! [match conditions]: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions

use super::evaluate::{self, server_message};
use kube_cel::cel::Value as Cel;
use serde_json::Value;
use std::collections::HashMap;

/// Why a condition has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// The evaluation fails in the API server as well. Contains its message.
    #[error("{0}")]
    Failed(String),
    /// The evaluator does not support the expression.
    #[error("{what}: {expression}")]
    Unsupported {
        /// The CEL expression.
        expression: String,
        /// The unsupported function, `syntax`, or the error of the evaluation.
        what: String,
    },
}

/// Evaluates a CEL expression to a boolean. The variables, such as `object` and `request`, have the types of their JSON values.
///
/// # Errors
/// If the evaluation fails, or `kube-cel` does not support the expression.
pub fn condition(
    expression: &str,
    variables: &[(&'static str, &Value)],
) -> Result<bool, ConditionError> {
    let unsupported = |what: String| ConditionError::Unsupported {
        expression: expression.to_owned(),
        what,
    };
    let variables = variables
        .iter()
        .map(|(name, value)| (*name, untyped(value)));
    match evaluate::with_variables(expression, variables).map_err(unsupported)? {
        Ok(Cel::Bool(result)) => Ok(result),
        Ok(other) => Err(unsupported(format!("yields {}", other.type_of()))),
        Err(error) => Err(match server_message(&error) {
            Some(message) => ConditionError::Failed(message),
            None => unsupported(error.to_string()),
        }),
    }
}

fn untyped(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::String(text) => text.clone().into(),
        Value::Number(number) => match number.as_i64() {
            Some(int) => Cel::Int(int),
            None => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::Array(list) => list.iter().map(untyped).collect::<Vec<_>>().into(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), untyped(value)))
            .collect::<HashMap<String, Cel>>()
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_sees_its_variables() {
        let object = json!({"metadata": {"name": "a", "labels": {"app.kubernetes.io/name": "x"}}, "spec": {"size": 3, "list": [1, 2]}});
        let request = json!({"operation": "UPDATE", "dryRun": false});
        let null = Value::Null;
        let variables = [
            ("object", &object),
            ("oldObject", &null),
            ("request", &request),
        ];
        for (expression, expected) in [
            (
                "object.spec.size > 2 && object.spec.list.all(it, it > 0)",
                true,
            ),
            (
                "has(object.metadata.labels) && 'app.kubernetes.io/name' in object.metadata.labels",
                true,
            ),
            ("has(object.spec.color)", false),
            ("oldObject == null", true),
            ("request.operation != 'DELETE' && !request.dryRun", true),
            ("!object.metadata.name.startsWith('a')", false),
        ] {
            assert_eq!(
                condition(expression, &variables),
                Ok(expected),
                "{expression}"
            );
        }
        let failed = condition("object.spec.color == 'red'", &variables);
        assert_eq!(
            failed,
            Err(ConditionError::Failed("no such key: color".into()))
        );
        let unsupported = condition("authorizer.group('')", &variables).unwrap_err();
        assert!(
            matches!(unsupported, ConditionError::Unsupported { .. }),
            "{unsupported}"
        );
        let text = condition("object.metadata.name", &variables).unwrap_err();
        assert!(text.to_string().contains("yields string"), "{text}");
    }
}
