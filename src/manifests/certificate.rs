//! The certificates of the operator's webhooks: its permissions for those that it generates itself, or the objects of cert-manager.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EnvVar, KeyToPath, SecretVolumeSource, Volume, VolumeMount};
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::{Value, json};

use super::rbac::{cluster_role, role};
use super::rule::{normalize, rule};
use super::webhook::has_webhook;
use super::{Object, Operator, Role};
use crate::config::{Certificates, WebhookType};

/// Where the certificate is mounted, if cert-manager issues it.
const FOLDER: &str = "/etc/webhook-certificates";
pub const VOLUME: &str = "webhook-certificates";

/// cert-manager's annotation with the name of a Certificate, whose CA it writes to `caBundle`.
const INJECT: &str = "cert-manager.io/inject-ca-from";

/// The permissions of an operator that generates its certificates, or the objects of cert-manager; nothing without webhooks.
pub(super) fn objects(operator: &Operator<'_>) -> Vec<Object> {
    if !operator.has_webhooks() {
        return vec![];
    }
    match operator.config.certificates {
        Certificates::Managed => permissions(operator),
        Certificates::CertManager => cert_manager(operator),
    }
}

/// The permissions for the Secret with the certificates, and for the objects with `caBundle`.
fn permissions(operator: &Operator<'_>) -> Vec<Object> {
    let name = operator.webhook_name();
    let [secrets, bundles] = certificate_rules(operator);
    let metadata = operator.metadata(&name);
    let purpose = Role::CertificatePermissions;
    let mut objects = role(operator, purpose.clone(), metadata, normalize(secrets)).to_vec();
    objects.extend(cluster_role(operator, purpose, name, normalize(bundles)));
    objects
}

/// The rules for the Secret, in the operator's namespace, and for the objects with `caBundle`, which are cluster-scoped. RBAC cannot limit
/// `create` to a name:
/// <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources>
fn certificate_rules(operator: &Operator<'_>) -> [Vec<PolicyRule>; 2] {
    let named = |group, resource, names: Vec<String>, verbs: &[&str]| PolicyRule {
        resource_names: Some(names),
        ..rule(group, &[resource], verbs)
    };
    let secrets = vec![
        rule("", &["secrets"], &["create"]),
        named("", "secrets", vec![operator.webhook_name()], &["get"]),
        renewal_rule(&operator.config.name),
    ];
    let configurations = [
        (WebhookType::Mutate, "mutatingwebhookconfigurations"),
        (WebhookType::Validate, "validatingwebhookconfigurations"),
    ];
    let mut bundles: Vec<PolicyRule> = configurations
        .into_iter()
        .map(|(type_, resource)| {
            // the operator reads both configurations, because a package may have left one out
            let verbs: &[&str] = if has_webhook(operator, type_) {
                &["get", "patch"]
            } else {
                &["get"]
            };
            let group = "admissionregistration.k8s.io";
            named(group, resource, vec![operator.config.name.clone()], verbs)
        })
        .collect();
    let converted: Vec<String> = operator.converted().map(|kind| kind.crd.name()).collect();
    if !converted.is_empty() {
        bundles.push(named(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            converted,
            &["get", "patch"],
        ));
    }
    [secrets, bundles]
}

/// The rule with which an operator renews its certificates, months after it has generated them, or replaces damaged ones.
pub fn renewal_rule(operator: &str) -> PolicyRule {
    PolicyRule {
        resource_names: Some(vec![format!("{operator}-webhook")]),
        ..rule("", &["secrets"], &["patch"])
    }
}

/// The annotations by which cert-manager sets `caBundle` in a CRD; none if the operator does that.
pub fn crd_annotations(operator: &Operator<'_>) -> BTreeMap<String, String> {
    if operator.has_certificates(Certificates::CertManager) {
        ca_injection(operator)
    } else {
        BTreeMap::new()
    }
}

