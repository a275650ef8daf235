//! Reports unknown names in the `rules` of `operator.toml`, with the name that was probably meant.

use crate::{
    config::Place,
    diagnostic::{Code, Report, Severity},
    operator::{Misnamed, misnamed},
    workspace::open::OpenProject,
};

/// Warnings about rules with unknown names. RBAC accepts any name, but a rule with a misspelled name permits nothing.
pub fn reports(open: &OpenProject) -> Vec<Report> {
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
                let rule = Place::of(table).then(index).then("rules").then(number);
                reports.push(Report {
                    severity: Severity::Warning,
                    code: Some(Code::UnknownResource),
                    subject: Some(subject.clone()),
                    message,
                    location: open.location(&rule.then(key).then(word)),
                    instead: None,
                    help: Some(help),
                });
            }
        }
    }
    reports
}
