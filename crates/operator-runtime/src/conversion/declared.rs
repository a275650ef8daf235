//! The exceptions of a conversion that the user declares: what it may change or refuse.

use serde::Serialize;
use serde_json::Value;

/// An exception from the rule that an object that is converted to another version and back is the same.
///
/// Each has an example: an object of the version that has the field. The tests of the project prove that the example really is such a case.
#[derive(Clone, Debug)]
pub struct Declared {
    kind: Exception,
    field: String,
    example: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exception {
    Lossy,
    Normalised,
    Inexpressible,
}

impl Declared {
    /// Declares a field whose value is lost in another version that has no place for it: it is not kept in the annotation.
    ///
    /// `field` is a path such as `spec.pools[].debug`, and `example` an object with its `apiVersion`.
    pub fn lossy(field: &str, example: impl Serialize) -> Self {
        Self::new(Exception::Lossy, field, example)
    }

    /// Declares a field whose value comes back in another form with the same meaning. The value as it was written is not kept.
    pub fn normalised(field: &str, example: impl Serialize) -> Self {
        Self::new(Exception::Normalised, field, example)
    }

    /// Declares a field of which some values do not exist in the other version: their conversion fails, with an error that names the field.
    pub fn inexpressible(field: &str, example: impl Serialize) -> Self {
        Self::new(Exception::Inexpressible, field, example)
    }

    fn new(kind: Exception, field: &str, example: impl Serialize) -> Self {
        Self {
            kind,
            field: field.to_owned(),
            // an example that cannot be serialized becomes `null`, which has no apiVersion; that is reported
            example: serde_json::to_value(example).unwrap_or_default(),
        }
    }

    /// `lossy`, `normalised` or `inexpressible`.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            Exception::Lossy => "lossy",
            Exception::Normalised => "normalised",
            Exception::Inexpressible => "inexpressible",
        }
    }

    /// The path of the field.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The example.
    pub fn example(&self) -> &Value {
        &self.example
    }

    /// Whether the value as it was written is lost, because it is not kept in the annotation: the field is lossy or normalised.
    pub(super) fn is_lossy(&self) -> bool {
        self.kind != Exception::Inexpressible
    }
}
