//! The workflows of GitHub Actions: from a project and its objects to the files in `.github/workflows/`. Which jobs there are depends on
//! what the project can install: without an image there is no Deployment, and without samples a cluster would have nothing to do.

use serde::Serialize;

use crate::{
    config::{Certificates, Namespaces, Packaging, Source},
    manifests::Samples,
    operator::{Controller, KindId, Operator},
    plan::{Owner, Tree},
    template::fill,
};

/// The values for the templates of the workflows.
#[derive(Serialize)]
struct Workflow<'a> {
    name: &'a str,
    /// The arguments for `cargo install` that install this tool; `None` if only this machine has its source.
    tool_install: Option<String>,
    has_chart: bool,
    has_cluster_test: bool,
    has_cert_manager: bool,
    has_prometheus_operator: bool,
    /// Whether samples need CRDs that the manifests do not install.
    has_foreign_crds: bool,
    /// The namespaces that must exist before the manifests are applied.
    namespaces: &'a [String],
    sample_namespace: &'a str,
    /// The samples that get the condition `Ready`, as `RESOURCE/NAME`.
    ready_samples: Vec<String>,
}

/// Adds the workflows to the files of the project.
pub fn add(tree: &mut Tree, operator: &Operator<'_>, samples: &Samples) {
    let config = &operator.config;
    let has_image = config.image.is_some();
    let ready_samples = operator
        .controllers
        .iter()
        .filter(|controller| becomes_ready(operator, controller))
        .filter_map(|controller| {
            let sample = samples.of(&controller.resource)?;
            let name = sample["metadata"]["name"].as_str()?;
            Some(format!("{}/{name}", controller.resource.name()))
        })
        .collect();
    let (namespaces, sample_namespace): (&[String], &str) = match &config.namespaces {
        Namespaces::All => (&[], "default"),
        Namespaces::Own => (&[], &config.name),
        Namespaces::Listed(names) => (names, names.first().map_or("default", String::as_str)),
    };
    let workflow = Workflow {
        name: &config.name,
        tool_install: config.runtime.tool_install(&config.tool),
        has_chart: has_image && config.packaging.contains(&Packaging::Helm),
        has_cluster_test: has_image && !samples.is_empty(),
        has_cert_manager: operator.has_certificates(Certificates::CertManager),
        has_prometheus_operator: config.monitoring.prometheus,
        has_foreign_crds: config
            .kinds
            .iter()
            .any(|kind| kind.source() == Source::Foreign),
        namespaces,
        sample_namespace,
        ready_samples,
    };
    for path in [
        ".github/workflows/ci.yaml",
        ".github/workflows/release.yaml",
    ] {
        tree.insert(path, Owner::Merged, fill(&format!("{path}.j2"), &workflow));
    }
}

/// Whether the controller reports the condition `Ready` on its sample, as the generated examples do where the schema has conditions.
fn becomes_ready(operator: &Operator<'_>, controller: &Controller) -> bool {
    let has_conditions = |kind: KindId| {
        let version = operator[kind].crd.version(&controller.resource.version);
        version
            .and_then(|it| it.schema.properties.get("status"))
            .is_some_and(|status| status.properties.contains_key("conditions"))
    };
    controller.is_own()
        && controller.sample_fails.is_none()
        && controller.kind.is_some_and(has_conditions)
}
