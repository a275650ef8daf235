//! A difference between two CRDs, and its impact.

use super::change::{Change, ChangeKind, Impact, Party, Verdict};
use crate::crd::Version;

/// A difference between two CRDs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub change: Change,
    /// The name of the version; `None` if the difference concerns the whole CRD.
    pub version: Option<String>,
    /// The JSON pointer into the CRD of `side`.
    pub pointer: String,
    pub side: Side,
    /// The steps from the root of the version's schema to the difference. Empty for the root, and for a difference outside of the schema.
    pub path: Vec<Segment>,
    /// The message in lowercase, with the old and the new value.
    pub message: String,
    /// The impact of the change, reduced if the version is not served.
    pub impact: Impact,
}

/// A step from a schema to a schema inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// `properties`, by the name of the field.
    Field(String),
    /// `items`.
    Items,
    /// `additionalProperties`.
    Values,
}

/// The CRD that a pointer leads into: the new one, unless the difference is a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    Before,
    After,
}

impl Difference {
    /// Formats the path as `kubectl explain` does: `spec.template.metadata`.
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

    /// Whether the difference breaks any party.
    pub fn is_breaking(&self) -> bool {
        self.broken().next().is_some()
    }

    /// Reduces the impact for a kind whose versions the operator converts: nothing is pruned when the storage version changes, and the CRD
    /// that is installed has the operator's webhook, whatever its CRD says.
    pub fn convert(&mut self) {
        let is_covered = matches!(
            self.change,
            Change::StorageMoved | Change::ConversionByNone | Change::ConversionByWebhook
        );
        if is_covered {
            self.impact = Impact::default();
            self.message += "; the operator converts the objects";
        }
    }

    /// Raises the impact of a change of the storage version, for a kind that needs the operator for each write, if the operator that runs
    /// does not know the version.
    pub fn store_at_once(&mut self, version: &str) {
        self.impact.clients = Verdict::Breaking;
        self.message = format!(
            "objects are stored as {version}, which the release that runs cannot convert, so all writes are refused until this one runs; \
             first release {version} with `storage: false`, and store objects in it in the release after that"
        );
    }

    /// The parties that the difference breaks.
    pub fn broken(&self) -> impl Iterator<Item = Party> {
        Party::ALL
            .into_iter()
            .filter(|party| self.impact.on(*party) == Verdict::Breaking)
    }
}

/// The impact in a version. If the version is not served, clients are not affected, but objects may be stored in it.
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

/// Formats a value for a message, and shortens it if it is long.
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
