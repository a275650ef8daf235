//! Reports the fields that only one of two versions has. Their values are kept, so that nothing is lost, but a client of the other version
//! does not see them.

use super::pending_answers::{answers_text, is_argument};
use crate::{
    conversion::Path,
    diagnostic::{Code, Failure, Report, Severity},
    plan::Plan,
    render::{Converted, KeptField, versions_path},
    workspace::open::OpenProject,
};

/// How many fields a report names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// The first `MAX_LISTED`.
    Short,
    Complete,
}

/// The maximum number of fields in a short report.
const MAX_LISTED: usize = 5;

/// The kinds whose conversion a plan creates or changes, and the others.
pub fn by_plan<'a>(
    converted: &'a [Converted],
    plan: &Plan,
) -> (Vec<&'a Converted>, Vec<&'a Converted>) {
    let is_changed = |kind: &&Converted| {
        let path = versions_path(&kind.module);
        plan.changes.iter().any(|change| change.path == path)
    };
    converted.iter().partition(is_changed)
}

/// A report for each version of a pair that has such fields, except for fields that the user's code declares as lossy or names in a rule.
pub fn reports<'a>(
    open: &OpenProject,
    plan: &Plan,
    converted: impl IntoIterator<Item = &'a Converted>,
    listing: Listing,
) -> Result<Vec<Report>, Failure> {
    let mut reports = vec![];
    for kind in converted {
        let text = answers_text(open, plan, kind)?.unwrap_or_default();
        let is_kept = |path: &&Path| !is_argument(&text, path);
        for kept in kind.spokes.iter().flat_map(|spoke| &spoke.kept) {
            let paths: Vec<&Path> = kept.paths.iter().filter(is_kept).collect();
            if !paths.is_empty() {
                reports.push(report(kind, kept, &paths, listing));
            }
        }
    }
    Ok(reports)
}

/// Asks about a kept field that may have secret values.
fn secret_help(path: &Path) -> String {
    format!(
        "if values of `{path}` are secret, add it to `sensitive` of the kind in operator.toml: it is then not kept in an annotation, which everybody who reads the object sees"
    )
}

/// Reports kept fields: `note[kept-fields]: Widget.example.com: kept for v1, not visible in v2: spec.debug, spec.verbose (and 12 more)`
fn report(kind: &Converted, kept: &KeptField, paths: &[&Path], listing: Listing) -> Report {
    let shown = match listing {
        Listing::Short => paths.len().min(MAX_LISTED),
        Listing::Complete => paths.len(),
    };
    let names: Vec<String> = paths[..shown].iter().map(ToString::to_string).collect();
    let more = match paths.len() - shown {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Report {
        severity: Severity::Note,
        code: Some(Code::KeptFields),
        subject: Some(kind.full_name.clone()),
        message: format!(
            "kept for {}, not visible in {}: {}{more}",
            kept.version,
            kept.other,
            names.join(", ")
        ),
        location: None,
        instead: None,
        help: kept
            .secrets
            .iter()
            .find(|secret| paths.iter().any(|path| secret.is_within(path)))
            .map(secret_help),
    }
}
