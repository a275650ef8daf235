//! The workflows of GitHub Actions: from a project and its objects to the files in `.github/workflows/`. Which jobs there are depends on what
//! the project can install: without an image there is no Deployment, and without samples a cluster would have nothing to do.

use serde::Serialize;

use crate::{
    config::{Namespaces, Packaging, Source},
    crd::Api,
    manifests::Operator,
    operator::{Controller, Project},
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
pub fn add(tree: &mut Tree, project: &Project, controllers: &[Controller], operator: &Operator) {
    let config = &project.config;
    let has_image = operator.image.is_some();
    let of_controllers = operator.controllers.iter();
    let has_samples = of_controllers.clone().any(|it| it.sample.is_some());
    let ready_samples = controllers
        .iter()
        .zip(of_controllers)
        .filter(|(controller, _)| becomes_ready(controller))
        .filter_map(|(controller, it)| {
            let name = it.sample.as_ref()?["metadata"]["name"].as_str()?;
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
        has_cluster_test: has_image && (has_samples || !operator.samples.is_empty()),
        has_cert_manager: project.mounts_certificates(),
        has_prometheus_operator: config.monitoring.prometheus,
        has_foreign_crds: project
            .kinds()
            .any(|(kind, _)| kind.source() == Source::Foreign),
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
fn becomes_ready(controller: &Controller) -> bool {
    let has_conditions = |api: &Api| {
        let version = api.versions.iter();
        let version = { version }.find(|it| it.name == controller.resource.version);
        let status = version.and_then(|it| it.schema.properties.get("status"));
        status.is_some_and(|status| status.properties.contains_key("conditions"))
    };
    let own = controller
        .definition
        .filter(|_| controller.named().is_none());
    own.is_some_and(|(_, api)| has_conditions(api)) && controller.sample_fails.is_none()
}
