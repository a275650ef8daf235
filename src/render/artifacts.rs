//! The results of rendering: all files of a project, and what they need to know about a kind.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{conversion::Converted, fault_test::Case, generated_test::VersionModule};
use crate::{diagnostic::Diagnostic, manifests::Object, operator::Subject, plan::Tree};

/// The folder with the records of the types of fields.
pub const RECORD: &str = ".operator/types/";

/// The folder with the CRDs from which the project was last generated, with which changed CRDs are compared.
pub const CRDS: &str = ".operator/crds/";

/// For each scaffold but the first, a folder with a file for each kind whose controller was generated from it; the file lists what the kind
/// owns.
pub const SCAFFOLD_RECORDS: &str = ".operator/scaffolds/";

/// The path of the snapshot of the children that the controller of a module creates.
pub fn snapshot_path(module: &str) -> String {
    format!("tests/snapshots/{}.snap", module.trim_end_matches('_'))
}

/// The files of a project, and their diagnostics.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    pub tree: Tree,
    pub diagnostics: Vec<(Subject, Diagnostic)>,
    /// The kinds with conversions.
    pub converted: Vec<Converted>,
    /// The objects in `manifests/`.
    pub objects: Vec<Object>,
}

/// The user's decisions about generated files.
#[derive(Clone, Debug, Default)]
pub struct UserFiles {
    /// The files that the user deleted. No other generated file may name them.
    pub removed: BTreeSet<String>,
    /// The files that the user took over.
    pub adopted: BTreeSet<String>,
    /// The snapshots of children that are not written: their controllers are older than snapshots, and may have other children.
    pub omitted: BTreeSet<String>,
}

/// The properties of a kind that files of the whole project need.
#[derive(Default)]
pub struct KindArtifacts {
    pub typed: Vec<VersionModule>,
    pub sample: Option<Value>,
    /// How its controller is tested, if it has one of its own.
    pub case: Option<Case>,
    /// The conversions between its versions, if there are any.
    pub converted: Option<Converted>,
}
