//! Which places of the user's code a change of the generated types touches.
//!
//! rustc knows it best. A copy of the project gets the types of before, with `#[deprecated]` on all that goes or changes its type, and
//! `cargo check` warns of each use; then it gets the new types, and what does not compile is told. Where cargo can't be asked, `parse` looks
//! for the names. What compiles and is wrong all the same, or goes with its module, is found by its path (`left`, `scope`).

mod controller;
mod left;
mod manifest;
mod mark;
mod message;
mod module;
mod parse;
mod root;
mod scope;
mod surface;

pub use controller::{Controller, Finalizer, Part, controller};
pub use left::{Left, leads, literals};
pub use manifest::standalone;
pub use mark::{Marked, REMOVED, RETYPED, mark};
pub use message::{Checked, Found, read};
pub use parse::{named, uncovered};
pub use scope::{Rescoped, scoped};

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

impl Use {
    fn at(path: &str, span: proc_macro2::Span, message: String) -> Self {
        Self {
            path: path.to_owned(),
            line: span.start().line,
            column: span.start().column + 1,
            length: span.byte_range().len(),
            message,
        }
    }
}

/// What changes of the types of a module, by their names, which are unique in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Names of fields and methods that go or get another type.
    pub members: BTreeSet<String>,
    /// Fields of kinds, `spec` or `status`, that go or get another type, with the kind: many other types have fields of these names.
    pub roots: BTreeSet<(String, String)>,
    /// Types that go, and variants as `Type::Variant`.
    pub items: BTreeSet<String>,
    /// Structs that get a field: a literal or a pattern without `..` no longer compiles.
    pub wider: BTreeSet<String>,
    /// Enums that get a variant: a `match` without a wildcard no longer compiles.
    pub longer: BTreeSet<String>,
    /// Types that lose `Default`: `..Default::default()` in a literal no longer compiles.
    pub undefaulted: BTreeSet<String>,
    /// Whether anything that other code can depend on differs; only rustc knows what of it matters.
    pub surface: bool,
}

impl Touched {
    pub fn extend(&mut self, other: Self) {
        self.members.extend(other.members);
        self.roots.extend(other.roots);
        self.items.extend(other.items);
        self.wider.extend(other.wider);
        self.longer.extend(other.longer);
        self.undefaulted.extend(other.undefaulted);
        self.surface |= other.surface;
    }
}
