//! Notes that manifests lack the operator, because the project has no image.

use crate::{
    config::Packaging,
    diagnostic::{Code, Diagnostic, Severity},
    operator::Subject,
    plan::{Action, Change, Plan},
    workspace::open::OpenProject,
};

impl OpenProject {
    /// A note about missing manifests, for commands that generate manifests.
    pub fn no_image(&self) -> Option<(Subject, Diagnostic)> {
        let config = &self.config;
        (config.image.is_none() && self.is_runnable()).then(|| {
            let absent = config.packaging.iter().map(|packaging| match packaging {
                Packaging::Kustomize => "manifests/ has no Deployment of the operator",
                Packaging::Helm => "there is no chart",
                Packaging::Olm => "there is no bundle",
            });
            let absent: Vec<_> = absent.collect();
            let diagnostic = Diagnostic {
                code: Code::NoImage,
                severity: Severity::Note,
                pointer: String::new(),
                message: "no image is set yet".into(),
                instead: Some(absent.join(", and ")),
                help: Some("cargo operator gen-manifests --image NAME:TAG".into()),
            };
            (Subject::Operator, diagnostic)
        })
    }

    /// Whether a plan for a project without an image lacks a package that the user asked for, or removes the Deployment.
    pub fn misses_image(&self, plan: &Plan) -> bool {
        let is_removed = |change: &Change| {
            change.action == Action::Remove && change.path == "manifests/operator/deployment.yaml"
        };
        let mut packaging = self.config.packaging.iter();
        packaging.any(|packaging| *packaging != Packaging::Kustomize)
            || plan.changes.iter().any(is_removed)
    }
}
