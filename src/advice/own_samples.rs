//! Reports samples of the user that the schema of their kind refuses: adopted files, and those that `samples` in `operator.toml` names.

use crate::{
    crd,
    diagnostic::{Code, Failure, Report, Severity},
    disk, render,
    workspace::open::OpenProject,
};

/// A warning for each object that the API server would refuse.
pub fn reports(open: &OpenProject) -> Result<Vec<Report>, Failure> {
    let adopted = open.adopted();
    let mut reports = vec![];
    for (kind, api) in open.config.kinds.iter().zip(&open.apis) {
        let generated = format!("manifests/samples/{}.yaml", api.name());
        let generated = Some(generated).filter(|path| adopted.contains(path));
        for path in generated.iter().chain(&kind.samples) {
            let text = disk::read(&open.root, path)?.unwrap_or_default();
            for object in crd::values(&text).flatten() {
                let is_of = |version: &&crd::Version| {
                    object["kind"] == *api.names.kind
                        && object["apiVersion"] == format!("{}/{}", api.group, version.name)
                };
                let Some(version) = api.versions.iter().find(is_of) else {
                    continue;
                };
                let violations = render::violations(version, &object);
                if let Some(first) = violations.first() {
                    let all = violations.iter().map(|it| format!("\n  {it}"));
                    reports.push(Report {
                        severity: Severity::Warning,
                        code: Some(Code::NoValidSample),
                        subject: Some(kind.full_name()),
                        message: format!(
                            "the schema does not accept {path}: {}: {}",
                            first.path, first.detail
                        ),
                        location: None,
                        instead: Some("the tests fail until it is valid".into()),
                        help: Some(format!("edit it. It violates{}", all.collect::<String>())),
                    });
                }
            }
        }
    }
    Ok(reports)
}
