//! The packages of a project: the kustomize base, and what `packaging` names.

use serde_json::Value;

use super::{RenderError, sample};
use crate::{
    config::{Namespaces, Packaging, Source},
    crd::Api,
    diagnostic::{Code, Diagnostic, Severity},
    manifests::{Manifests, Operator, conversion_stanza, crd_annotations},
    operator::Project,
    package::{helm, kustomize, olm},
    plan::{Owner, Tree},
};

/// Adds the files of all packages. Returns what a package lacks.
pub fn add(
    tree: &mut Tree,
    project: &Project,
    operator: &Operator,
    manifests: Manifests,
) -> Result<Option<Diagnostic>, RenderError> {
    let mut own: Vec<&Api> = project
        .kinds()
        .filter(|(kind, _)| kind.source() == Source::Own)
        .map(|(_, api)| api)
        .collect();
    own.sort_by_key(|api| api.name());
    let has = |packaging| project.config.packaging.contains(&packaging);
    let mut files = vec![];
    let mut lacks_crds = false;
    if has(Packaging::Helm) {
        let crds = |operator: &Operator| own.iter().map(|api| installed(operator, api)).collect();
        files = helm::files(operator, crds)?;
        let is_crd = |path: &str| path.contains("/templates/crds/");
        lacks_crds = !(own.is_empty() || files.is_empty() || files.iter().any(|it| is_crd(&it.0)));
    }
    if has(Packaging::Olm) {
        if operator.converts() && operator.namespaces != Namespaces::All {
            return Err(RenderError::OlmConversion);
        }
        let kinds = own.iter().map(|api| olm::OwnKind {
            api,
            samples: served_samples(api),
        });
        files.extend(olm::files(operator, &kinds.collect::<Vec<_>>())?);
    }
    for (path, owner, text) in files {
        tree.insert(path, owner, text);
    }
    for (path, text) in kustomize::files(operator, manifests, &project.removed)? {
        tree.insert(path, Owner::Tool, text);
    }
    Ok(lacks_crds.then(|| Diagnostic {
        code: Code::HelmLimit,
        severity: Severity::Note,
        pointer: String::new(),
        message: "a release of Helm cannot hold the CRDs".into(),
        instead: Some("the chart does not install them".into()),
        help: Some("before the chart, `kubectl apply --server-side -k crds`".into()),
    }))
}

/// A sample of each served version for which there is one.
fn served_samples(api: &Api) -> Vec<Value> {
    api.versions
        .iter()
        .filter(|version| version.served)
        .filter_map(|version| sample(api, version).ok())
        .collect()
}

/// A CRD as it is installed: with the conversion by the operator's webhook.
pub fn installed(operator: &Operator, api: &Api) -> Value {
    let mut definition = api.definition();
    let mut converted = operator.webhooks.iter().flat_map(|it| &it.converted);
    if converted.any(|it| it.name == api.name()) {
        definition["spec"]["conversion"] = conversion_stanza(&operator.name, &operator.namespace);
        for (name, value) in crd_annotations(operator) {
            definition["metadata"]["annotations"][name] = value.into();
        }
    }
    definition
}
