//! How a definition evolved: two [`Api`]s of one CustomResourceDefinition in, typed differences out, field by field, with a verdict for
//! operator code, for stored objects and for clients. It does no io, and an odd schema is compared as any other.
//!
//! `docs/evolution.md` has the table of verdicts and its sources.

mod change;
mod constraint;
mod definition;
mod difference;
mod extension;
mod shape;
mod unknown;
mod walk;

pub use change::{Change, ChangeKind, Impact, Party, Verdict};
pub use difference::{Difference, Segment, Side};

use crate::crd::Api;

/// ChangeKind is otherwise in `after` than in `before`: first the parts of the whole definition, then version by version, each in the order of
/// its schema. ChangeKind is only described otherwise is not told.
pub fn differences(before: &Api, after: &Api) -> Vec<Difference> {
    let mut differences = definition::definition(before, after);
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
