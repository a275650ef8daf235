//! The folder of the tool in a project.

/// The folder of what this tool remembers about a project.
pub const OWN: &str = ".operator";
/// Holds the new contents, and the old ones for a rollback; the files are named after their index in the journal.
pub const STAGING: &str = ".operator/new";
