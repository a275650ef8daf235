//! The packages of a project: the kustomize base, and the Helm chart and the OLM bundle if `packaging` names them.

use serde_json::Value;

use super::{artifacts::UserFiles, sample};
use crate::{
    config::Packaging,
    crd::Api,
    diagnostic::{Code, Diagnostic, Severity},
    manifests::{Manifests, conversion_stanza, crd_annotations},
    operator::Operator,
    package::{helm, kustomize, olm},
    plan::{Owner, Tree},
};

/// Adds the files of all packages. Returns a note if the chart lacks the CRDs.
pub fn add(
    tree: &mut Tree,
    operator: &Operator<'_>,
    files: &UserFiles,
    manifests: Manifests,
) -> Option<Diagnostic> {
    let mut own: Vec<&Api> = operator.own_kinds().map(|kind| kind.crd).collect();
    own.sort_by_key(|crd| crd.name());
    let has = |packaging| operator.config.packaging.contains(&packaging);
    let mut packaged = vec![];
    let mut lacks_crds = false;
    if has(Packaging::Helm) {
        let crds =
            |operator: &Operator<'_>| own.iter().map(|crd| installed(operator, crd)).collect();
        packaged = helm::files(operator, crds);
        let is_crd = |path: &str| path.contains("/templates/crds/");
        lacks_crds =
            !(own.is_empty() || packaged.is_empty() || packaged.iter().any(|it| is_crd(&it.0)));
    }
    if has(Packaging::Olm) {
        let kinds: Vec<_> = own
            .iter()
            .map(|api| olm::OwnKind {
                api,
                samples: served_samples(api),
            })
            .collect();
        packaged.extend(olm::files(operator, &kinds));
    }
    for (path, owner, text) in packaged {
        tree.insert(path, owner, text);
    }
    for (path, text) in kustomize::files(operator, manifests, &files.removed) {
        tree.insert(path, Owner::Tool, text);
    }
    lacks_crds.then(|| Diagnostic {
        code: Code::HelmLimit,
        severity: Severity::Note,
        pointer: String::new(),
        message: "the CRDs are too large for a release of Helm".into(),
        instead: Some("the chart does not install them".into()),
        help: Some("before the chart, `kubectl apply --server-side -k crds`".into()),
    })
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
pub fn installed(operator: &Operator<'_>, api: &Api) -> Value {
    let mut definition = api.definition();
    if operator
        .converted()
        .any(|kind| kind.crd.name() == api.name())
    {
        definition["spec"]["conversion"] =
            conversion_stanza(&operator.config.name, &operator.namespace);
        for (name, value) in crd_annotations(operator) {
            definition["metadata"]["annotations"][name] = value.into();
        }
    }
    definition
}
