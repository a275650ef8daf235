//! Reports settings in `operator.toml` that a bundle of OLM cannot hold.

use crate::{
    config::{Packaging, Place, Webhook},
    diagnostic::{Code, Report, Severity},
    workspace::open::OpenProject,
};

/// A setting of webhooks that OLM lacks: its key, whether a webhook has it, and the note.
type Limit = (&'static str, fn(&Webhook) -> bool, &'static str);

const LIMITS: [Limit; 2] = [
    (
        "match-conditions",
        |webhook| !webhook.match_conditions.is_empty(),
        "OLM has no match conditions, so it calls the webhook for more requests",
    ),
    (
        "namespace-selector",
        |webhook| webhook.namespace_selector.is_some(),
        "OLM selects namespaces itself, so it calls the webhook for more requests",
    ),
];

/// A note for each setting that has no place in the bundle.
pub fn reports(open: &OpenProject) -> Vec<Report> {
    let config = &open.config;
    if !config.packaging.contains(&Packaging::Olm) {
        return vec![];
    }
    let report = |subject: String, message: &str, place: &Place, help: &str| Report {
        severity: Severity::Note,
        code: Some(Code::OlmLimit),
        subject: Some(subject),
        message: message.into(),
        location: open.location(place),
        instead: None,
        help: Some(help.into()),
    };
    let kinds = config.kinds.iter().enumerate();
    let kinds = kinds.map(|(index, kind)| ("kind", index, kind.full_name(), &kind.webhooks));
    let tables = config.webhooks.iter().enumerate();
    let tables = tables.map(|(index, it)| ("webhook", index, it.kind.clone(), &it.webhooks));
    let mut reports = vec![];
    for (table, index, subject, webhooks) in kinds.chain(tables) {
        for (entry, webhook) in webhooks.iter().enumerate() {
            for (key, is_set, message) in LIMITS {
                if is_set(webhook) {
                    let place = Place::of(table).then(index).then("webhooks").then(entry);
                    let help = "decide in the code of the webhook, too";
                    reports.push(report(subject.clone(), message, &place.then(key), help));
                }
            }
        }
    }
    if !config.deployment.service_account_annotations.is_empty() {
        let place = Place::of("deployment").then("service-account-annotations");
        reports.push(report(
            config.name.clone(),
            "OLM makes the service account, without annotations",
            &place,
            "say in `description` of the ClusterServiceVersion that it must be annotated",
        ));
    }
    reports
}