/// The annotation of an object in which cert-manager sets `caBundle`.
pub(super) fn ca_injection(operator: &Operator<'_>) -> BTreeMap<String, String> {
    let certificate = format!("{}/{}", operator.namespace, operator.webhook_name());
    BTreeMap::from([(INJECT.to_owned(), certificate)])
}

/// A CA, and a serving certificate that it issues. The CA outlives many serving certificates, so the API server trusts each new one at
/// once.
fn cert_manager(operator: &Operator<'_>) -> Vec<Object> {
    let name = operator.webhook_name();
    let ca = format!("{name}-ca");
    let namespace = &operator.namespace;
    let host = format!("{name}.{namespace}.svc");
    let object = |kind: &str, name: &str, spec: Value| Object {
        role: Role::Certificates,
        value: json!({
            "apiVersion": "cert-manager.io/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace, "labels": operator.labels()},
            "spec": spec,
        }),
        settings: vec![],
    };
    let key =
        |rotation: &str| json!({"algorithm": "ECDSA", "size": 256, "rotationPolicy": rotation});
    let self_signed = format!("{name}-self-signed");
    vec![
        object("Issuer", &self_signed, json!({"selfSigned": {}})),
        object(
            "Certificate",
            &ca,
            json!({
                "isCA": true,
                "commonName": ca,
                "secretName": ca,
                "duration": "87600h",
                "privateKey": key("Never"),
                "issuerRef": {"group": "cert-manager.io", "kind": "Issuer", "name": self_signed},
            }),
        ),
        object("Issuer", &name, json!({"ca": {"secretName": ca}})),
        object(
            "Certificate",
            &name,
            json!({
                "secretName": name,
                "dnsNames": [host, format!("{host}.cluster.local")],
                "usages": ["digital signature", "server auth"],
                "privateKey": key("Always"),
                "issuerRef": {"group": "cert-manager.io", "kind": "Issuer", "name": name},
            }),
        ),
    ]
}

/// The objects that replace cert-manager in tests: its CRDs, which accept everything, and the permissions for an operator that generates
/// its certificates itself, because a real API server calls it over TLS. None for other operators.
pub fn test_objects(operator: &Operator<'_>) -> Vec<Value> {
    if !operator.has_certificates(Certificates::CertManager) {
        return vec![];
    }
    let crds = [("Issuer", "issuers"), ("Certificate", "certificates")];
    let crds = crds.map(|(kind, plural)| lenient_crd("cert-manager.io", kind, plural));
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": operator.namespace},
    });
    let permissions = permissions(operator).into_iter().map(|object| object.value);
    crds.into_iter()
        .chain([namespace])
        .chain(permissions)
        .collect()
}

/// A CRD in version v1 that accepts everything.
pub(super) fn lenient_crd(group: &str, kind: &str, plural: &str) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

/// The parts of the pod by which the container gets a certificate from cert-manager.
pub(super) struct Mounted {
    pub volume: Volume,
    pub mount: VolumeMount,
    pub variable: EnvVar,
}

/// Mounts the Secret with the certificate and its key, without the CA. `None` if the operator generates its certificates itself.
pub(super) fn mounted(operator: &Operator<'_>) -> Option<Mounted> {
    if !operator.has_certificates(Certificates::CertManager) {
        return None;
    }
    let file = |name: &str| KeyToPath {
        key: name.to_owned(),
        path: name.to_owned(),
        mode: None,
    };
    Some(Mounted {
        volume: Volume {
            name: VOLUME.to_owned(),
            secret: Some(SecretVolumeSource {
                secret_name: Some(operator.webhook_name()),
                items: Some(vec![file("tls.crt"), file("tls.key")]),
                default_mode: Some(0o440),
                optional: None,
            }),
            ..Volume::default()
        },
        mount: VolumeMount {
            name: VOLUME.to_owned(),
            mount_path: FOLDER.to_owned(),
            read_only: Some(true),
            ..VolumeMount::default()
        },
        variable: EnvVar {
            name: "WEBHOOK_CERTIFICATES".to_owned(),
            value: Some(FOLDER.to_owned()),
            value_from: None,
        },
    })
}
