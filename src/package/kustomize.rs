//! A kustomize base, with the kustomizations of the installed CRDs and of the samples.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::yaml::{Error, text};
use crate::manifests::{Manifests, Namespaces, Operator, Role};

/// First line of every file.
const COMMENT: &str = "Written by `cargo operator gen-manifests` from operator.toml and crds/. \
                       Patch it from overlays/.";

/// All files of `manifests/`, and `crds/kustomization.yaml`: paths from the project's root and YAML texts, ordered by path. No kustomization
/// lists the paths in `removed`.
pub fn files(
    operator: &Operator,
    manifests: Manifests,
    removed: &BTreeSet<String>,
) -> Result<Vec<(String, String)>, Error> {
    let mut files: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    // samples are listed in the order of the kinds, all else by name
    let (mut base, mut samples) = (BTreeSet::new(), vec![]);
    for object in manifests.objects {
        let file = path(&object.role);
        let path = format!("manifests/{file}");
        if !removed.contains(&path) {
            match file.strip_prefix("samples/") {
                Some(sample) => samples.push(sample.to_owned()),
                None => {
                    base.insert(file);
                }
            }
        }
        files.entry(path).or_default().push(object.value);
    }
    let mut base: Vec<String> = base.into_iter().collect();
    let specs: Vec<String> = manifests
        .crds
        .iter()
        .map(|path| path.strip_prefix("crds/").unwrap_or(path).to_owned())
        .collect();
    if !specs.is_empty() {
        base.insert(0, "../crds".into());
    }
    // A sample is of use only where the operator looks.
    let watched = match &operator.namespaces {
        Namespaces::All => None,
        Namespaces::Own => Some(operator.namespace()),
        Namespaces::Listed(names) => names.first().map(String::as_str),
    };
    for (folder, namespace, resources) in [
        ("crds", None, specs),
        ("manifests", None, base),
        ("manifests/samples", watched, samples),
    ] {
        // kustomize refuses one that lists nothing
        if !resources.is_empty() {
            let path = format!("{folder}/kustomization.yaml");
            files.insert(path, vec![kustomization(namespace, &resources)]);
        }
    }
    files
        .into_iter()
        .map(|(path, documents)| {
            let text = text(&path, COMMENT, &documents)?;
            Ok((path, text))
        })
        .collect()
}

/// The file of an object in `manifests/`.
fn path(role: &Role) -> String {
    let path = match role {
        Role::Namespace => "namespace",
        Role::ServiceAccount => "rbac/service-account",
        Role::LeaderElection => "rbac/leader-election",
        Role::ClusterPermissions => "rbac/cluster-role",
        Role::NamespacedPermissions => "rbac/role",
        Role::Deployment => "operator/deployment",
        Role::NetworkPolicy => "network/policy",
        Role::Metrics => "monitoring/service",
        Role::Sample(resource) => &format!("samples/{resource}"),
    };
    format!("{path}.yaml")
}

fn kustomization(namespace: Option<&str>, resources: &[String]) -> Value {
    let mut value = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
    });
    if let Some(namespace) = namespace {
        value["namespace"] = namespace.into();
    }
    value["resources"] = json!(resources);
    value
}
