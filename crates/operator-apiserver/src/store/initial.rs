//! The initial objects of every cluster and of every namespace. Those of a namespace are recreated when they are deleted.

use serde_json::{Value, json};

use super::state::State;
use crate::kinds::resource::{
    AUTHENTICATION, AUTHORIZATION, CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CONFIG_MAPS, NAMESPACES,
    PRIORITY_CLASSES, RBAC, Resource, SELF_ACCESS_REVIEWS, SELF_REVIEWS, SELF_RULES_REVIEWS,
    SERVICE_ACCOUNTS, SERVICES,
};
use crate::kinds::{namespace, priority_class};
use crate::model::Key;
use crate::model::metadata::{self, is_deleting, name};

/// The field manager of writes by controllers of the cluster.
pub(crate) const CONTROLLER_MANAGER: &str = "kube-controller-manager";

const CA_DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// The service account and the certificates that controllers of a real cluster create, and recreate, in each namespace.
const IN_EACH_NAMESPACE: [(Resource, &str); 2] = [
    (SERVICE_ACCOUNTS, "default"),
    (CONFIG_MAPS, "kube-root-ca.crt"),
];

/// The namespace of an object that each namespace must have.
pub(crate) fn namespace_that_needs(object: &Key) -> Option<Key> {
    let is_needed = IN_EACH_NAMESPACE
        .iter()
        .any(|(resource, name)| object.is(*resource) && object.name == *name);
    is_needed.then(|| Key::new(NAMESPACES, "", &object.namespace))
}

/// Creates the objects of a new cluster.
pub(crate) fn create(state: &mut State) {
    create_namespaces(state);
    create_service(state);
    create_priority_classes(state);
    create_roles(state);
}

fn create_namespaces(state: &mut State) {
    for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
        let mut object = json!({
            "kind": "Namespace",
            "apiVersion": "v1",
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        });
        namespace::prepare_for_create(&mut object);
        create_initial(state, Key::new(NAMESPACES, "", name), object);
    }
}

/// Stores an initial object of the server.
fn create_initial(state: &mut State, key: Key, mut object: Value) {
    metadata::set(&mut object, "uid", metadata::uid());
    metadata::set(&mut object, "creationTimestamp", metadata::now());
    state.put(key, object);
}

/// Creates the objects that controllers of a real cluster create in a new namespace.
pub(crate) fn create_in_namespace(state: &mut State, namespace: &Value) {
    if is_deleting(namespace) {
        return;
    }
    let namespace = name(namespace).to_owned();
    for (resource, name) in IN_EACH_NAMESPACE {
        let (kind, data) = match resource {
            CONFIG_MAPS => ("ConfigMap", Some(json!({"ca.crt": ""}))),
            _ => ("ServiceAccount", None),
        };
        let key = Key::new(resource, &namespace, name);
        if state.store.find(&key).is_some() {
            continue;
        }
        let metadata = json!({"name": name, "namespace": namespace});
        let mut object = json!({"kind": kind, "apiVersion": "v1", "metadata": metadata});
        if let Some(data) = data {
            object["data"] = data;
            object["metadata"]["annotations"] =
                json!({"kubernetes.io/description": CA_DESCRIPTION});
            object["metadata"]["managedFields"] = json!([{
                "manager": CONTROLLER_MANAGER,
                "operation": "Update",
                "apiVersion": "v1",
                "time": metadata::now(),
                "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:data": {".": {}, "f:ca.crt": {}},
                    "f:metadata": {"f:annotations": {".": {}, "f:kubernetes.io/description": {}}},
                },
            }]);
        }
        create_initial(state, key, object);
    }
}

/// Creates the Service by which pods reach the API server.
fn create_service(state: &mut State) {
    let key = Key::new(SERVICES, "default", "kubernetes");
    let object = json!({
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
            "clusterIP": "10.0.0.1",
            "clusterIPs": ["10.0.0.1"],
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        },
        "status": {"loadBalancer": {}},
    });
    create_initial(state, key, object);
}

fn create_priority_classes(state: &mut State) {
    for (name, value, description) in priority_class::SYSTEM {
        let key = Key::new(PRIORITY_CLASSES, "", name);
        let class = json!({
            "kind": "PriorityClass",
            "apiVersion": "scheduling.k8s.io/v1",
            "metadata": {"name": name, "generation": 1, "managedFields": [{
                "manager": "kube-apiserver",
                "operation": "Update",
                "apiVersion": "scheduling.k8s.io/v1",
                "time": metadata::now(),
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:description": {}, "f:preemptionPolicy": {}, "f:value": {}},
            }]},
            "value": value,
            "description": description,
            "preemptionPolicy": "PreemptLowerPriority",
        });
        create_initial(state, key, class);
    }
}

/// Creates the roles that every cluster has, as far as operators use them, and their bindings.
fn create_roles(state: &mut State) {
    let all = json!(["*"]);
    let anything = json!([
        {"apiGroups": all, "resources": all, "verbs": all},
        {"nonResourceURLs": all, "verbs": all},
    ]);
    let discovery = json!([{
        "nonResourceURLs": ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"],
        "verbs": ["get"],
    }]);
    let reviews = json!([{
        "apiGroups": [AUTHORIZATION],
        "resources": [SELF_ACCESS_REVIEWS.1, SELF_RULES_REVIEWS.1],
        "verbs": ["create"],
    }, {
        "apiGroups": [AUTHENTICATION],
        "resources": [SELF_REVIEWS.1],
        "verbs": ["create"],
    }]);
    for (name, rules, subjects) in [
        ("cluster-admin", anything, "system:masters"),
        ("system:discovery", discovery, "system:authenticated"),
        ("system:basic-user", reviews, "system:authenticated"),
    ] {
        let object = |kind: &str| json!({"kind": kind, "apiVersion": format!("{RBAC}/v1"), "metadata": {"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}});
        let mut role = object("ClusterRole");
        role["rules"] = rules;
        create_initial(state, Key::new(CLUSTER_ROLES, "", name), role);
        let mut binding = object("ClusterRoleBinding");
        binding["roleRef"] = json!({"apiGroup": RBAC, "kind": "ClusterRole", "name": name});
        binding["subjects"] = json!([{"kind": "Group", "apiGroup": RBAC, "name": subjects}]);
        create_initial(state, Key::new(CLUSTER_ROLE_BINDINGS, "", name), binding);
    }
}
