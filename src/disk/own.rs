//! The folders in a project that only the tool writes.

/// The folder with the tool's records of a project, and its journal.
pub const TOOL_FOLDER: &str = ".operator";
/// The folder with the new contents, and the old ones for a rollback. The files are named after their index in the journal.
pub const STAGING: &str = ".operator/new";
