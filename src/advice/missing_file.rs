//! Reports files of the user that the generated code needs, and that are missing. They are not created again without being asked for.

use crate::{
    diagnostic::{Code, Failure, Report, Severity},
    disk,
    workspace::open::OpenProject,
};

/// Whether a module exists, as `name.rs` or as `name/mod.rs`.
pub fn exists(open: &OpenProject, path: &str) -> Result<bool, Failure> {
    let folder = path.strip_suffix(".rs").unwrap_or(path);
    for path in [path, &format!("{folder}/mod.rs")] {
        if disk::read(&open.root, path)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The report of a missing file; `purpose` says what it has, and `other` how the user can do without it.
pub fn report(
    open: &OpenProject,
    subject: String,
    path: &str,
    purpose: &str,
    other: &str,
) -> Report {
    let shown = disk::shown(&open.root.join(path));
    Report {
        severity: Severity::Warning,
        code: Some(Code::MissingFile),
        subject: Some(subject),
        message: format!("{shown} is missing, which {purpose}"),
        location: None,
        instead: Some("the project does not compile".into()),
        help: Some(format!(
            "restore it, or make it again: cargo operator regenerate --reset {path}{other}"
        )),
    }
}
