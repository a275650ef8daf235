//! The error of a conversion.

/// Why an object is not converted. The message names the version and the field, if it is about one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionError {
    /// The value is not a JSON object with `apiVersion`.
    #[error("the object to convert is {found}, not an object with apiVersion")]
    NotAnObject {
        /// What it is instead.
        found: &'static str,
    },

    /// The `apiVersion` of the object, or the one to convert to, is not a version of this CRD.
    #[error("{crd} has no version {api_version:?}; it has {known}")]
    UnknownVersion {
        /// The name of the CRD.
        crd: String,
        /// The group and version.
        api_version: String,
        /// The versions that can be converted, separated by commas.
        known: String,
    },

    /// A value cannot be converted.
    #[error("{version} {field}: {reason}")]
    Field {
        /// The version of the object with this field.
        version: String,
        /// The path of the field.
        field: String,
        /// Why.
        reason: String,
    },

    /// A value that the other version has no place for is sensitive, and annotations are not secret.
    #[error(
        "{version} {field}: the other version has no place for this sensitive value, and it is never kept in an annotation\nhelp: give it a place in the other version, or declare it as lossy in the conversion"
    )]
    Sensitive {
        /// The version with this field.
        version: String,
        /// The path of the field.
        field: String,
    },

    /// A value has to be kept, and there is no place for the annotation.
    #[error(
        "metadata.annotations is not an object, so the annotation {annotation} cannot be written"
    )]
    Annotations {
        /// The key of the annotation.
        annotation: String,
    },

    /// A value has to be kept that is nested too deeply to be read again.
    #[error("a value for the annotation {annotation} is nested too deeply")]
    TooDeep {
        /// The key of the annotation.
        annotation: String,
    },

    /// More had to be kept than an annotation should hold.
    #[error(
        "the annotation {annotation} would have {size} bytes, more than the {limit} allowed; the largest values: {largest}"
    )]
    TooLarge {
        /// The key of the annotation.
        annotation: String,
        /// Its size in bytes.
        size: usize,
        /// The largest allowed size in bytes.
        limit: usize,
        /// The largest values with their sizes.
        largest: String,
    },

    /// The rules of the conversion are wrong.
    #[error("the conversion of {crd} is wrong: {version}: {problem}")]
    Rule {
        /// The name of the CRD.
        crd: String,
        /// The version whose rules they are.
        version: String,
        /// What is wrong.
        problem: String,
    },
}

impl ConversionError {
    /// The version that the error is about, if it is about one.
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Field { version, .. }
            | Self::Sensitive { version, .. }
            | Self::Rule { version, .. } => Some(version),
            _ => None,
        }
    }

    /// The path of the field that the error is about, if it is about one.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Field { field, .. } | Self::Sensitive { field, .. } => Some(field),
            _ => None,
        }
    }
}
