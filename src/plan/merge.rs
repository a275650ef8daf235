//! Three-way merges, by lines or by keys.

use super::lock::Owner;
use super::{cargo_toml, change::with_line_endings_of};

/// The way in which a file is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    Lines,
    /// By the keys of TOML.
    Keys,
}

impl Merge {
    pub fn owner(self) -> Owner {
        match self {
            Self::Lines => Owner::Merged,
            Self::Keys => Owner::Keys,
        }
    }

    /// Applies the changes from `base` to `theirs` to `ours`, with the line endings of `ours`. If both changed the same place, the result
    /// is an error, with conflict markers at that place.
    pub fn merge(self, base: &str, ours: &str, theirs: &str) -> Result<String, String> {
        let [base, plain, theirs] = [base, ours, theirs].map(|text| text.replace("\r\n", "\n"));
        let merged = match self {
            Self::Lines => diffy::merge(&base, &plain, &theirs),
            Self::Keys => cargo_toml::merge(&base, &plain, &theirs),
        };
        match merged {
            Ok(text) => Ok(with_line_endings_of(ours, text)),
            Err(text) => Err(with_line_endings_of(ours, text)),
        }
    }
}

/// Whether two texts are equal except for line endings, which git may have changed.
pub fn same(a: &str, b: &str) -> bool {
    a == b
        || (a.contains('\r') || b.contains('\r'))
            && a.replace("\r\n", "\n") == b.replace("\r\n", "\n")
}
