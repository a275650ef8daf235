//! A diagnostic about an unusual input: a code, a location, and how the tool handled it. A diagnostic never stops a command; an error does.
//! Both are printed as a [`Report`].

mod code;
mod failure;
mod location;
mod report;

pub use code::Code;
pub use failure::{Exit, Explain, Failure};
pub use location::{Location, lines};
pub use report::{Report, hint, is_unprintable};

/// Something unusual in an input, which was found while the output was generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// The JSON pointer from the root of the CRD to the first such place.
    pub pointer: String,
    pub message: String,
    /// How the tool handled it.
    pub instead: Option<String>,
    /// What the user can do about it.
    pub help: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Note,
    Warning,
    Error,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}
