//! The operator as its manifests see it: its controllers with their kinds, and the CRDs that it installs.

use serde_json::Value;

use super::{
    RenderError, artifacts::KindArtifacts, registry::Watched, webhook_files::manifest_webhooks,
};
use crate::{
    config::{Kind, Source},
    crd::Api,
    manifests,
    operator::{Admission, Controller, Project, ResourceType},
};

/// Of each kind that has a controller, the sample.
#[derive(Default)]
pub struct Samples(pub Vec<(ResourceType, Option<Value>)>);

impl Samples {
    pub fn add(&mut self, resource: &ResourceType, sample: Option<Value>) {
        if !self.0.iter().any(|(known, _)| known == resource) {
            self.0.push((resource.clone(), sample));
        }
    }

    /// Each sample is given once.
    pub fn take(&mut self, resource: &ResourceType) -> Option<Value> {
        let mut samples = self.0.iter_mut();
        samples.find(|(known, _)| known == resource)?.1.take()
    }
}

/// What was made of a kind, if the project defines it.
pub fn made_of<'a>(
    project: &Project,
    definition: Option<(&Kind, &Api)>,
    made: &'a [KindArtifacts],
) -> Option<&'a KindArtifacts> {
    let (kind, _) = definition?;
    let mut made = project.kinds().zip(made);
    made.find(|((it, _), _)| it.full_name() == kind.full_name())
        .map(|(_, made)| made)
}

/// What the manifests are made of.
pub fn operator(
    project: &Project,
    controllers: &[Controller<'_>],
    admissions: &[Admission<'_>],
    made: &[KindArtifacts],
    mut samples: Samples,
) -> Result<manifests::Operator, RenderError> {
    let own = project
        .kinds()
        .filter(|(kind, _)| kind.source() == Source::Own);
    let crds = own.map(|(kind, _)| kind.spec.clone()).collect();
    let mut controlled = vec![];
    for controller in controllers {
        let Watched {
            owns,
            watches,
            reads,
            keeps: _,
        } = Watched::of(controller, &project.apis)?;
        let is_own = controller.named().is_none();
        let own = made_of(project, controller.definition, made).filter(|_| is_own);
        controlled.push(manifests::Controller {
            resource: controller.resource.clone(),
            // objects of the operator's own kinds may still have that of an earlier version
            finalizer: is_own || controller.cleanup,
            has_status: own.is_some_and(|made| made.has_status),
            has_provider: controller.scaffold.has_provider,
            owns,
            watches,
            reads,
            rules: controller
                .rules
                .iter()
                .map(manifests::policy_rule)
                .collect(),
            sample: samples.take(&controller.resource),
        });
    }
    Ok(manifests::Operator {
        name: project.config.name.clone(),
        namespace: project.config.name.clone(),
        image: project.config.image.clone(),
        deployment: project.config.deployment.clone(),
        monitoring: project.config.monitoring,
        namespaces: project.config.namespaces.clone(),
        controllers: controlled,
        crds,
        ensured_crds: project.ensured_crds().map(Api::name).collect(),
        migrated_crds: project.migrated_kinds(),
        webhooks: manifest_webhooks(project, admissions),
        samples: samples
            .0
            .into_iter()
            .filter_map(|(resource, sample)| Some((resource, sample?)))
            .collect(),
    })
}
