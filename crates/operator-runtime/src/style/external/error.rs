//! The errors that are specific to the style `external`.

use std::time::Duration;

/// An object and its external resource are in a state in which the runtime does not act.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// A creation was started, its result is not known, and the external resource cannot be looked up.
    #[error(
        "a creation was started at {started}, and its result is not known\nhelp: look for the thing in the other system. If there is one, set the annotation {operator}/external-id to its id; if there is none, remove the annotation {operator}/creation-started"
    )]
    CreationUncertain {
        /// When the call was made.
        started: String,
        /// The operator's name.
        operator: String,
    },
    /// An external resource of the name exists, and was not created for this object.
    #[error(
        "{name} exists already, and was not created for this object\nhelp: to manage it by this object, set the annotation {operator}/external-id to {name}"
    )]
    Exists {
        /// The name of the external resource.
        name: String,
        /// The operator's name.
        operator: String,
    },
    /// Another object has the external resource of this name, or is creating it.
    #[error(
        "{name} is already in use by {holder}\nhelp: choose another name for the thing, or delete one of the objects. If this object does not own the thing, remove its annotations {operator}/external-id and {operator}/creation-started"
    )]
    NameInUse {
        /// The name of the external resource.
        name: String,
        /// The other object, for example `Bucket.example.com default/a`.
        holder: String,
        /// The operator's name.
        operator: String,
    },
    /// The external resource that a person has named does not exist.
    #[error(
        "{id} is to be imported, but does not exist\nhelp: correct the annotation {operator}/external-id, or remove it to create a new thing"
    )]
    NothingToImport {
        /// The id in the annotation.
        id: String,
        /// The operator's name.
        operator: String,
    },
    /// Several external resources carry the tag of the object.
    #[error(
        "{} carry the tag of this object\nhelp: set the annotation {operator}/external-id to the right one, and remove the others or their tags", .ids.join(", ")
    )]
    Ambiguous {
        /// Their ids.
        ids: Vec<String>,
        /// The operator's name.
        operator: String,
    },
    /// An id, a name or the annotation with the id is empty.
    #[error("{what} is empty\nhelp: {help}")]
    EmptyIdentity {
        /// What is empty.
        what: &'static str,
        /// What to do.
        help: String,
    },
    /// The identity of external resources is `Lookup`, but there is no lookup.
    #[error("`identity` returns `Identity::Lookup`\nhelp: implement `find` as well")]
    NoFind,
    /// A field of the spec that chooses a policy has an unknown value.
    #[error("spec.{field} is {value:?}\nhelp: set it to {expected}")]
    UnknownPolicy {
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
        /// The possible values.
        expected: &'static str,
    },
    /// A call of the provider did not return in time. Its effect is not known.
    #[error("`{method}` has not returned after {after:?}")]
    TimedOut {
        /// The method of the provider.
        method: &'static str,
        /// The timeout.
        after: Duration,
    },
}

impl ExternalError {
    /// Whether retries do not resolve it, but only a change of the object or of the provider.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::CreationUncertain { .. }
            | Self::NoFind
            | Self::EmptyIdentity { .. }
            | Self::UnknownPolicy { .. } => true,
            Self::Exists { .. }
            | Self::NameInUse { .. }
            | Self::NothingToImport { .. }
            | Self::Ambiguous { .. }
            | Self::TimedOut { .. } => false,
        }
    }

    /// The reason in the condition `Synced` and in the event.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::CreationUncertain { .. } => "CreationUncertain",
            Self::Exists { .. } => "AlreadyExists",
            Self::NameInUse { .. } => "NameInUse",
            Self::NothingToImport { .. } => "NothingToImport",
            Self::Ambiguous { .. } => "Ambiguous",
            Self::EmptyIdentity { .. } | Self::NoFind => "InvalidIdentity",
            Self::UnknownPolicy { .. } => "InvalidPolicy",
            Self::TimedOut { .. } => "TimedOut",
        }
    }
}
