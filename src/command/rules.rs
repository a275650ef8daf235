//! Reports unknown names in the `rules` of `operator.toml`, with the name that was probably meant.

use super::open::{OpenProject, STATE};
use crate::{
    diagnostic::{Code, Location, Report, Severity},
    disk,
    project::{Misnamed, misnamed},
};

/// Warnings about rules with unknown names. RBAC accepts any name, but a rule with a misspelled name permits nothing.
pub fn reports(open: &OpenProject) -> Vec<Report> {
    let Some(text) = open.inputs.get(STATE) else {
        return vec![];
    };
    let path = disk::shown(&open.root.join(STATE));
    let document = toml_edit::Document::parse(text.as_str()).ok();
    let mut reports = vec![];
    for (index, kind) in open.state.state.kinds.iter().enumerate() {
        for (number, rule) in kind.rules.iter().enumerate() {
            for Misnamed {
                key,
                index: word,
                message,
                help,
            } in misnamed(rule, &open.apis)
            {
                let range = document.as_ref().and_then(|document| {
                    let rules = document.get("kind")?.get(index)?.get("rules")?;
                    rules.get(number)?.get(key)?.get(word)?.span()
                });
                reports.push(Report {
                    severity: Severity::Warning,
                    code: Some(Code::UnknownResource),
                    subject: Some(kind.full_name()),
                    message,
                    location: range.map(|range| Location::new(&path, 1, text, range)),
                    instead: None,
                    help: Some(help),
                });
            }
        }
    }
    reports
}
