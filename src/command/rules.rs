//! Reports unknown names in the `rules` of `operator.toml`, with the name that was probably meant.

use super::open::{CONFIG, OpenProject};
use crate::{
    diagnostic::{Code, Location, Report, Severity},
    disk,
    operator::{Misnamed, misnamed},
};

/// Warnings about rules with unknown names. RBAC accepts any name, but a rule with a misspelled name permits nothing.
pub fn reports(open: &OpenProject) -> Vec<Report> {
    let Some(text) = open.inputs.get(CONFIG) else {
        return vec![];
    };
    let path = disk::shown(&open.root.join(CONFIG));
    let document = toml_edit::Document::parse(text.as_str()).ok();
    let mut reports = vec![];
    let config = &open.config;
    let kinds = config.kinds.iter().enumerate();
    let kinds = kinds.map(|(index, kind)| ("kind", index, kind.full_name(), &kind.rules));
    let named = config.controllers.iter().enumerate();
    let named = named.map(|(index, it)| ("controller", index, it.name.clone(), &it.rules));
    for (table, index, subject, rules) in kinds.chain(named) {
        for (number, rule) in rules.iter().enumerate() {
            for Misnamed {
                key,
                index: word,
                message,
                help,
            } in misnamed(rule, &open.apis)
            {
                let range = document.as_ref().and_then(|document| {
                    let rules = document.get(table)?.get(index)?.get("rules")?;
                    rules.get(number)?.get(key)?.get(word)?.span()
                });
                reports.push(Report {
                    severity: Severity::Warning,
                    code: Some(Code::UnknownResource),
                    subject: Some(subject.clone()),
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
