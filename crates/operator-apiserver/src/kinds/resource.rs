//! The group and plural of each built-in kind that code names.

/// The group and plural of a kind.
pub(crate) type Resource = (&'static str, &'static str);

/// The group of admission webhooks and policies.
pub(crate) const ADMISSION: &str = "admissionregistration.k8s.io";
/// The groups of reviews, which are answered and not stored.
pub(crate) const AUTHENTICATION: &str = "authentication.k8s.io";
pub(crate) const AUTHORIZATION: &str = "authorization.k8s.io";
/// The group of roles and their bindings.
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io";

/// The kinds of admission policies, each with that of its bindings.
pub(crate) const MUTATING_POLICIES: [Resource; 2] = [
    (ADMISSION, "mutatingadmissionpolicies"),
    (ADMISSION, "mutatingadmissionpolicybindings"),
];
pub(crate) const VALIDATING_POLICIES: [Resource; 2] = [
    (ADMISSION, "validatingadmissionpolicies"),
    (ADMISSION, "validatingadmissionpolicybindings"),
];
pub(crate) const ACCESS_REVIEWS: Resource = (AUTHORIZATION, "subjectaccessreviews");
pub(crate) const CLUSTER_ROLES: Resource = (RBAC, "clusterroles");
pub(crate) const CLUSTER_ROLE_BINDINGS: Resource = (RBAC, "clusterrolebindings");
pub(crate) const CONFIG_MAPS: Resource = ("", "configmaps");
pub(crate) const CONTROLLER_REVISIONS: Resource = ("apps", "controllerrevisions");
pub(crate) const CRDS: Resource = ("apiextensions.k8s.io", "customresourcedefinitions");
pub(crate) const CRON_JOBS: Resource = ("batch", "cronjobs");
pub(crate) const DAEMON_SETS: Resource = ("apps", "daemonsets");
pub(crate) const DEPLOYMENTS: Resource = ("apps", "deployments");
pub(crate) const DISRUPTION_BUDGETS: Resource = ("policy", "poddisruptionbudgets");
pub(crate) const ENDPOINTS: Resource = ("", "endpoints");
pub(crate) const ENDPOINT_SLICES: Resource = ("discovery.k8s.io", "endpointslices");
pub(crate) const EVENTS: Resource = ("", "events");
pub(crate) const JOBS: Resource = ("batch", "jobs");
pub(crate) const LOCAL_ACCESS_REVIEWS: Resource = (AUTHORIZATION, "localsubjectaccessreviews");
pub(crate) const MUTATING_WEBHOOKS: Resource = (ADMISSION, "mutatingwebhookconfigurations");
pub(crate) const NAMESPACES: Resource = ("", "namespaces");
pub(crate) const NODES: Resource = ("", "nodes");
pub(crate) const PODS: Resource = ("", "pods");
pub(crate) const PRIORITY_CLASSES: Resource = ("scheduling.k8s.io", "priorityclasses");
pub(crate) const REPLICA_SETS: Resource = ("apps", "replicasets");
pub(crate) const ROLES: Resource = (RBAC, "roles");
pub(crate) const ROLE_BINDINGS: Resource = (RBAC, "rolebindings");
pub(crate) const RUNTIME_CLASSES: Resource = ("node.k8s.io", "runtimeclasses");
pub(crate) const SECRETS: Resource = ("", "secrets");
pub(crate) const SELF_ACCESS_REVIEWS: Resource = (AUTHORIZATION, "selfsubjectaccessreviews");
pub(crate) const SELF_REVIEWS: Resource = (AUTHENTICATION, "selfsubjectreviews");
pub(crate) const SELF_RULES_REVIEWS: Resource = (AUTHORIZATION, "selfsubjectrulesreviews");
pub(crate) const SERVICES: Resource = ("", "services");
pub(crate) const SERVICE_ACCOUNTS: Resource = ("", "serviceaccounts");
pub(crate) const STATEFUL_SETS: Resource = ("apps", "statefulsets");
pub(crate) const TOKEN_REVIEWS: Resource = (AUTHENTICATION, "tokenreviews");
pub(crate) const VALIDATING_WEBHOOKS: Resource = (ADMISSION, "validatingwebhookconfigurations");
pub(crate) const VOLUMES: Resource = ("", "persistentvolumes");
pub(crate) const VOLUME_CLAIMS: Resource = ("", "persistentvolumeclaims");
