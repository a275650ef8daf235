//! The permissions of an operator that migrates stored objects to the storage version of their CRD.

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::rule::{normalize, rule};
use super::{Object, Operator, Role, rbac::cluster_role};
use crate::crd::Api;

/// The ClusterRole and its binding. A migration covers all namespaces, even those that the operator does not watch.
pub(super) fn objects(operator: &Operator<'_>) -> Vec<Object> {
    let crds: Vec<&Api> = operator.migrated_crds().collect();
    if crds.is_empty() {
        return vec![];
    }
    let name = format!("{}-storage-migration", operator.config.name);
    let rules = normalize(migration_rules(&crds));
    cluster_role(operator, Role::MigrationPermissions, name, rules).into()
}

/// The rules for these CRDs: to check whether there is something to migrate, to record the start and the end, and to rewrite the objects.
pub fn migration_rules(crds: &[&Api]) -> Vec<PolicyRule> {
    let group = "apiextensions.k8s.io";
    let names: Vec<String> = crds.iter().map(|crd| crd.name()).collect();
    let named = |resource, verbs| PolicyRule {
        resource_names: Some(names.clone()),
        ..rule(group, &[resource], verbs)
    };
    let crd_rules = [
        named("customresourcedefinitions", &["get", "patch"]),
        named("customresourcedefinitions/status", &["patch"]),
    ];
    let objects = crds
        .iter()
        .map(|crd| rule(&crd.group, &[&crd.names.plural], &["list", "patch"]));
    crd_rules.into_iter().chain(objects).collect()
}
