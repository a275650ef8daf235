//! What a conversion may change or refuse, as the user declares it.

use serde::Serialize;
use serde_json::Value;

/// An exception from the rule that an object that is converted to another version and back is the same.
///
/// Each has an example: an object of the version whose field it is. The tests of the project prove that the example really is such a case.
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
    /// The value of a field is not kept while another version, which has no place for it, is written: it is lost.
    ///
    /// `field` is a path such as `spec.pools[].debug`, and `example` an object with its `apiVersion`.
    pub fn lossy(field: &str, example: impl Serialize) -> Self {
        Self::new(Exception::Lossy, field, example)
    }

    /// The value of a field comes back in another form that means the same. The value as it was written is not kept.
    pub fn normalised(field: &str, example: impl Serialize) -> Self {
        Self::new(Exception::Normalised, field, example)
    }

    /// Some values of a field do not exist in the other version: converting them fails, with an error that names the field.
    pub fn inexpressible(field: &str, example: impl Serialize) -> Self {
        Self::new(Exception::Inexpressible, field, example)
    }

    fn new(kind: Exception, field: &str, example: impl Serialize) -> Self {
        Self {
            kind,
            field: field.to_owned(),
            // an example that is no JSON has no apiVersion, which is reported
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

    /// Whether the field is not kept in the annotation.
    pub(super) fn is_unkept(&self) -> bool {
        self.kind != Exception::Inexpressible
    }
}
