//! The three kustomizations: the CRDs, the base that installs them with the operator, the samples.

use serde::Serialize;

use super::document::{Document, File};
use super::{Namespaces, Operator};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Kustomization<'a> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    resources: Vec<String>,
}

/// One that lists nothing is left out, as kustomize refuses an empty one.
pub(super) fn files(operator: &Operator, base: &[File], samples: &[File]) -> Vec<File> {
    let mut specs: Vec<_> = operator
        .kinds
        .iter()
        .filter(|kind| kind.installed)
        .map(|kind| kind.crd_path.as_str())
        .collect();
    specs.sort_unstable();
    specs.dedup();
    let crds = specs
        .iter()
        .map(|path| path.strip_prefix("crds/").unwrap_or(path).to_owned())
        .collect();

    let listed = |folder: &str, files: &'_ [File]| -> Vec<String> {
        let path = |file: &File| format!("{folder}/{}", file.path);
        let is_there = |file: &&File| !operator.removed.contains(&path(file));
        files
            .iter()
            .filter(is_there)
            .map(|file| file.path.clone())
            .collect()
    };
    let mut resources = listed("manifests", base);
    resources.sort_unstable();
    if !specs.is_empty() {
        resources.insert(0, "../crds".into());
    }
    // A sample is of use only where the operator looks.
    let watched = match &operator.namespaces {
        Namespaces::All => None,
        Namespaces::Own => Some(operator.namespace()),
        Namespaces::Listed(names) => names.first().map(String::as_str),
    };
    let samples = listed("manifests/samples", samples);
    [
        file("crds", None, crds),
        file("manifests", None, resources),
        file("manifests/samples", watched, samples),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn file(folder: &str, namespace: Option<&str>, resources: Vec<String>) -> Option<File> {
    let kustomization = Kustomization {
        api_version: "kustomize.config.k8s.io/v1beta1",
        kind: "Kustomization",
        namespace,
        resources,
    };
    (!kustomization.resources.is_empty()).then(|| {
        File::new("kustomization.yaml", vec![Document::plain(kustomization)]).under(folder)
    })
}
