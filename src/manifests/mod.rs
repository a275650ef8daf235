//! Creates the Kubernetes objects of an [`Operator`], a plain value. `package` turns them into files.
//!
//! Objects are typed k8s-openapi values until they are serialized; only those of cert-manager and of the Prometheus operator are JSON. So
//! no text is pasted into YAML. Nothing here reads a file, fails or invents a value: without an image, there is no Deployment.

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
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde_json::Value;

pub use certificate::{VOLUME as CERTIFICATE_VOLUME, crd_annotations, renewal_rule, test_objects};
pub use conversion::{conversion_stanza, removal_command};
pub use deployment::{PORT as HTTP_PORT, variables};
pub use grant::event_rule;
pub use migration::migration_rules;
pub use monitoring::{prometheus_crds, review_rules};
pub use object::{Object, Role, Setting};
pub use rbac::crd_rules;
pub use rule::policy_rule;
pub use webhook::PORT as WEBHOOK_PORT;

use crate::config::Namespaces;
use crate::operator::{Operator, ResourceType};

/// A sample of each kind that has a controller or webhooks, and of each version of a kind.
#[derive(Debug, Default)]
pub struct Samples(Vec<(ResourceType, Option<Value>)>);

impl Samples {
    /// Adds the sample of a kind, unless the kind is known.
    pub fn add(&mut self, resource: &ResourceType, sample: Option<Value>) {
        if !self.0.iter().any(|(known, _)| known == resource) {
            self.0.push((resource.clone(), sample));
        }
    }

    pub fn of(&self, resource: &ResourceType) -> Option<&Value> {
        let (_, sample) = self.0.iter().find(|(known, _)| known == resource)?;
        sample.as_ref()
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, sample)| sample.is_none())
    }

    pub fn objects(&self) -> impl Iterator<Item = Object> {
        self.0
            .iter()
            .filter_map(|(resource, sample)| Some(sample_object(resource, sample.as_ref()?)))
    }
}

/// The objects of an operator.
pub struct Manifests {
    /// The objects that run the operator: its namespace, permissions, Deployment and network policies.
    pub objects: Vec<Object>,
    /// The paths of the CRDs that the operator needs, from the project's root.
    pub crds: Vec<String>,
}

/// The objects of an operator. Without an image, there is no Deployment.
pub fn manifests(operator: &Operator<'_>) -> Manifests {
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
    let mut crds: Vec<String> = operator
        .own_kinds()
        .map(|kind| kind.table.crd.clone())
        .collect();
    crds.sort_unstable();
    crds.dedup();
    Manifests { objects, crds }
}

/// The label that distinguishes the pods and objects of an operator.
const NAME_LABEL: &str = "app.kubernetes.io/name";

impl Operator<'_> {
    /// The labels of its objects and of its pods.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.config.deployment.labels.clone();
        labels.extend(self.pod_labels());
        labels
    }

    /// The labels that select its pods: only the one that no user can change, because the selector of a Deployment is immutable.
    fn pod_labels(&self) -> BTreeMap<String, String> {
        BTreeMap::from([(NAME_LABEL.to_owned(), self.config.name.clone())])
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
            ..self.metadata(&self.config.name)
        }
    }
}

/// The operator's namespace, which admits only pods that meet the `restricted` standard.
/// <https://kubernetes.io/docs/concepts/security/pod-security-standards/>
fn namespace(operator: &Operator<'_>) -> Object {
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
fn non_empty_map(entries: &BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    Some(entries.clone()).filter(|entries| !entries.is_empty())
}

fn sample_object(resource: &ResourceType, sample: &Value) -> Object {
    Object {
        role: Role::Sample(resource.name()),
        value: sample.clone(),
        settings: vec![],
    }
}

#[cfg(test)]
mod tests;
