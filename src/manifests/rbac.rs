//! The service account, its roles and their bindings.
//!
//! The account's token is not mounted automatically; the operator's Deployment projects it.

use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role as RbacRole, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::grant::{Place, grants};
use super::rule::{normalize, rule};
use super::{Object, Operator, Role, non_empty_map};
use crate::crd::Api;

pub(super) fn objects(operator: &Operator<'_>) -> Vec<Object> {
    let mut objects = vec![Object::new(Role::ServiceAccount, service_account(operator))];
    objects.extend(leader_election(operator));
    let ensured: Vec<String> = operator.ensured_crds().map(Api::name).collect();
    if !ensured.is_empty() {
        objects.extend(cluster_role(
            operator,
            Role::CrdPermissions,
            format!("{}-crds", operator.config.name),
            normalize(crd_rules(&ensured)),
        ));
    }
    objects.extend(super::migration::objects(operator));
    for (place, rules) in grants(operator) {
        match place {
            Place::Cluster => objects.extend(cluster_role(
                operator,
                Role::ClusterPermissions,
                operator.config.name.clone(),
                rules,
            )),
            Place::Namespace(namespace) => {
                let metadata = ObjectMeta {
                    namespace: Some(namespace),
                    ..operator.metadata(&operator.config.name)
                };
                objects.extend(role(operator, Role::NamespacedPermissions, metadata, rules));
            }
        }
    }
    objects
}

fn service_account(operator: &Operator<'_>) -> ServiceAccount {
    ServiceAccount {
        metadata: ObjectMeta {
            annotations: non_empty_map(&operator.config.deployment.service_account_annotations),
            ..operator.metadata(&operator.config.name)
        },
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    }
}

/// The permissions for the operator's lease, whose name is that of the operator. RBAC cannot limit `create` to a name:
/// <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources>
fn leader_election(operator: &Operator<'_>) -> [Object; 2] {
    let group = "coordination.k8s.io";
    let rules = normalize([
        rule(group, &["leases"], &["create"]),
        PolicyRule {
            resource_names: Some(vec![operator.config.name.clone()]),
            ..rule(group, &["leases"], &["get", "update"])
        },
    ]);
    role(
        operator,
        Role::LeaderElection,
        operator.metadata(format!("{}-leader-election", operator.config.name)),
        rules,
    )
}

/// The rules for an operator that applies these CRDs itself. RBAC cannot limit `create` to a name:
/// <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources>
pub fn crd_rules(crds: &[String]) -> [PolicyRule; 2] {
    let crd = |verbs| {
        rule(
            "apiextensions.k8s.io",
            &["customresourcedefinitions"],
            verbs,
        )
    };
    [
        crd(&["create"]),
        PolicyRule {
            resource_names: Some(crds.to_vec()),
            ..crd(&["get", "patch"])
        },
    ]
}

/// A ClusterRole with these rules, and its binding to the operator's service account.
pub(super) fn cluster_role(
    operator: &Operator<'_>,
    purpose: Role,
    name: String,
    rules: Vec<PolicyRule>,
) -> [Object; 2] {
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        ..operator.cluster_metadata()
    };
    let role = ClusterRole {
        metadata: metadata.clone(),
        rules: Some(rules),
        aggregation_rule: None,
    };
    let binding = ClusterRoleBinding {
        metadata,
        role_ref: role_ref("ClusterRole", name),
        subjects: Some(vec![subject(operator)]),
    };
    [
        Object::new(purpose.clone(), role),
        Object::new(purpose, binding),
    ]
}

/// A Role with these rules, and its binding to the operator's service account.
pub(super) fn role(
    operator: &Operator<'_>,
    purpose: Role,
    metadata: ObjectMeta,
    rules: Vec<PolicyRule>,
) -> [Object; 2] {
    let role_ref = role_ref("Role", metadata.name.clone().unwrap_or_default());
    let role = RbacRole {
        metadata: metadata.clone(),
        rules: Some(rules),
    };
    let binding = RoleBinding {
        metadata,
        role_ref,
        subjects: Some(vec![subject(operator)]),
    };
    [
        Object::new(purpose.clone(), role),
        Object::new(purpose, binding),
    ]
}

fn role_ref(kind: &str, name: String) -> RoleRef {
    RoleRef {
        api_group: "rbac.authorization.k8s.io".to_owned(),
        kind: kind.to_owned(),
        name,
    }
}

fn subject(operator: &Operator<'_>) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: operator.config.name.clone(),
        namespace: Some(operator.namespace.clone()),
        api_group: None,
    }
}
