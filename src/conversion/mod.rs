//! Derives the conversion between two versions of a kind from their schemas: which fields are carried, moved or kept, and which questions
//! only the user can answer. Schemas in, rules and questions out. No I/O.

mod derive;
mod form;
mod path;
mod rename;
mod rule;
mod similarity;

pub use derive::{Derivation, derive};
pub use path::{Path, Step};
pub use rename::{Rename, RenameError, path, resolve};
pub use rule::{End, Place, Question, Rule};

use crate::crd::{Api, Version};

/// Whether two versions have equal schemas, apart from texts for humans. Such versions need no conversion.
pub fn is_equal(a: &Version, b: &Version) -> bool {
    form::bare(&a.schema) == form::bare(&b.schema)
}

/// The versions that are converted to and from the hub: all others. `None` if nothing has to be converted, because all schemas are equal and
/// no CRD with a conversion webhook has been installed.
pub fn spokes<'a>(api: &'a Api, hub: &Version, was_converted: bool) -> Option<Vec<&'a Version>> {
    let others = api.versions.iter().filter(|it| it.name != hub.name);
    let others: Vec<&Version> = others.collect();
    let is_needed = was_converted || others.iter().any(|it| !is_equal(it, hub));
    is_needed.then_some(others)
}

/// The names of two versions whose schemas differ; `None` if all are equal.
pub fn different_versions(api: &Api) -> Option<[&str; 2]> {
    let (first, others) = api.versions.split_first()?;
    let other = others.iter().find(|other| !is_equal(first, other))?;
    Some([&first.name, &other.name])
}

#[cfg(test)]
mod tests;
