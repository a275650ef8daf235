//! Compares two revisions of a CustomResourceDefinition: two [`Api`]s in, typed differences out, field by field, with a verdict for
//! operator code, stored objects and clients. No I/O; an unusual schema is compared like any other.
//!
//! `docs/evolution.md` has the table of verdicts and its sources.

mod change;
mod constraint;
mod definition;
mod difference;
mod extension;
mod shape;
mod storage;
mod unknown;
mod walk;

pub use change::{Change, ChangeKind, Impact, Party, Verdict};
pub use difference::{Difference, Side};

use crate::crd::Api;

/// The differences between two revisions of a CRD: first those of the whole CRD, then version by version, in the order of the schema.
/// Changed descriptions are not reported.
pub fn differences(before: &Api, after: &Api) -> Vec<Difference> {
    let mut differences = definition::definition(before, after);
    differences.extend(storage::lost(before, after));
    for step in definition::versions(before, after) {
        differences.extend(step.parts());
        if let definition::Step::Kept(before, after) = step {
            differences.extend(walk::schema(before, after));
        }
    }
    differences
}

#[cfg(test)]
mod tests;
