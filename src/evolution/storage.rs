//! What stored objects lose if they are stored in another version, and nothing converts them.

use super::{change::Change, difference::Difference, walk};
use crate::crd::{Api, Conversion};

/// The fields of the former storage version that the new one prunes.
pub fn lost(before: &Api, after: &Api) -> Vec<Difference> {
    let (was, is) = (before.storage_version(), after.storage_version());
    if was.name == is.name || after.conversion == Conversion::Webhook {
        return vec![];
    }
    let pruned = walk::schema(was, is).into_iter().filter_map(|difference| {
        let what = match difference.change {
            Change::FieldRemoved => "the field is",
            Change::UnknownFieldsPruned => "unknown fields are",
            _ => return None,
        };
        let change = Change::StoredFieldLost;
        Some(Difference {
            change,
            message: format!("{what} lost when an object is stored as {}", is.name),
            impact: change.impact(),
            ..difference
        })
    });
    pruned.collect()
}
