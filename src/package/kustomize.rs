//! A kustomize base, and the kustomizations of the CRDs that it installs and of the samples.

use serde::Serialize;

use crate::manifests::{Document, Error, File, Manifests, Namespaces, Operator};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Kustomization<'a> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    resources: Vec<String>,
}

/// All files of `manifests/`, and `crds/kustomization.yaml`: paths from the project's root and YAML texts, ordered by path.
pub fn files(operator: &Operator, manifests: Manifests) -> Result<Vec<(String, String)>, Error> {
    let mut files = kustomizations(operator, &manifests);
    let Manifests { base, samples, .. } = manifests;
    files.extend(base.into_iter().map(|file| file.under("manifests")));
    let samples = samples.into_iter();
    files.extend(samples.map(|file| file.under("manifests/samples")));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.iter().map(File::to_yaml).collect()
}

/// One that lists nothing is left out, as kustomize refuses an empty one.
fn kustomizations(operator: &Operator, manifests: &Manifests) -> Vec<File> {
    let Manifests {
        base,
        samples,
        crds,
    } = manifests;
    let specs = crds
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
    if !crds.is_empty() {
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
        file("crds", None, specs),
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
