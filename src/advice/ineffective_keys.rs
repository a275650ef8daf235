//! Reports settings in `operator.toml` that change nothing.

use crate::{
    config::{Place, Source},
    diagnostic::{Code, Report, Severity},
    workspace::open::OpenProject,
};

/// Reports `migrate-storage` if no kind has objects that could be stored in another version.
pub fn reports(open: &OpenProject) -> Option<Report> {
    let mut kinds = open.config.kinds.iter().zip(&open.apis);
    let has_versions =
        kinds.any(|(kind, api)| kind.source() == Source::Own && api.versions.len() > 1);
    if !open.config.migrate_storage || has_versions {
        return None;
    }
    Some(Report {
        severity: Severity::Warning,
        code: Some(Code::WithoutEffect),
        subject: None,
        message: "`migrate-storage` has no effect, because no CRD of this operator has more than one version".into(),
        location: open.location(&Place::of("migrate-storage")),
        instead: None,
        help: Some("remove it, or add a version: cargo operator add-version KIND VERSION".into()),
    })
}
