//! A difference between two CRDs, and whom it breaks.

use std::sync::Arc;

use operator_schema::Schema;

use super::change::{Change, ChangeKind, Impact, Party, Verdict};
use crate::crd::Version;

/// A difference between two CRDs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub change: Change,
    /// The version's name; none for what is of the whole definition.
    pub version: Option<String>,
    /// JSON pointer into the definition of `side`.
    pub pointer: String,
    pub side: Side,
    /// The steps from the root of the version's schema to what differs. Empty for the root and for what is not in a schema.
    pub path: Vec<Segment>,
    /// The schemas at the end of the path; absent where the side has none there, and for what is not in a schema.
    pub before: Option<Arc<Schema>>,
    pub after: Option<Arc<Schema>>,
    /// Lowercase, with the old and the new value.
    pub message: String,
    /// That of the change, or less where the version is not served.
    pub impact: Impact,
}

/// A step from a schema to one of those inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// `properties`, by the name of the field.
    Field(String),
    /// `items`.
    Items,
    /// `additionalProperties`.
    Values,
}

/// Which of the two definitions a pointer leads into: the new one, but for what is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    Before,
    After,
}

impl Difference {
    /// The path as `kubectl explain` writes it: `spec.template.metadata`.
    pub fn field_path(&self) -> String {
        let fields = self.path.iter().filter_map(|segment| match segment {
            Segment::Field(name) => Some(name.as_str()),
            Segment::Items | Segment::Values => None,
        });
        fields.collect::<Vec<_>>().join(".")
    }

    pub fn kind(&self) -> ChangeKind {
        self.change.kind()
    }

    /// Whether there is somebody whom it breaks.
    pub fn is_breaking(&self) -> bool {
        self.broken().next().is_some()
    }

    /// Whom it breaks.
    pub fn broken(&self) -> impl Iterator<Item = Party> {
        Party::ALL
            .into_iter()
            .filter(|party| self.impact.on(*party) == Verdict::Breaking)
    }
}

/// The impact in a version: clients of a version that is not served are not affected, but objects may be stored in it.
pub fn impact_in_version(impact: Impact, before: &Version, after: &Version) -> Impact {
    if before.served && after.served {
        return impact;
    }
    let is_stored = before.served || before.storage;
    Impact {
        stored: if is_stored {
            impact.stored
        } else {
            Verdict::Safe
        },
        ..Impact::default()
    }
}

/// A value in a message, cut where it is long.
pub fn shown(text: &str) -> String {
    const MOST: usize = 80;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// `10 -> 5`, `5 is new` or `10 was removed`.
pub fn transition(before: Option<&str>, after: Option<&str>) -> String {
    match (before.map(shown), after.map(shown)) {
        (Some(before), Some(after)) => format!("{before} -> {after}"),
        (None, Some(after)) => format!("{after} is new"),
        (Some(before), None) => format!("{before} was removed"),
        (None, None) => String::new(),
    }
}
