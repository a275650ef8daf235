//! Creates the Kubernetes objects of an operator from the properties of its project ([`Operator`], a plain value). `package` turns them
//! into files.
//!
//! Every object is a typed k8s-openapi value until it is serialized, so no text is pasted into YAML. Nothing here reads a file, depends on
//! `operator.toml` or invents a value: without an image, there is no Deployment.

mod certificate;
mod conversion;
mod deployment;
mod grant;
mod migration;
mod monitoring;
mod network;
mod object;
mod rbac;
mod rule;
mod webhook;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde_json::Value;

pub use certificate::{VOLUME as CERTIFICATE_VOLUME, crd_annotations, renewal_rule, test_objects};
pub use conversion::conversion_stanza;
pub use deployment::{PORT as HTTP_PORT, USER};
pub use grant::WATCHED;
pub use migration::migration_rules;
pub use monitoring::{prometheus_crds, review_rules};
pub use object::{Object, Role, Setting};
pub use rbac::crd_rules;
pub use rule::policy_rule;
pub use webhook::{Admitted, ConvertedCrd, NamespaceSelection, PORT as WEBHOOK_PORT, Webhooks};

pub use crate::config::{DeploymentSettings, Monitoring, Namespaces};
pub use crate::operator::ResourceType;

/// An operator. All its objects have its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Operator {
    pub name: String,
    /// The namespace that it runs in.
    pub namespace: String,
    /// `NAME[:TAG][@DIGEST]`, as `--image` gave it.
    pub image: Option<String>,
    pub deployment: DeploymentSettings,
    pub monitoring: Monitoring,
    pub namespaces: Namespaces,
    pub controllers: Vec<Controller>,
    /// The paths of the CRDs that it installs, from the project's root, inside `crds/`.
    pub crds: Vec<String>,
    /// The names of the CRDs that the operator applies itself.
    pub ensured_crds: Vec<String>,
    /// The names of the CRDs whose stored objects it migrates, with their kinds.
    pub migrated_crds: Vec<(String, ResourceType)>,
    /// Samples of further kinds, such as those that have only webhooks.
    pub samples: Vec<(ResourceType, Value)>,
    /// The webhooks that it serves, if any.
    pub webhooks: Option<Webhooks>,
}

/// A controller, with its declarations.
#[derive(Debug, Clone, PartialEq)]
pub struct Controller {
    /// The kind that it reconciles.
    pub resource: ResourceType,
    /// Whether its objects have a finalizer of the operator, or may still have that of an earlier version.
    pub finalizer: bool,
    /// Whether it writes the status subresource.
    pub has_status: bool,
    /// Whether the controller manages things outside of the cluster.
    pub has_provider: bool,
    /// The owned kinds, with their verbs.
    pub owns: Vec<(ResourceType, Vec<&'static str>)>,
    pub watches: Vec<ResourceType>,
    /// The kinds that are read, with their verbs.
    pub reads: Vec<(ResourceType, Vec<&'static str>)>,
    /// The permissions besides those that follow from the lists above.
    pub rules: Vec<PolicyRule>,
    /// A sample that the schema accepts.
    pub sample: Option<Value>,
}

/// The objects of an operator.
pub struct Manifests {
    /// The objects that run the operator (its namespace, permissions, Deployment and network policies), then an object of each kind that
    /// has a controller or webhooks.
    pub objects: Vec<Object>,
    /// The paths of the CRDs that the operator needs, from the project's root.
    pub crds: Vec<String>,
}

/// The objects of an operator. Without an image, there is no Deployment.
pub fn manifests(operator: &Operator) -> Manifests {
    let mut objects = vec![namespace(operator)];
    objects.extend(rbac::objects(operator));
    if let Some(deployment) = deployment::deployment(operator) {
        objects.push(deployment);
        objects.extend(deployment::disruption_budget(operator));
    }
    objects.push(network::policy(operator));
    objects.push(network::metrics(operator));
    objects.extend(monitoring::objects(operator));
    objects.extend(webhook::objects(operator));
    objects.extend(certificate::objects(operator));
    let controlled = operator
        .controllers
        .iter()
        .filter_map(|it| Some((&it.resource, it.sample.as_ref()?)));
    let others = operator.samples.iter().map(|(resource, it)| (resource, it));
    objects.extend(
        controlled
            .chain(others)
            .map(|(resource, it)| sample(resource, it)),
    );

    let mut crds = operator.crds.clone();
    crds.sort_unstable();
    crds.dedup();
    Manifests { objects, crds }
}

/// The label that distinguishes the pods and objects of an operator.
const NAME_LABEL: &str = "app.kubernetes.io/name";

impl Operator {
    /// The labels of its objects and of its pods.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.deployment.labels.clone();
        labels.extend(self.pod_labels());
        labels
    }

    /// The labels that distinguish its pods, because no user changes them.
    fn pod_labels(&self) -> BTreeMap<String, String> {
        BTreeMap::from([(NAME_LABEL.to_owned(), self.name.clone())])
    }

    /// Whether it converts objects between versions.
    pub fn converts(&self) -> bool {
        self.webhooks
            .as_ref()
            .is_some_and(|it| !it.converted.is_empty())
    }

    /// Selects its pods.
    fn selector(&self) -> LabelSelector {
        LabelSelector {
            match_labels: Some(self.pod_labels()),
            ..LabelSelector::default()
        }
    }

    /// The metadata of an object in the operator's namespace.
    fn metadata(&self, name: impl Into<String>) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.into()),
            namespace: Some(self.namespace.clone()),
            labels: Some(self.labels()),
            ..ObjectMeta::default()
        }
    }

    /// The metadata of a cluster-scoped object.
    fn cluster_metadata(&self) -> ObjectMeta {
        ObjectMeta {
            namespace: None,
            ..self.metadata(&self.name)
        }
    }
}

/// Only pods that meet the `restricted` standard are admitted beside the operator.
/// <https://kubernetes.io/docs/concepts/security/pod-security-standards/>
fn namespace(operator: &Operator) -> Object {
    let mut metadata = ObjectMeta {
        namespace: None,
        ..operator.metadata(&operator.namespace)
    };
    let restricted = ["enforce", "audit", "warn"].map(|mode| {
        (
            format!("pod-security.kubernetes.io/{mode}"),
            "restricted".to_owned(),
        )
    });
    metadata.labels.get_or_insert_default().extend(restricted);
    let namespace = Namespace {
        metadata,
        ..Namespace::default()
    };
    Object::new(Role::Namespace, namespace)
}

/// The entries, or nothing instead of an empty map.
fn some(entries: &BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    Some(entries.clone()).filter(|entries| !entries.is_empty())
}

fn sample(resource: &ResourceType, sample: &Value) -> Object {
    Object {
        role: Role::Sample(resource.name()),
        value: sample.clone(),
        settings: vec![],
    }
}

#[cfg(test)]
mod tests;
