//! The treatment of fields that `properties` does not name.

use operator_schema::{Schema, SchemaOrBool};

use super::change::Change;

/// How the API server treats the fields of an object that `properties` does not name
/// (<https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning>).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unknown<'a> {
    Pruned,
    /// `additionalProperties: false`
    Refused,
    /// `additionalProperties` with a schema.
    Described(&'a Schema),
    /// `additionalProperties: true`: unknown fields are kept, but if such a field is an object, its own fields are pruned.
    Emptied,
    /// `x-kubernetes-preserve-unknown-fields`
    Preserved,
}

impl<'a> Unknown<'a> {
    pub fn of(schema: &'a Schema) -> Self {
        match &schema.additional_properties {
            Some(SchemaOrBool::Schema(values)) => Self::Described(values),
            Some(SchemaOrBool::Bool(false)) => Self::Refused,
            Some(SchemaOrBool::Bool(true)) => Self::Emptied,
            None if schema.preserve_unknown_fields == Some(true) => Self::Preserved,
            None => Self::Pruned,
        }
    }

    /// Whether an object can have fields that `properties` does not name.
    pub fn is_kept(self) -> bool {
        !matches!(self, Self::Pruned | Self::Refused)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pruned => "pruned",
            Self::Refused => "refused",
            Self::Described(_) => "checked",
            Self::Emptied => "kept, except for fields of objects",
            Self::Preserved => "kept",
        }
    }

    /// The change from this treatment to another; `None` if they are of the same kind.
    pub fn to(self, after: Unknown<'_>) -> Option<Change> {
        use Unknown::{Described, Emptied, Preserved, Pruned, Refused};
        Some(match (self, after) {
            (Pruned, Pruned)
            | (Refused, Refused)
            | (Described(_), Described(_))
            | (Emptied, Emptied)
            | (Preserved, Preserved) => return None,
            (Pruned | Refused, Described(_) | Emptied | Preserved)
            | (Described(_) | Emptied, Preserved)
            | (Refused, Pruned) => Change::UnknownFieldsKept,
            (Described(_) | Emptied | Preserved, Pruned) | (Preserved, Emptied) => {
                Change::UnknownFieldsPruned
            }
            (Pruned | Described(_) | Emptied | Preserved, Refused) | (Preserved, Described(_)) => {
                Change::UnknownFieldsChecked
            }
            (Described(_), Emptied) | (Emptied, Described(_)) => Change::UnknownFieldsChanged,
        })
    }
}
