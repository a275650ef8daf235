//! Finds the places in the user's code that a change of the generated types affects.
//!
//! `parse` searches for names. rustc, if it is asked, finds them more precisely: in a copy of the project, the old types get `#[deprecated]`
//! on each item that is removed or retyped, so that `cargo check` warns of each use; then the copy gets the new types, and the errors of the
//! compiler are collected. Uses of removed modules, and wrong uses that compile, are found by path (`stale_path`).

mod answers;
mod controller;
mod import;
mod manifest;
mod mark;
mod message;
mod module;
mod parse;
mod stale_path;

pub use answers::{Answers, conversion_file, is_same_apart_from_layout};
pub use controller::{CONSTANT, ControllerImpl, ControllerTrait, Part, Resource, controller};
pub use manifest::standalone;
pub use mark::{Marked, REMOVED, RETYPED, mark};
pub use message::{CheckResult, DeprecatedUse, read_messages};
pub use parse::{find_by_name, find_non_exhaustive};
pub use stale_path::{StalePath, find_stale_paths};

use std::collections::BTreeSet;

/// A place in the user's code that a change affects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// The path, relative to the project's folder.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The length in bytes, from the column.
    pub length: usize,
    /// The message.
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

/// The changed items of a module, by their names, which are unique in the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedItems {
    /// Fields and methods that are removed or retyped.
    pub members: BTreeSet<String>,
    /// Types that are removed, variants as `Type::Variant`, and the fields of a kind as `Kind::spec`, because many other types have fields of
    /// these names.
    pub items: BTreeSet<String>,
    /// Structs that get a field: a literal or a pattern without `..` no longer compiles.
    pub structs_with_new_fields: BTreeSet<String>,
    /// Enums that get a variant: a `match` without a wildcard no longer compiles.
    pub enums_with_new_variants: BTreeSet<String>,
    /// Types that lose `Default`: `..Default::default()` in a literal no longer compiles.
    pub lost_default: BTreeSet<String>,
}

impl ChangedItems {
    pub fn extend(&mut self, other: Self) {
        self.members.extend(other.members);
        self.items.extend(other.items);
        self.structs_with_new_fields
            .extend(other.structs_with_new_fields);
        self.enums_with_new_variants
            .extend(other.enums_with_new_variants);
        self.lost_default.extend(other.lost_default);
    }
}
