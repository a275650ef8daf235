//! The problem with one field of an object.

/// One entry of `details.causes`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cause {
    pub reason: &'static str,
    pub message: String,
    pub field: String,
}

impl Cause {
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            reason: "FieldValueInvalid",
            message: message.into(),
            field: field.into(),
        }
    }

    pub fn forbidden(field: impl Into<String>, message: &str) -> Self {
        Self {
            reason: "FieldValueForbidden",
            message: format!("Forbidden: {message}"),
            field: field.into(),
        }
    }

    pub fn duplicate(field: impl Into<String>, value: &str) -> Self {
        Self {
            reason: "FieldValueDuplicate",
            message: format!("Duplicate value: {value:?}"),
            field: field.into(),
        }
    }

    pub fn required(field: impl Into<String>, message: &str) -> Self {
        let message = match message {
            "" => "Required value".to_owned(),
            message => format!("Required value: {message}"),
        };
        Self {
            reason: "FieldValueRequired",
            message,
            field: field.into(),
        }
    }
}
