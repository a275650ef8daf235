//! Reports settings in `operator.toml` that a bundle of OLM cannot hold.

use super::open::{OpenProject, STATE};
use crate::{
    diagnostic::{Code, Location, Report, Severity},
    disk,
    project::{Packaging, Webhook},
};

/// A note for each setting that has no place in the bundle.
pub fn reports(open: &OpenProject) -> Vec<Report> {
    let state = &open.state.state;
    if !state.packaging.contains(&Packaging::Olm) {
        return vec![];
    }
    let project = open.project();
    let mut limits: Vec<(&str, String, &str)> = vec![];
    for admission in project.admissions().into_iter().flatten() {
        let kind = &admission.resource.kind;
        let has = |is_set: fn(&Webhook) -> bool| admission.webhooks.iter().any(is_set);
        if has(|it| !it.match_conditions.is_empty()) {
            limits.push((
                "match-conditions",
                format!("OLM has no match conditions, so it calls the webhooks of {kind} for more requests"),
                "check the condition in the code of the webhook, too",
            ));
        }
        if has(|it| it.namespace_selector.is_some()) {
            limits.push((
                "namespace-selector",
                format!("OLM selects namespaces itself, so it calls the webhooks of {kind} for more requests"),
                "check the namespace in the code of the webhook, too",
            ));
        }
    }
    if !state.deployment.service_account_annotations.is_empty() {
        limits.push((
            "service-account-annotations",
            "OLM makes the service account, without annotations".into(),
            "say in `description` of the ClusterServiceVersion that it must be annotated",
        ));
    }
    let text = open.inputs.get(STATE).map_or("", String::as_str);
    let path = disk::shown(&open.root.join(STATE));
    let report = |(word, message, help): (&str, String, &str)| {
        let start = text.find(word);
        Report {
            severity: Severity::Note,
            code: Some(Code::OlmLimit),
            subject: None,
            message,
            location: start.map(|start| Location::new(&path, 1, text, start..start + word.len())),
            instead: None,
            help: Some(help.into()),
        }
    };
    limits.into_iter().map(report).collect()
}
