//! The built-in kinds of Kubernetes, recorded from the discovery of a real API server (1.36).

/// Group, version, kind, plural, and whether it is namespaced.
pub type Builtin<'a> = (&'a str, &'a str, &'a str, &'a str, bool);

pub const BUILTIN: [Builtin<'static>; 59] = [
    ("", "v1", "ConfigMap", "configmaps", true),
    ("", "v1", "Endpoints", "endpoints", true),
    ("", "v1", "Event", "events", true),
    ("", "v1", "LimitRange", "limitranges", true),
    ("", "v1", "Namespace", "namespaces", false),
    ("", "v1", "Node", "nodes", false),
    ("", "v1", "PersistentVolume", "persistentvolumes", false),
    (
        "",
        "v1",
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        true,
    ),
    ("", "v1", "Pod", "pods", true),
    ("", "v1", "PodTemplate", "podtemplates", true),
    (
        "",
        "v1",
        "ReplicationController",
        "replicationcontrollers",
        true,
    ),
    ("", "v1", "ResourceQuota", "resourcequotas", true),
    ("", "v1", "Secret", "secrets", true),
    ("", "v1", "Service", "services", true),
    ("", "v1", "ServiceAccount", "serviceaccounts", true),
    (
        "admissionregistration.k8s.io",
        "v1",
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
        false,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        false,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        false,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        false,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        false,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        false,
    ),
    (
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        false,
    ),
    (
        "apiregistration.k8s.io",
        "v1",
        "APIService",
        "apiservices",
        false,
    ),
    (
        "apps",
        "v1",
        "ControllerRevision",
        "controllerrevisions",
        true,
    ),
    ("apps", "v1", "DaemonSet", "daemonsets", true),
    ("apps", "v1", "Deployment", "deployments", true),
    ("apps", "v1", "ReplicaSet", "replicasets", true),
    ("apps", "v1", "StatefulSet", "statefulsets", true),
    (
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        true,
    ),
    ("batch", "v1", "CronJob", "cronjobs", true),
    ("batch", "v1", "Job", "jobs", true),
    (
        "certificates.k8s.io",
        "v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        false,
    ),
    ("coordination.k8s.io", "v1", "Lease", "leases", true),
    (
        "discovery.k8s.io",
        "v1",
        "EndpointSlice",
        "endpointslices",
        true,
    ),
    ("events.k8s.io", "v1", "Event", "events", true),
    (
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "FlowSchema",
        "flowschemas",
        false,
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        false,
    ),
    ("networking.k8s.io", "v1", "IPAddress", "ipaddresses", false),
    ("networking.k8s.io", "v1", "Ingress", "ingresses", true),
    (
        "networking.k8s.io",
        "v1",
        "IngressClass",
        "ingressclasses",
        false,
    ),
    (
        "networking.k8s.io",
        "v1",
        "NetworkPolicy",
        "networkpolicies",
        true,
    ),
    (
        "networking.k8s.io",
        "v1",
        "ServiceCIDR",
        "servicecidrs",
        false,
    ),
    ("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", false),
    (
        "policy",
        "v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        true,
    ),
    (
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRole",
        "clusterroles",
        false,
    ),
    (
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
        false,
    ),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", true),
    (
        "rbac.authorization.k8s.io",
        "v1",
        "RoleBinding",
        "rolebindings",
        true,
    ),
    (
        "resource.k8s.io",
        "v1",
        "DeviceClass",
        "deviceclasses",
        false,
    ),
    (
        "resource.k8s.io",
        "v1",
        "ResourceClaim",
        "resourceclaims",
        true,
    ),
    (
        "resource.k8s.io",
        "v1",
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
        true,
    ),
    (
        "resource.k8s.io",
        "v1",
        "ResourceSlice",
        "resourceslices",
        false,
    ),
    (
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
        false,
    ),
    ("storage.k8s.io", "v1", "CSIDriver", "csidrivers", false),
    ("storage.k8s.io", "v1", "CSINode", "csinodes", false),
    (
        "storage.k8s.io",
        "v1",
        "CSIStorageCapacity",
        "csistoragecapacities",
        true,
    ),
    (
        "storage.k8s.io",
        "v1",
        "StorageClass",
        "storageclasses",
        false,
    ),
    (
        "storage.k8s.io",
        "v1",
        "VolumeAttachment",
        "volumeattachments",
        false,
    ),
    (
        "storage.k8s.io",
        "v1",
        "VolumeAttributesClass",
        "volumeattributesclasses",
        false,
    ),
];

