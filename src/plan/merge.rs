//! Three-way merges, by lines or by keys.

use super::{change::like, keys};
use crate::project::Owner;

/// How a file is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    Lines,
    /// The keys of TOML.
    Keys,
}

impl Merge {
    pub fn owner(self) -> Owner {
        match self {
            Self::Lines => Owner::Merged,
            Self::Keys => Owner::Keys,
        }
    }

    /// Carries into `ours` what changed from `base` to `theirs`, with the line endings of `ours`. Where both changed the same place, the
    /// text has conflict markers there, and is an error.
    pub fn merge(self, base: &str, ours: &str, theirs: &str) -> Result<String, String> {
        let [base, plain, theirs] = [base, ours, theirs].map(|text| text.replace("\r\n", "\n"));
        let merged = match self {
            Self::Lines => diffy::merge(&base, &plain, &theirs),
            Self::Keys => keys::merge(&base, &plain, &theirs),
        };
        match merged {
            Ok(text) => Ok(like(ours, text)),
            Err(text) => Err(like(ours, text)),
        }
    }
}

/// Equal but for line endings, which git may have changed.
pub fn same(a: &str, b: &str) -> bool {
    a == b
        || (a.contains('\r') || b.contains('\r'))
            && a.replace("\r\n", "\n") == b.replace("\r\n", "\n")
}
