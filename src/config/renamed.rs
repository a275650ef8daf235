//! `renames` of a kind: fields with one path in a version and another in the hub.

use serde::Deserialize;

/// A declared rename. Several fields on one side are split or merged.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renamed {
    /// The version that has the paths in `from`.
    pub version: String,
    pub from: Paths,
    /// The paths in the hub.
    pub to: Paths,
}

/// A path, or a list of paths.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "write a path, such as \"spec.size\", or a list of paths"
)]
pub enum Paths {
    One(String),
    Many(Vec<String>),
}

impl Paths {
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(path) => std::slice::from_ref(path),
            Self::Many(paths) => paths,
        }
    }
}
