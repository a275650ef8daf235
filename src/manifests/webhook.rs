//! The configurations of the operator's admission webhooks, and the Service that the API server calls.
//!
//! `caBundle` is not here: the operator or cert-manager sets it in the cluster.

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations,
    ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    LabelSelector, LabelSelectorRequirement, ObjectMeta,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::certificate::ca_injection;
use super::{NAME_LABEL, Namespaces, Object, Operator, ResourceType, Role};
use crate::config::{
    Certificates, FailurePolicy, MatchPolicy, NOT_BEING_DELETED, NOT_OF_THE_OPERATOR,
    ReinvocationPolicy, Webhook, WebhookType,
};
use crate::operator::{Admission, NamespaceSelection};

/// The name of the webhooks' port, by which the Service and the NetworkPolicy refer to it.
pub(super) const PORT_NAME: &str = "webhook";
pub const PORT: i32 = 9443;

/// The port of the Service, which the API server calls by default.
const SERVICE_PORT: i32 = 443;

/// The label that the API server sets on each namespace.
const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";

const SYSTEM_NAMESPACE: &str = "kube-system";

impl Operator<'_> {
    /// The name of the Service, of the Secret with the certificate, and of the roles for certificates.
    pub(super) fn webhook_name(&self) -> String {
        format!("{}-webhook", self.config.name)
    }
}

/// The Service and the configurations; nothing for an operator without webhooks.
pub(super) fn objects(operator: &Operator<'_>) -> Vec<Object> {
    if !operator.has_webhooks() {
        return vec![];
    }
    let mut objects = vec![Object::new(Role::WebhookService, service(operator))];
    let each = |type_| {
        operator.admissions.iter().flat_map(move |kind| {
            kind.webhooks
                .iter()
                .filter(move |it| it.webhook == type_)
                .map(move |webhook| Hook {
                    operator,
                    kind,
                    webhook,
                })
        })
    };
    if has_webhook(operator, WebhookType::Validate) {
        let webhooks = each(WebhookType::Validate).map(|it| it.validating());
        let configuration = ValidatingWebhookConfiguration {
            metadata: configuration_metadata(operator),
            webhooks: Some(webhooks.collect()),
        };
        objects.push(Object::new(Role::ValidatingWebhooks, configuration));
    }
    if has_webhook(operator, WebhookType::Mutate) {
        let webhooks = each(WebhookType::Mutate).map(|it| it.mutating());
        let configuration = MutatingWebhookConfiguration {
            metadata: configuration_metadata(operator),
            webhooks: Some(webhooks.collect()),
        };
        objects.push(Object::new(Role::MutatingWebhooks, configuration));
    }
    objects
}

/// Whether a kind has a webhook of this type.
pub(super) fn has_webhook(operator: &Operator<'_>, type_: WebhookType) -> bool {
    operator
        .admissions
        .iter()
        .any(|admission| admission.webhook(type_).is_some())
}

