//! A violation of a schema, with the message of the API server.

use std::fmt;

/// A reason why the API server would reject a value.
///
/// It is displayed as the API server does: `spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Violation {
    /// The field, as in `spec.ports[0].name`; `<nil>` if the API server names none (for the root, and for `anyOf`, `oneOf`, `allOf` and
    /// `not`).
    pub path: String,
    /// The kind of the violation.
    pub reason: Reason,
    /// The message that the API server prints after the path.
    pub detail: String,
}

/// The machine-readable kind of a violation, as in the causes of a `Status`.
///
/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A value that must be unique appears twice.
    Duplicate,
    /// The field must not be set here.
    Forbidden,
    /// The value violates a rule without a more specific reason.
    Invalid,
    /// The value is not one of the allowed ones.
    NotSupported,
    /// A required field is absent.
    Required,
    /// The string is too long.
    TooLong,
    /// The list or object has too many entries.
    TooMany,
    /// The value has another type.
    TypeInvalid,
}

impl Reason {
    /// The value of `reason` in a `StatusCause`.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Duplicate => "FieldValueDuplicate",
            Reason::Forbidden => "FieldValueForbidden",
            Reason::Invalid => "FieldValueInvalid",
            Reason::NotSupported => "FieldValueNotSupported",
            Reason::Required => "FieldValueRequired",
            Reason::TooLong => "FieldValueTooLong",
            Reason::TooMany => "FieldValueTooMany",
            Reason::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Reason::Duplicate => "Duplicate value",
            Reason::Forbidden => "Forbidden",
            Reason::Invalid | Reason::TypeInvalid => "Invalid value",
            Reason::NotSupported => "Unsupported value",
            Reason::Required => "Required value",
            Reason::TooLong => "Too long",
            Reason::TooMany => "Too many",
        }
    }
}

impl Violation {
    /// A violation that shows neither value nor explanation.
    pub(crate) fn bare(reason: Reason, path: &str) -> Self {
        Self {
            path: shown(path),
            reason,
            detail: reason.title().to_owned(),
        }
    }

    /// A violation that shows the value (already printed) or an explanation.
    pub(crate) fn one(reason: Reason, path: &str, text: impl fmt::Display) -> Self {
        Self {
            path: shown(path),
            reason,
            detail: format!("{}: {text}", reason.title()),
        }
    }

    /// A violation that shows the value (already printed) and an explanation.
    pub(crate) fn new(
        reason: Reason,
        path: &str,
        value: impl fmt::Display,
        text: impl fmt::Display,
    ) -> Self {
        Self {
            path: shown(path),
            reason,
            detail: format!("{}: {value}: {text}", reason.title()),
        }
    }

    /// A violation without a field, which the API server's validator reports as plain text.
    pub(crate) fn without_field(text: impl fmt::Display) -> Self {
        Self::new(Reason::Invalid, "", "\"\"", text)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.detail)
    }
}

fn shown(path: &str) -> String {
    if path.is_empty() {
        "<nil>".to_owned()
    } else {
        path.to_owned()
    }
}
