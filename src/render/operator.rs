//! The operator as its manifests see it: its controllers with their kinds, and the CRDs that it installs.

use serde_json::Value;

use super::{
    RenderError,
    conversion::Converted,
    fault_test::Case,
    generated_test::Typed,
    layout::{ensured_crds, migrated_crds, policy_rule},
    registry::Watched,
    webhook_files::manifest_webhooks,
};
use crate::{
    crd::{Api, Scope},
    manifests,
    project::{Admission, Controller, Kind, Project, ResourceType, Source},
};

/// The properties of a kind that files of the whole project need.
#[derive(Default)]
pub struct Made {
    pub typed: Vec<Typed>,
    pub sample: Option<Value>,
    pub has_status: bool,
    /// How its controller is tested, if it has one of its own.
    pub case: Option<Case>,
    /// The conversions between its versions, if there are any.
    pub converted: Option<Converted>,
}

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
    made: &'a [Made],
) -> Option<&'a Made> {
    let (kind, _) = definition?;
    let mut made = project.kinds().zip(made);
    let found = made.find(|((it, _), _)| it.full_name() == kind.full_name());
    found.map(|(_, made)| made)
}

/// What the manifests are made of.
pub fn operator(
    project: &Project,
    controllers: &[Controller<'_>],
    admissions: &[Admission<'_>],
    made: &[Made],
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
            rules: controller.rules.iter().map(policy_rule).collect(),
            sample: samples.take(&controller.resource),
        });
    }
    Ok(manifests::Operator {
        name: project.state.name.clone(),
        namespace: project.state.name.clone(),
        image: project.state.image.clone(),
        deployment: project.state.deployment.clone(),
        monitoring: project.state.monitoring,
        namespaces: project.state.namespaces.clone(),
        controllers: controlled,
        crds,
        ensured_crds: ensured_crds(project).map(Api::name).collect(),
        migrated_crds: migrated(project),
        webhooks: manifest_webhooks(project, admissions),
        samples: samples
            .0
            .into_iter()
            .filter_map(|(resource, sample)| Some((resource, sample?)))
            .collect(),
    })
}

/// The CRDs whose objects the operator migrates, with their kinds.
pub fn migrated(project: &Project) -> Vec<(String, ResourceType)> {
    let migrated = migrated_crds(project).map(|api| {
        let resource = ResourceType {
            group: api.group.clone(),
            version: api
                .versions
                .first()
                .map(|it| it.name.clone())
                .unwrap_or_default(),
            kind: api.names.kind.clone(),
            plural: api.names.plural.clone(),
            namespaced: api.scope == Scope::Namespaced,
        };
        (api.name(), resource)
    });
    migrated.collect()
}
