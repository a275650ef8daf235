//! The reports of all commands that change a project, with their places.

use super::{bundle_limits, retype};
use crate::{
    crd::Api,
    diagnostic::{Diagnostic, Location, Report},
    operator::{KindId, Subject},
    plan::Plan,
    render::CRDS,
    workspace::open::OpenProject,
};

impl OpenProject {
    /// The diagnostics of the output, of the fields that the plan retypes, of the finalizers that it abandons and of the limits of a bundle,
    /// with their places. Those of kinds that the plan does not change are returned separately.
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
        let mut reports = self.placed(fresh);
        reports.extend(self.finalizers(plan));
        reports.extend(bundle_limits::reports(self));
        (reports, self.placed(standing))
    }

    /// Sorts diagnostics by kind, those of the operator last, and adds their places.
    fn placed(&self, diagnostics: Vec<(Subject, Diagnostic)>) -> Vec<Report> {
        let mut of_kinds = vec![vec![]; self.apis.len()];
        let mut whole = vec![];
        for (about, diagnostic) in diagnostics {
            match about {
                Subject::Kind(KindId(index)) => of_kinds[index].push(diagnostic),
                Subject::Operator => whole.push(Report::of(&self.config.name, diagnostic, None)),
            }
        }
        self.apis
            .iter()
            .zip(of_kinds)
            .flat_map(|(api, diagnostics)| placed(api, diagnostics))
            .chain(whole)
            .collect()
    }
}

/// The diagnostics of a CRD, with their places.
pub fn placed(api: &Api, diagnostics: Vec<Diagnostic>) -> Vec<Report> {
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
