//! Refuses to generate the CRDs that a project installs with CEL rules that the API server refuses. Those of other operators are not checked:
//! their users cannot change them.

use operator_schema::RuleFaultKind;

use super::{failure::Failure, open::OpenProject, planning::placed};
use crate::{
    diagnostic::{Diagnostic, Report, Severity},
    project::Source,
    types,
};

impl OpenProject {
    pub fn check_rules(&self) -> Result<(), Failure> {
        let mut reports: Vec<Report> = vec![];
        for (kind, api) in self.state.state.kinds.iter().zip(&self.apis) {
            if kind.source() != Source::Own {
                continue;
            }
            let faults = api.versions.iter().flat_map(|version| {
                let faults = version.rule_faults.iter();
                let refused = faults.filter(|it| it.kind != RuleFaultKind::UnknownFunction);
                refused.map(|fault| Diagnostic {
                    severity: Severity::Error,
                    ..types::refused_rule(version, fault)
                })
            });
            reports.extend(placed(api, faults.collect()));
        }
        match reports.is_empty() {
            true => Ok(()),
            false => Err(Failure::of(reports)),
        }
    }
}
