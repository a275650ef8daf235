//! Reports the objects that leave the manifests with a plan, and stay in clusters.

use crate::{
    diagnostic::{Code, Report, Severity},
    plan::Plan,
    uninstall::{STALE, StaleObjects},
    workspace::open::OpenProject,
};

/// The commands that delete what the plan removes from the manifests.
pub fn report(open: &OpenProject, plan: &Plan) -> Option<Report> {
    let change = plan.changes.iter().find(|change| change.path == STALE)?;
    let [before, after] = [&change.before, &change.after]
        .map(|text| StaleObjects::read(text.as_deref().unwrap_or_default()));
    let new = after.without(&before);
    let steps: String = new
        .steps()
        .map(|(title, commands)| format!("\n{title}\n{}", commands.trim_end()))
        .collect();
    (!steps.is_empty()).then(|| Report {
        severity: Severity::Warning,
        code: Some(Code::StaleObjects),
        subject: Some(open.config.name.clone()),
        message: format!("the manifests no longer contain objects, which stay in clusters until somebody deletes them{steps}"),
        location: None,
        instead: None,
        help: Some(format!("{STALE} keeps these commands until you remove them; Helm, and Flux and Argo CD with pruning, delete the objects themselves")),
    })
}
