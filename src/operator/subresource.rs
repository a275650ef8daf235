//! The subresources of a kind, as far as webhooks can get their requests.

use super::resource::ResourceType;
use crate::crd::Version;

/// Whether a webhook of a kind can get the requests of a subresource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// Its requests have whole objects of the kind.
    OfKind,
    /// Its requests have objects of another kind. The list has the subresources with objects of the kind itself.
    OtherType(Vec<String>),
    /// The kind has no such subresource. The list is the same.
    Unknown(Vec<String>),
}

/// The subresources of built-in kinds with objects of the kind itself, besides `status`.
const OF_KIND: [(&str, &str, &[&str]); 3] = [
    ("", "pods", &["ephemeralcontainers", "resize"]),
    ("", "namespaces", &["finalize"]),
    (
        "certificates.k8s.io",
        "certificatesigningrequests",
        &["approval"],
    ),
];

/// The subresources with objects of another kind, such as Eviction and Scale.
const OF_OTHERS: [(&str, &str, &[&str]); 8] = [
    (
        "",
        "pods",
        &[
            "attach",
            "binding",
            "eviction",
            "exec",
            "log",
            "portforward",
            "proxy",
        ],
    ),
    ("", "nodes", &["proxy"]),
    ("", "services", &["proxy"]),
    ("", "serviceaccounts", &["token"]),
    ("", "replicationcontrollers", &["scale"]),
    ("apps", "deployments", &["scale"]),
    ("apps", "replicasets", &["scale"]),
    ("apps", "statefulsets", &["scale"]),
];

/// The built-in kinds without the subresource `status`.
const WITHOUT_STATUS: [(&str, &str); 33] = [
    ("", "configmaps"),
    ("", "endpoints"),
    ("", "events"),
    ("", "limitranges"),
    ("", "podtemplates"),
    ("", "secrets"),
    ("", "serviceaccounts"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
    (
        "admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings",
    ),
    (
        "admissionregistration.k8s.io",
        "mutatingwebhookconfigurations",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicybindings",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
    ),
    ("apps", "controllerrevisions"),
    ("coordination.k8s.io", "leases"),
    ("discovery.k8s.io", "endpointslices"),
    ("events.k8s.io", "events"),
    ("networking.k8s.io", "ingressclasses"),
    ("networking.k8s.io", "ipaddresses"),
    ("networking.k8s.io", "networkpolicies"),
    ("node.k8s.io", "runtimeclasses"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("rbac.authorization.k8s.io", "roles"),
    ("resource.k8s.io", "deviceclasses"),
    ("resource.k8s.io", "resourceclaimtemplates"),
    ("resource.k8s.io", "resourceslices"),
    ("scheduling.k8s.io", "priorityclasses"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "csistoragecapacities"),
    ("storage.k8s.io", "storageclasses"),
    ("storage.k8s.io", "volumeattributesclasses"),
];

/// Looks up a subresource of a kind. `version` is the version of its CRD; `None` for a built-in kind.
pub fn subresource(resource: &ResourceType, version: Option<&Version>, name: &str) -> Subresource {
    let of = |table: &[(&str, &str, &'static [&'static str])]| {
        let row = table
            .iter()
            .find(|it| it.0 == resource.group && it.1 == resource.plural);
        row.map_or(&[][..], |row| row.2)
    };
    let (mut own, others, has_status) = match version {
        Some(version) => {
            let scale: &[&str] = if version.scale.is_some() {
                &["scale"]
            } else {
                &[]
            };
            (vec![], scale, version.status_subresource)
        }
        None => {
            let has_none = WITHOUT_STATUS
                .iter()
                .any(|it| (it.0, it.1) == (&resource.group, &resource.plural));
            (of(&OF_KIND).to_vec(), of(&OF_OTHERS), !has_none)
        }
    };
    if has_status {
        own.push("status");
    }
    let known = || own.iter().map(|name| (*name).to_owned()).collect();
    match (own.contains(&name), others.contains(&name)) {
        (true, _) => Subresource::OfKind,
        (false, true) => Subresource::OtherType(known()),
        (false, false) => Subresource::Unknown(known()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_subresources_of_built_in_kinds_are_those_of_the_api_server() {
        let recorded = include_str!("../../crates/operator-apiserver/data/builtin.json");
        let recorded: Value = serde_json::from_str(recorded).unwrap();
        for kind in recorded["kinds"].as_array().unwrap() {
            let text = |key: &str| kind[key].as_str().unwrap().to_owned();
            let resource = ResourceType {
                group: text("group"),
                version: text("version"),
                kind: text("kind"),
                plural: text("plural"),
                namespaced: true,
            };
            if super::super::builtin::is_unwatched(&resource.group, &resource.kind) {
                continue;
            }
            let names = kind["subresources"].as_object().unwrap();
            for name in names.keys() {
                let found = subresource(&resource, None, name);
                assert!(
                    !matches!(found, Subresource::Unknown(_)),
                    "{resource} {name}"
                );
            }
            let found = subresource(&resource, None, "status");
            assert_eq!(
                found == Subresource::OfKind,
                names.contains_key("status"),
                "{resource}"
            );
        }
    }
}
