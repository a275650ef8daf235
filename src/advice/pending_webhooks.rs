//! Reports what the user has to change in the code of webhooks, because it does not match `operator.toml`.

use super::missing_file;
use crate::{
    config::WebhookType,
    diagnostic::{Code, Failure, Location, Report, Severity},
    disk,
    operator::Admission,
    plan::{Action, Plan},
    user_code::{self, ControllerTrait},
    workspace::open::OpenProject,
};

/// The traits of webhooks, with the method of each.
const TRAITS: [(WebhookType, ControllerTrait); 2] = [
    (WebhookType::Validate, wanted("Validate", "validate")),
    (WebhookType::Mutate, wanted("Mutate", "mutate")),
];

const fn wanted(interface: &'static str, method: &'static str) -> ControllerTrait {
    ControllerTrait {
        interface,
        method,
        arguments: ["", ""],
        cleanup: None,
    }
}

/// Reports the traits that the code of a kind lacks, or implements although `webhooks` does not list them. Files that the plan creates
/// match.
pub fn reports(open: &OpenProject, plan: &Plan) -> Result<Vec<Report>, Failure> {
    let mut reports = vec![];
    for admission in &open.operator()?.admissions {
        let path = admission.path();
        let mut changes = plan.changes.iter();
        if changes.any(|change| change.path == path && change.action == Action::Create) {
            continue;
        }
        let Some(text) = disk::read(&open.root, &path)? else {
            if !missing_file::exists(open, &path)? {
                let purpose = format!("has the webhooks of {}", admission.resource);
                let other = "; or remove its `webhooks` from operator.toml";
                let subject = admission.subject();
                reports.push(missing_file::report(open, subject, &path, &purpose, other));
            }
            continue;
        };
        for (type_, wanted) in &TRAITS {
            let written = user_code::controller(&text, wanted);
            let declared = admission.webhook(*type_);
            let (message, range, help) = match (declared, written) {
                (Some(_), None) => (
                    format!(
                        "operator.toml has the webhook `{}` of {}, but {path} does not implement `{}`",
                        type_.name(),
                        admission.resource,
                        wanted.interface
                    ),
                    0..0,
                    format!("add this:\n\n{}", code(admission, *type_)),
                ),
                (None, Some(written)) => (
                    format!(
                        "{path} implements `{}`, but operator.toml has no webhook `{}` of {}",
                        wanted.interface,
                        type_.name(),
                        admission.resource
                    ),
                    written.header,
                    format!(
                        "add \"{}\" to `webhooks` in operator.toml, or remove the `impl` block",
                        type_.name()
                    ),
                ),
                _ => continue,
            };
            reports.push(Report {
                severity: Severity::Warning,
                code: Some(Code::ControllerDiffers),
                subject: Some(admission.subject()),
                message,
                location: Some(Location::new(&path, 1, &text, range)),
                instead: None,
                help: Some(help),
            });
        }
    }
    Ok(reports)
}

/// An implementation that accepts everything. Its paths are absolute, because the file may lack the imports.
fn code(admission: &Admission, type_: WebhookType) -> String {
    let kind = admission.type_path();
    let webhook = admission.struct_name();
    let runtime = "operator_runtime::webhook";
    let request = format!("request: &{runtime}::AdmissionRequest<{kind}>");
    let (interface, method) = match type_ {
        WebhookType::Validate => ("Validate", format!("validate(&self, {request})")),
        WebhookType::Mutate => (
            "Mutate",
            format!("mutate(&self, object: &mut {kind}, {request})"),
        ),
    };
    format!(
        "impl {runtime}::{interface} for {webhook} {{
    type Resource = {kind};

    async fn {method} -> operator_runtime::Result<{runtime}::Verdict> {{
        Ok({runtime}::Verdict::allow())
    }}
}}"
    )
}
