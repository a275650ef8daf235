//! Why handlers are called.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a handler is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Cause {
    /// The object is new to the operator.
    Create,
    /// The object differs from what was handled last.
    Update,
    /// The object is being deleted.
    Delete,
    /// The object was deleted.
    Deleted,
    /// The operator was started, and the object existed already.
    Resume,
    /// A timer ticks.
    Timer,
    /// A daemon was started.
    Daemon,
}

impl Cause {
    /// The name in lower case, for example `update`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Deleted => "deleted",
            Self::Resume => "resume",
            Self::Timer => "timer",
            Self::Daemon => "daemon",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