fn service(operator: &Operator<'_>) -> Service {
    Service {
        metadata: operator.metadata(operator.webhook_name()),
        spec: Some(ServiceSpec {
            selector: Some(operator.pod_labels()),
            ports: Some(vec![ServicePort {
                name: Some(PORT_NAME.to_owned()),
                port: SERVICE_PORT,
                target_port: Some(IntOrString::String(PORT_NAME.to_owned())),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

fn configuration_metadata(operator: &Operator<'_>) -> ObjectMeta {
    ObjectMeta {
        annotations: operator
            .has_certificates(Certificates::CertManager)
            .then(|| ca_injection(operator)),
        ..operator.cluster_metadata()
    }
}

/// A webhook of a kind.
struct Hook<'a> {
    operator: &'a Operator<'a>,
    kind: &'a Admission,
    webhook: &'a Webhook,
}

impl Hook<'_> {
    fn validating(&self) -> ValidatingWebhook {
        ValidatingWebhook {
            name: self.name(),
            admission_review_versions: review_versions(),
            client_config: self.client_config(),
            failure_policy: Some(self.failure_policy()),
            match_conditions: Some(self.conditions()),
            match_policy: Some(self.match_policy()),
            namespace_selector: self.namespace_selector(),
            object_selector: self.object_selector(),
            rules: Some(vec![self.rule()]),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(self.webhook.timeout),
        }
    }

    fn mutating(&self) -> MutatingWebhook {
        let policy = self.webhook.reinvocation_policy.map(|policy| match policy {
            ReinvocationPolicy::Never => "Never".to_owned(),
            ReinvocationPolicy::IfNeeded => "IfNeeded".to_owned(),
        });
        MutatingWebhook {
            name: self.name(),
            admission_review_versions: review_versions(),
            client_config: self.client_config(),
            failure_policy: Some(self.failure_policy()),
            match_conditions: Some(self.conditions()),
            match_policy: Some(self.match_policy()),
            namespace_selector: self.namespace_selector(),
            object_selector: self.object_selector(),
            reinvocation_policy: policy,
            rules: Some(vec![self.rule()]),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(self.webhook.timeout),
        }
    }

    /// The name, such as `validate.memcached.cache.example.com.memcached-operator`: unique in the cluster, and with at least the three
    /// labels that the API server requires.
    fn name(&self) -> String {
        let ResourceType { group, kind, .. } = &self.kind.resource;
        let (kind, operator) = (kind.to_lowercase(), &self.operator.config.name);
        let group = if group.is_empty() { "core" } else { group };
        format!("{}.{kind}.{group}.{operator}", self.webhook.webhook.name())
    }

    fn client_config(&self) -> WebhookClientConfig {
        WebhookClientConfig {
            service: Some(ServiceReference {
                name: self.operator.webhook_name(),
                namespace: self.operator.namespace.clone(),
                path: Some(self.kind.url_path(self.webhook.webhook)),
                port: None,
            }),
            ..WebhookClientConfig::default()
        }
    }

    fn failure_policy(&self) -> String {
        match self.webhook.failure_policy {
            FailurePolicy::Fail => "Fail".to_owned(),
            FailurePolicy::Ignore => "Ignore".to_owned(),
        }
    }

    fn match_policy(&self) -> String {
        match self.webhook.match_policy {
            MatchPolicy::Equivalent => "Equivalent".to_owned(),
            MatchPolicy::Exact => "Exact".to_owned(),
        }
    }

    fn rule(&self) -> RuleWithOperations {
        let ResourceType {
            group,
            version,
            plural,
            namespaced,
            ..
        } = &self.kind.resource;
        let subresources = self.webhook.subresources.iter();
        let subresources = subresources.map(|name| format!("{plural}/{name}"));
        let operations = self.webhook.operations.iter();
        let scope = if *namespaced { "Namespaced" } else { "Cluster" };
        RuleWithOperations {
            api_groups: Some(vec![group.clone()]),
            api_versions: Some(vec![version.clone()]),
            operations: Some(operations.map(|it| it.name().to_uppercase()).collect()),
            resources: Some([plural.clone()].into_iter().chain(subresources).collect()),
            scope: Some(scope.to_owned()),
        }
    }

    /// The user's conditions, and one that excludes each update of an object that is being deleted, so that its finalizers can be removed
    /// even if nothing serves the webhook. Other operations may have no `oldObject`, so the left side of `||` decides for them.
    fn conditions(&self) -> Vec<MatchCondition> {
        let own = MatchCondition {
            name: NOT_BEING_DELETED.to_owned(),
            expression:
                "request.operation != 'UPDATE' || !has(oldObject.metadata.deletionTimestamp)"
                    .to_owned(),
        };
        let conditions = self.webhook.match_conditions.iter();
        let conditions = conditions.map(|condition| MatchCondition {
            name: condition.name.clone(),
            expression: condition.expression.clone(),
        });
        let own = [own].into_iter().chain(self.not_of_the_operator());
        own.chain(conditions).collect()
    }

    /// A condition that excludes the requests for the lease and the Secret that the operator needs to serve a webhook. They have no label
    /// by which a selector could exclude them.
    ///
    /// A request has no name if the name is yet to be generated, or if it deletes all objects of a namespace. cert-manager first puts each
    /// key into a Secret with a generated name, which begins with that of the certificate.
    fn not_of_the_operator(&self) -> Option<MatchCondition> {
        let ResourceType { group, kind, .. } = &self.kind.resource;
        let secret = self.operator.webhook_name();
        let expression = match (group.as_str(), kind.as_str()) {
            ("", "Secret") if self.operator.has_certificates(Certificates::CertManager) => format!(
                "!(has(request.name) && request.name.startsWith('{secret}')) && \
                 !(request.operation == 'CREATE' && has(object.metadata.generateName) && object.metadata.generateName.startsWith('{secret}-'))"
            ),
            ("", "Secret") => format!("!has(request.name) || request.name != '{secret}'"),
            ("coordination.k8s.io", "Lease") => {
                let lease = &self.operator.config.name;
                format!("!has(request.name) || request.name != '{lease}'")
            }
            _ => return None,
        };
        self.covers_operator_namespace().then(|| MatchCondition {
            name: NOT_OF_THE_OPERATOR.to_owned(),
            expression,
        })
    }

    /// Whether the webhook may be called for objects in the operator's own namespace.
    fn covers_operator_namespace(&self) -> bool {
        let own = &self.operator.namespace;
        match (self.operator.selection, &self.operator.config.namespaces) {
            (NamespaceSelection::Package, _) | (_, Namespaces::Own) => true,
            (_, Namespaces::All) => false,
            (_, Namespaces::Listed(names)) => names.iter().any(|name| name == own),
        }
    }

    /// The user's selector, limited to namespaces in which the webhook cannot prevent the operator or the cluster from starting. For
    /// Namespaces, the API server matches their own labels; for other cluster-scoped kinds, it ignores the selector.
    fn namespace_selector(&self) -> Option<LabelSelector> {
        let selector = self.webhook.namespace_selector.as_ref();
        let selector = selector.map(|selector| selector.0.clone());
        let ResourceType {
            group,
            kind,
            namespaced,
            ..
        } = &self.kind.resource;
        let is_namespace = group.is_empty() && kind == "Namespace";
        if !namespaced && !is_namespace {
            return selector;
        }
        let own = self.operator.namespace.clone();
        let (operator, values) = match &self.operator.config.namespaces {
            Namespaces::All if self.kind.is_builtin() => {
                ("NotIn", vec![SYSTEM_NAMESPACE.to_owned(), own])
            }
            Namespaces::All => ("NotIn", vec![own]),
            Namespaces::Own => ("In", vec![own]),
            Namespaces::Listed(names) => ("In", names.clone()),
        };
        Some(with_requirement(
            selector,
            NAMESPACE_LABEL,
            operator,
            values,
        ))
    }

    /// The user's selector. If the webhook may be called for objects in the operator's own namespace, those of the operator are excluded.
    fn object_selector(&self) -> Option<LabelSelector> {
        let selector = self.webhook.object_selector.as_ref();
        let selector = selector.map(|selector| selector.0.clone());
        if !(self.covers_operator_namespace()
            && self.kind.is_builtin()
            && self.kind.resource.namespaced)
        {
            return selector;
        }
        // not the labels of `operator.toml`, which the pods of users may have too
        let (key, name) = (NAME_LABEL, self.operator.config.name.clone());
        Some(with_requirement(selector, key, "NotIn", vec![name]))
    }
}

fn review_versions() -> Vec<String> {
    vec!["v1".to_owned()]
}

/// A selector with one more requirement.
fn with_requirement(
    selector: Option<LabelSelector>,
    key: &str,
    operator: &str,
    values: Vec<String>,
) -> LabelSelector {
    let mut selector = selector.unwrap_or_default();
    let requirement = LabelSelectorRequirement {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values: Some(values),
    };
    let requirements = selector.match_expressions.get_or_insert_default();
    requirements.insert(0, requirement);
    selector
}
