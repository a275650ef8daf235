//! What is said about an odd schema: a code, a place, what was done about it. A diagnostic never stops the work; what does is an error.

use std::fmt;

/// An oddity of an input, found while the output was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// JSON pointer into the CustomResourceDefinition, of the first place.
    pub pointer: String,
    pub message: String,
    /// What the user can do about it.
    pub help: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Note,
    Warning,
}

/// The kinds of diagnostics. The names are stable and each is explained in `docs/diagnostics.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// Parts of the schema are in the module as JSON, as no attribute of the Rust types carries them.
    NoAttribute,
    /// A schema that says nothing of its type; values stay `serde_json::Value`.
    Untyped,
    /// The spec asks for a conversion webhook and nothing serves it yet.
    ConversionNotServed,
    /// The user changed a file that the templates changed as well; the user's text stays.
    FileKept,
    /// A keyword that CustomResourceDefinitions do not have.
    UnknownKeyword,
    /// No sample can be made that the schema accepts.
    NoValidSample,
    /// The image is not set, so that the manifests have no Deployment yet.
    NoImage,
}

impl Code {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoAttribute => "no-attribute",
            Self::Untyped => "untyped",
            Self::ConversionNotServed => "conversion-not-served",
            Self::FileKept => "file-kept",
            Self::UnknownKeyword => "unknown-keyword",
            Self::NoValidSample => "no-valid-sample",
            Self::NoImage => "no-image",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
