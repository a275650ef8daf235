//! The ClusterServiceVersion: <https://olm.operatorframework.io/docs/concepts/crds/clusterserviceversion/>

use semver::Version;
use serde_json::{Map, Value, json};

use super::{
    CERTIFICATES, OwnKind,
    descriptor::{self, words},
};
use crate::{
    config::Namespaces,
    crd,
    manifests::{CERTIFICATE_VOLUME, Object, Role, WEBHOOK_PORT},
    operator::{Operator, ResourceType},
};

/// The longest description that the lists of a console show.
const MAX_SUMMARY: usize = 135;

/// The ClusterServiceVersion of an operator with these objects.
pub fn object(
    operator: &Operator<'_>,
    kinds: &[OwnKind<'_>],
    objects: Vec<Object>,
    version: &Version,
) -> Value {
    let name = &operator.config.name;
    let image = operator.config.image.as_deref().unwrap_or_default();
    let samples: Vec<&Value> = kinds.iter().flat_map(|it| &it.samples).collect();
    let examples = serde_json::to_string_pretty(&samples).expect("values with string keys");
    let managed: Vec<String> = kinds.iter().map(|it| words(&it.api.names.kind)).collect();
    let summary = match managed.as_slice() {
        [] => format!("The Kubernetes operator {name}"),
        managed => format!("Manages {}", managed.join(", ")),
    };
    // Constant lines separate what users edit from what regeneration changes, so that a merge does not conflict.
    let mut spec = json!({
        "displayName": words(name),
        "description": summary,
        "keywords": [name],
        "provider": {"name": name},
        "installModes": install_modes(operator),
        "version": version.to_string(),
        "maturity": if version.major == 0 { "alpha" } else { "stable" },
        "relatedImages": [{"name": "operator", "image": image}],
        "install": {"strategy": "deployment", "spec": strategy(operator, &objects)},
        "customresourcedefinitions": {"owned": owned(operator, kinds)},
    });
    let required = required(operator, kinds);
    if !required.is_empty() {
        spec["customresourcedefinitions"]["required"] = required.into();
    }
    let webhooks = webhooks(operator, &objects);
    if !webhooks.is_empty() {
        spec["webhookdefinitions"] = webhooks.into();
    }
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": format!("{name}.v{version}"),
            "annotations": {
                "capabilities": "Basic Install",
                "description": shortened(&summary),
                "operatorframework.io/suggested-namespace": operator.namespace,
                "containerImage": image,
                // the versions from which this one upgrades
                "olm.skipRange": format!("<{version}"),
                "alm-examples": examples,
            },
        },
        "spec": spec,
    })
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SUMMARY) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// Whether the operator may watch one, several or all namespaces. An operator with permissions in the whole cluster is installed once, for
/// all namespaces; so is one that converts, because all namespaces share its CRDs: `resolve` refuses other `namespaces` for it.
fn install_modes(operator: &Operator<'_>) -> Value {
    let supported = match &operator.config.namespaces {
        Namespaces::All => &["AllNamespaces"][..],
        Namespaces::Own => &["OwnNamespace"],
        Namespaces::Listed(_) => &["OwnNamespace", "SingleNamespace", "MultiNamespace"],
    };
    let modes = [
        "OwnNamespace",
        "SingleNamespace",
        "MultiNamespace",
        "AllNamespaces",
    ];
    let modes = modes.map(|mode| json!({"type": mode, "supported": supported.contains(&mode)}));
    json!(modes)
}

/// The Deployment, and the rules of the roles in the cluster and in the namespaces of the operator.
fn strategy(operator: &Operator<'_>, objects: &[Object]) -> Value {
    let rules = |kind: &str| {
        let mut rules: Vec<&Value> = vec![];
        let roles = objects.iter().filter(|it| it.value["kind"] == *kind);
        for object in roles.filter(|it| it.role != Role::MetricsReader) {
            for rule in object.value["rules"].as_array().into_iter().flatten() {
                // the roles of several namespaces have the same rules
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
        (!rules.is_empty())
            .then(|| json!([{"serviceAccountName": operator.config.name, "rules": rules}]))
    };
    let mut strategy = Map::new();
    strategy.extend(rules("ClusterRole").map(|rules| ("clusterPermissions".to_owned(), rules)));
    strategy.extend(rules("Role").map(|rules| ("permissions".to_owned(), rules)));
    let mut deployments = objects.iter().filter(|it| it.role == Role::Deployment);
    let deployments = deployments.next().map(|object| {
        let mut spec = object.value["spec"].clone();
        for_olm(operator, &mut spec["template"]["spec"]);
        let labels = &object.value["metadata"]["labels"];
        json!([{"name": operator.config.name, "label": labels, "spec": spec}])
    });
    strategy.extend(deployments.map(|it| ("deployments".to_owned(), it)));
    strategy.into()
}

/// Adapts a pod to OLM, which mounts the certificate itself, and annotates pods with the namespaces to watch.
fn for_olm(operator: &Operator<'_>, pod: &mut Value) {
    let is_other = |it: &Value| it["name"] != *CERTIFICATE_VOLUME;
    let container = &mut pod["containers"][0];
    if let Some(mounts) = container["volumeMounts"].as_array_mut() {
        mounts.retain(is_other);
    }
    for variable in container["env"].as_array_mut().into_iter().flatten() {
        if variable["name"] == "WEBHOOK_CERTIFICATES" {
            variable["value"] = CERTIFICATES.into();
        }
        if variable["name"] == "WATCH_NAMESPACE"
            && matches!(operator.config.namespaces, Namespaces::Listed(_))
        {
            let path = "metadata.annotations['olm.targetNamespaces']";
            *variable = json!({
                "name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": path}},
            });
        }
    }
    if let Some(volumes) = pod["volumes"].as_array_mut() {
        volumes.retain(is_other);
    }
}

