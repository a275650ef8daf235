//! Which places of the user's code a change of the generated types touches.
//!
//! rustc knows it best. A copy of the project gets the types of before, with `#[deprecated]` on all that goes or changes its type, and
//! `cargo check` warns of each use; then it gets the new types, and what does not compile is told. Where cargo can't be asked, `parse` looks
//! for the names.

mod manifest;
mod mark;
mod message;
mod module;
mod parse;

pub use manifest::standalone;
pub use mark::{Marked, REMOVED, RETYPED, mark};
pub use message::{Checked, Found, read};
pub use parse::{named, uncovered};

use std::collections::BTreeSet;

/// A place of the user's code that a change touches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// From the project's folder.
    pub path: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// In bytes of the line, from its column.
    pub length: usize,
    /// What about it.
    pub message: String,
}

/// What changes of the types of a module, by their names, which are unique in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Names of fields and methods that go or get another type.
    pub members: BTreeSet<String>,
    /// Types that go, and variants as `Type::Variant`.
    pub items: BTreeSet<String>,
    /// Structs that get a field: a literal or a pattern without `..` no longer compiles.
    pub wider: BTreeSet<String>,
    /// Enums that get a variant: a `match` without a wildcard no longer compiles.
    pub longer: BTreeSet<String>,
}

impl Touched {
    /// Whether something goes or gets another type.
    pub fn takes(&self) -> bool {
        !(self.members.is_empty() && self.items.is_empty())
    }

    pub fn extend(&mut self, other: Self) {
        self.members.extend(other.members);
        self.items.extend(other.items);
        self.wider.extend(other.wider);
        self.longer.extend(other.longer);
    }
}