/// The kinds that cannot be watched, so that no controller owns or watches them: group, plural, and whether it is namespaced.
const UNWATCHED: [(&str, &str, bool); 8] = [
    ("", "bindings", true),
    ("", "componentstatuses", false),
    ("authentication.k8s.io", "selfsubjectreviews", false),
    ("authentication.k8s.io", "tokenreviews", false),
    ("authorization.k8s.io", "localsubjectaccessreviews", true),
    ("authorization.k8s.io", "selfsubjectaccessreviews", false),
    ("authorization.k8s.io", "selfsubjectrulesreviews", false),
    ("authorization.k8s.io", "subjectaccessreviews", false),
];

/// Whether a kind is a built-in one that cannot be watched.
pub fn is_unwatched(group: &str, kind: &str) -> bool {
    let plural = kind.to_lowercase();
    UNWATCHED.iter().any(|it| {
        let singular = it.1.strip_suffix("es").filter(|it| it.ends_with('s'));
        it.0 == group
            && (Some(plural.as_str()) == singular || it.1.strip_suffix('s') == Some(&plural))
    })
}

/// Whether a resource is built-in and cluster-scoped. An unknown plural, such as `*`, counts as cluster-scoped if its group has only
/// cluster-scoped resources.
pub fn is_cluster_scoped(group: &str, plural: &str) -> bool {
    let of_group: Vec<(&str, bool)> = BUILTIN
        .iter()
        .map(|it| (it.0, it.3, it.4))
        .chain(UNWATCHED)
        .filter(|it| it.0 == group)
        .map(|(_, plural, namespaced)| (plural, namespaced))
        .collect();
    match of_group.iter().find(|(known, _)| *known == plural) {
        Some((_, namespaced)) => !namespaced,
        None => !of_group.is_empty() && of_group.iter().all(|(_, namespaced)| !namespaced),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn the_kinds_are_those_of_the_api_server_in_memory() {
        let recorded = include_str!("../../crates/operator-apiserver/data/builtin.json");
        let recorded: Value = serde_json::from_str(recorded).unwrap();
        let kinds = recorded["kinds"].as_array().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let recorded = kinds.iter().map(|kind| {
            let namespaced = kind["namespaced"].as_bool().unwrap();
            (text(&kind["group"]), text(&kind["plural"]), namespaced)
        });
        let known = BUILTIN
            .iter()
            .map(|it| (it.0, it.3, it.4))
            .chain(UNWATCHED)
            .map(|(group, plural, namespaced)| (group.into(), plural.into(), namespaced));
        assert_eq!(
            known.collect::<BTreeSet<(String, String, bool)>>(),
            recorded.collect()
        );
    }

    #[test]
    fn the_scope_of_an_unknown_resource_is_that_of_its_group() {
        assert!(is_cluster_scoped(
            "storage.k8s.io",
            "volumeattributesclasses"
        ));
        assert!(!is_cluster_scoped("storage.k8s.io", "csistoragecapacities"));
        assert!(is_cluster_scoped("node.k8s.io", "*"));
        assert!(is_cluster_scoped("authentication.k8s.io", "*"));
        for (group, plural) in [("", "*"), ("storage.k8s.io", "*"), ("example.com", "x")] {
            assert!(!is_cluster_scoped(group, plural));
        }
    }
}