/// The kinds of the operator's CRDs, in each served version.
fn owned(operator: &Operator<'_>, kinds: &[OwnKind<'_>]) -> Vec<Value> {
    let mut owned = vec![];
    for OwnKind { api, .. } in kinds {
        let children: Vec<Value> = operator
            .controllers
            .iter()
            .find(|it| it.resource.group == api.group && it.resource.kind == api.names.kind)
            .iter()
            .flat_map(|it| &it.owns)
            .map(|child| &child.related.resource)
            .map(|child| json!({"kind": child.kind, "name": "", "version": child.version}))
            .collect();
        for version in api.versions.iter().filter(|it| it.served) {
            owned.push(owned_version(api, version, &children));
        }
    }
    owned
}

fn owned_version(api: &crd::Api, version: &crd::Version, children: &[Value]) -> Value {
    let kind = &api.names.kind;
    let description = version.schema.description.as_deref().unwrap_or_default();
    let mut owned = json!({
        "name": api.name(),
        "kind": kind,
        "version": version.name,
        "displayName": words(kind),
        "description": match description {
            "" => format!("An object of the kind {kind}"),
            description => description.to_owned(),
        },
    });
    if !children.is_empty() {
        owned["resources"] = json!(children);
    }
    let [spec, status] = descriptor::descriptors(version);
    for (field, descriptors) in [("specDescriptors", spec), ("statusDescriptors", status)] {
        if !descriptors.is_empty() {
            owned[field] = descriptors.into();
        }
    }
    owned
}

/// The kinds that the operator needs, and that neither Kubernetes nor its own CRDs define.
fn required(operator: &Operator<'_>, kinds: &[OwnKind<'_>]) -> Vec<Value> {
    let of_controllers = operator.controllers.iter().flat_map(|it| {
        std::iter::once(&it.resource).chain(it.requested().map(|(_, it)| &it.resource))
    });
    let mut needed: Vec<&ResourceType> = of_controllers
        .chain(operator.admissions.iter().map(|it| &it.resource))
        .filter(|it| {
            let is_own =
                |own: &OwnKind<'_>| own.api.group == it.group && own.api.names.kind == it.kind;
            !it.is_builtin() && !kinds.iter().any(is_own)
        })
        .collect();
    needed.sort_by_key(|it| (it.name(), it.version.clone()));
    needed.dedup();
    needed
        .into_iter()
        .map(|it| {
            json!({
                "name": it.name(),
                "kind": it.kind,
                "version": it.version,
                "displayName": words(&it.kind),
                "description": format!("The operator uses objects of the kind {}", it.kind),
            })
        })
        .collect()
}

/// The webhooks: <https://olm.operatorframework.io/docs/advanced-tasks/adding-admission-and-conversion-webhooks/>
fn webhooks(operator: &Operator<'_>, objects: &[Object]) -> Vec<Value> {
    let mut webhooks = vec![];
    let common = |type_: &str, name: &str| {
        json!({
            "type": type_,
            "generateName": name,
            "deploymentName": operator.config.name,
            "containerPort": 443,
            "targetPort": WEBHOOK_PORT,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        })
    };
    for object in objects {
        let type_ = match object.role {
            Role::ValidatingWebhooks => "ValidatingAdmissionWebhook",
            Role::MutatingWebhooks => "MutatingAdmissionWebhook",
            _ => continue,
        };
        for webhook in object.value["webhooks"].as_array().into_iter().flatten() {
            let name = webhook["name"].as_str().unwrap_or_default();
            let mut definition = common(type_, name);
            definition["webhookPath"] = webhook["clientConfig"]["service"]["path"].clone();
            for field in [
                "failurePolicy",
                "matchPolicy",
                "objectSelector",
                "reinvocationPolicy",
                "rules",
                "timeoutSeconds",
            ] {
                if let Some(value) = webhook.get(field) {
                    definition[field] = value.clone();
                }
            }
            webhooks.push(definition);
        }
    }
    let converted: Vec<String> = operator.converted().map(|kind| kind.crd.name()).collect();
    if !converted.is_empty() {
        let name = format!("convert.{}", operator.config.name);
        let mut definition = common("ConversionWebhook", &name);
        definition["webhookPath"] = "/convert".into();
        definition["conversionCRDs"] = json!(converted);
        webhooks.push(definition);
    }
    webhooks
}
