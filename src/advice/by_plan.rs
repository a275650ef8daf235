//! The reports of all commands that change a project, with their locations.

use super::{bundle_limits, retype, stale_objects};
use crate::{
    crd::Api,
    diagnostic::{Diagnostic, Location, Report},
    operator::{KindId, Subject},
    plan::Plan,
    render::CRDS,
    workspace::open::OpenProject,
};

impl OpenProject {
    /// First, the diagnostics of the generated files, and the reports about retyped fields, abandoned finalizers, stale objects and
    /// the limits of a bundle. Second, the diagnostics of kinds that the plan does not change.
    pub fn reports(
        &self,
        diagnostics: Vec<(Subject, Diagnostic)>,
        plan: &Plan,
    ) -> (Vec<Report>, Vec<Report>) {
        let stays = |subject: Subject| {
            let Subject::Kind(KindId(index)) = subject else {
                return false;
            };
            let crd = format!("{CRDS}{}.yaml", self.apis[index].name());
            let types = format!("src/api/{}/", self.config.kinds[index].module_name());
            let is_of = |path: &str| path == crd || path.starts_with(&types);
            !plan.changes.iter().any(|change| is_of(&change.path))
        };
        let (standing, new) = diagnostics
            .into_iter()
            .partition(|(about, _)| stays(*about));
        let mut fresh = retype::diagnostics(self, plan);
        fresh.extend::<Vec<_>>(new);
        let mut reports = self.located(fresh);
        reports.extend(self.finalizers(plan));
        reports.extend(stale_objects::report(self, plan));
        reports.extend(bundle_limits::reports(self));
        (reports, self.located(standing))
    }

    /// Sorts diagnostics by kind, those of the operator last, and adds their locations.
    fn located(&self, diagnostics: Vec<(Subject, Diagnostic)>) -> Vec<Report> {
        let mut of_kinds = vec![vec![]; self.apis.len()];
        let mut of_operator = vec![];
        for (about, diagnostic) in diagnostics {
            match about {
                Subject::Kind(KindId(index)) => of_kinds[index].push(diagnostic),
                Subject::Operator => {
                    of_operator.push(Report::of(&self.config.name, diagnostic, None));
                }
            }
        }
        self.apis
            .iter()
            .zip(of_kinds)
            .flat_map(|(api, diagnostics)| located(api, diagnostics))
            .chain(of_operator)
            .collect()
    }
}

/// The diagnostics of a CRD, with their locations.
pub fn located(api: &Api, diagnostics: Vec<Diagnostic>) -> Vec<Report> {
    let pointers: Vec<&str> = diagnostics
        .iter()
        .map(|diagnostic| diagnostic.pointer.as_str())
        .collect();
    let locations: Vec<Location> = match pointers.as_slice() {
        [] => vec![],
        pointers => api.locations(pointers),
    };
    let name = format!("{}.{}", api.names.kind, api.group);
    diagnostics
        .into_iter()
        .zip(locations)
        .map(|(diagnostic, location)| Report::of(&name, diagnostic, Some(location)))
        .collect()
}
