//! Reports the children that controllers no longer delete after a plan.

use crate::{
    config::Kind,
    diagnostic::{Code, Report, Severity},
    plan::Plan,
    render::SCAFFOLD_RECORDS,
    scaffold::Scaffold,
    workspace::open::OpenProject,
};

impl OpenProject {
    /// The children that controllers no longer delete after the plan: those of kinds that are removed from `owns`, and all of a controller
    /// whose new scaffold deletes none.
    pub fn abandoned_children(&self, plan: &Plan) -> Vec<Report> {
        let mut reports = vec![];
        for kind in &self.config.kinds {
            let Some(scaffold) = kind.scaffold else {
                continue;
            };
            for former in Scaffold::all().filter(|former| former.prunes) {
                let record = format!("{SCAFFOLD_RECORDS}{}/{}", former.name, kind.module_name());
                let change = plan.changes.iter().find(|change| change.path == record);
                let Some(before) = change.and_then(|change| change.before.as_deref()) else {
                    continue;
                };
                if scaffold.prunes {
                    reports.extend(no_longer_owned(kind, before));
                } else {
                    reports.extend(no_longer_pruned(kind, former, scaffold, before));
                }
            }
        }
        reports
    }
}

/// The kinds of children that were removed from `owns`. Another version of a kind has the same objects.
fn no_longer_owned(kind: &Kind, before: &str) -> Vec<Report> {
    let objects = |name: &str| {
        let (api, kind) = name.rsplit_once('/').unwrap_or_default();
        let group = api.rsplit_once('/').map_or("", |(group, _)| group);
        let kind = kind.split(':').next().unwrap_or_default();
        (group.to_owned(), kind.to_owned())
    };
    let is_owned = |name: &str| {
        kind.owns
            .iter()
            .any(|owned| objects(&owned.kind) == objects(name))
    };
    let removed = before.lines().filter(|name| !is_owned(name));
    let report = |name: &str| {
        abandoned_children(
            kind,
            format!(
                "{name} was removed from `owns`: the operator no longer deletes objects of this kind"
            ),
            format!(
                "to delete them, first deploy an operator that still owns {name}, and whose `desired` returns none"
            ),
        )
    };
    removed.map(report).collect()
}

/// Reports all children of a kind whose new scaffold deletes none.
fn no_longer_pruned(
    kind: &Kind,
    former: &Scaffold,
    scaffold: &Scaffold,
    before: &str,
) -> Option<Report> {
    let owned: Vec<&str> = before.lines().collect();
    (!owned.is_empty()).then(|| {
        abandoned_children(
            kind,
            format!(
                "the scaffold is {:?} and no longer {:?}: the operator no longer deletes children that are not desired ({})",
                scaffold.name,
                former.name,
                owned.join(", ")
            ),
            "delete them in the controller".into(),
        )
    })
}

fn abandoned_children(kind: &Kind, message: String, help: String) -> Report {
    Report {
        severity: Severity::Warning,
        code: Some(Code::AbandonedChildren),
        subject: Some(kind.full_name()),
        message,
        location: None,
        instead: Some("existing children remain until their owner is deleted".into()),
        help: Some(help),
    }
}
