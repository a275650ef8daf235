//! What a conversion does with the fields that two versions do not have in common, and what only the user can know about them.

use serde_json::Value;

use super::path::{Path, Step};

/// One of the two versions of a conversion, which goes from a spoke to the hub and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    Spoke,
    Hub,
}

/// A field in both versions. The paths differ below a renamed field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub spoke: Path,
    pub hub: Path,
}

/// A part of a conversion that follows from the schemas and the declared renames. A field without a rule is carried over.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// The field has another path.
    Moved(Place),
    /// The spoke has one value, the hub a list of such values.
    ListOfOne(Place),
    /// The hub has one value, the spoke a list of such values.
    OneOfList(Place),
    /// Only this version has the field; a conversion to the other version keeps its value.
    Only(End, Path),
    /// Only this version has the default for the field: if an object of the other version lacks the field, it has this value here.
    Default(End, Path, Value),
    /// This version requires an object that the other may lack, and that may be empty.
    Empty(End, Path),
    /// Only in this version, the field may be `null`.
    Null(End, Path),
    /// Enum values that are written differently, in the order of the spoke and the hub. They belong to a question about other values of the
    /// field if there is one.
    Values(Place, Vec<(Value, Value)>),
}

/// A part of a conversion that only the user can decide.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// The types differ; they are named in the order of the spoke and the hub.
    Convert(Place, [String; 2]),
    /// Fields that are split or merged.
    Join(Vec<Path>, Vec<Path>),
    /// This version requires a field that the other lacks, or may lack. The last path is the field of the other that may be the same one.
    Supply(End, Path, Option<Path>),
    /// Enum values that only the spoke has, and those that only the hub has.
    Values(Place, [Vec<Value>; 2]),
    /// A field that only the spoke has may be one that only the hub has, with another name.
    Renamed(Place),
}

impl End {
    pub fn other(self) -> Self {
        match self {
            Self::Spoke => Self::Hub,
            Self::Hub => Self::Spoke,
        }
    }
}

impl Rule {
    /// The place of the value that the rule moves to its path in the other version.
    pub fn moved(&self) -> Option<&Place> {
        match self {
            Self::Moved(it) | Self::ListOfOne(it) | Self::OneOfList(it) | Self::Values(it, _) => {
                Some(it)
            }
            Self::Only(..) | Self::Default(..) | Self::Empty(..) | Self::Null(..) => None,
        }
    }
}

impl Question {
    /// The place of the value that the answer moves to its path in the other version.
    pub fn moved(&self) -> Option<&Place> {
        match self {
            Self::Convert(it, _) | Self::Values(it, _) => Some(it),
            Self::Join(..) | Self::Supply(..) | Self::Renamed(_) => None,
        }
    }
}

impl Place {
    /// The path in one of the versions.
    pub fn at(&self, end: End) -> &Path {
        match end {
            End::Spoke => &self.spoke,
            End::Hub => &self.hub,
        }
    }

    /// The place of a field that has one name in both versions.
    pub fn field(&self, name: &str) -> Self {
        let step = Step::Field(name.to_owned());
        self.with([step.clone(), step])
    }

    /// The place after a step in the spoke and one in the hub.
    pub fn with(&self, [spoke, hub]: [Step; 2]) -> Self {
        Self {
            spoke: self.spoke.with(spoke),
            hub: self.hub.with(hub),
        }
    }
}
