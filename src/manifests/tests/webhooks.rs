use serde_json::{Value, json};

use super::*;
use crate::{
    config::{
        Certificates, FailurePolicy, Operation, ReinvocationPolicy, Verbatim, Webhook, WebhookType,
    },
    operator::{Admission, Conversions, KindId, NamespaceSelection},
};

fn with_webhooks(
    namespaces: Namespaces,
    certificates: Certificates,
    admissions: Vec<Admission>,
) -> Operator<'static> {
    let mut operator = memcached();
    operator.admissions = admissions;
    let config = operator.config.to_mut();
    config.namespaces = namespaces;
    config.certificates = certificates;
    operator
}

fn own(webhooks: Vec<Webhook>) -> Admission {
    let controller = memcached().controllers.remove(0);
    Admission {
        kind: Some(KindId(0)),
        ..builtin(controller.resource, webhooks)
    }
}

fn builtin(resource: ResourceType, webhooks: Vec<Webhook>) -> Admission {
    Admission {
        module: resource.kind.to_lowercase(),
        resource,
        kind: None,
        api_module: None,
        webhooks,
    }
}

/// An operator that converts the objects of its kind.
fn converting(certificates: Certificates) -> Operator<'static> {
    let mut operator = with_webhooks(Namespaces::All, certificates, vec![]);
    let kind = &mut operator.kinds[0];
    kind.conversions = Some(Conversions {
        hub: &kind.crd.versions[0],
        spokes: vec![],
        sensitive: vec![],
    });
    operator
}

fn pods(webhooks: Vec<Webhook>) -> Admission {
    builtin(resource("", "Pod", "pods", true), webhooks)
}

fn validate() -> Webhook {
    Webhook::new(WebhookType::Validate)
}

fn mutate() -> Webhook {
    Webhook::new(WebhookType::Mutate)
}

/// The objects of a role, in the order of the manifests.
fn of_role(operator: &Operator<'_>, role: &Role) -> Vec<Value> {
    manifests(operator)
        .objects
        .into_iter()
        .filter(|object| object.role == *role)
        .map(|object| object.value)
        .collect()
}

/// The validating webhooks of an operator.
fn validating(operator: &Operator<'_>) -> Vec<Value> {
    let mut configurations = of_role(operator, &Role::ValidatingWebhooks);
    let webhooks = configurations.remove(0)["webhooks"].take();
    webhooks.as_array().unwrap().clone()
}

fn requirement(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"key": key, "operator": operator, "values": values})
}

#[test]
fn without_webhooks_no_file_mentions_them() {
    for (path, text) in files(&memcached()) {
        assert!(
            !path.contains("webhook") && !text.contains("webhook"),
            "{path}: {text}"
        );
    }
}

#[test]
fn a_webhook_has_the_defaults_and_a_condition_that_lets_deletions_finish() {
    let admitted = vec![own(vec![validate()])];
    let webhooks = validating(&with_webhooks(
        Namespaces::All,
        Certificates::Managed,
        admitted,
    ));
    let expected = json!([{
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {
            "name": "memcached-operator-webhook",
            "namespace": "memcached-operator",
            "path": "/validate-cache-example-com-memcached",
        }},
        "failurePolicy": "Fail",
        "matchConditions": [{
            "name": "not-being-deleted",
            "expression": "request.operation != 'UPDATE' || !has(oldObject.metadata.deletionTimestamp)",
        }],
        "matchPolicy": "Equivalent",
        "name": "validate.memcached.cache.example.com.memcached-operator",
        "namespaceSelector": {"matchExpressions": [
            requirement("kubernetes.io/metadata.name", "NotIn", &["memcached-operator"]),
        ]},
        "rules": [{
            "apiGroups": ["cache.example.com"],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["memcacheds"],
            "scope": "Namespaced",
        }],
        "sideEffects": "None",
        "timeoutSeconds": 10,
    }]);
    assert_eq!(Value::from(webhooks), expected);
}

#[test]
fn the_condition_holds_unless_an_object_that_is_being_deleted_is_updated() {
    let admitted = vec![own(vec![validate()])];
    let operator = with_webhooks(Namespaces::All, Certificates::Managed, admitted);
    let condition = &validating(&operator)[0]["matchConditions"][0];
    let expression = condition["expression"].as_str().unwrap();
    let (live, null) = (json!({"metadata": {"name": "a"}}), Value::Null);
    let deleted = json!({"metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}});
    for (operation, old, expected) in [
        ("CREATE", &null, true),
        ("UPDATE", &live, true),
        ("UPDATE", &deleted, false),
        ("DELETE", &deleted, true),
        ("DELETE", &null, true),
        ("CONNECT", &null, true),
    ] {
        let request = json!({"operation": operation});
        let variables = [("request", &request), ("oldObject", old), ("object", &null)];
        let result = operator_schema::condition(expression, &variables);
        assert_eq!(result, Ok(expected), "{operation} {old}");
    }
}

#[test]
fn the_options_of_an_entry_are_in_its_webhook() {
    let selector = |key: &str| {
        let selector = json!({
            "matchLabels": {key: "x"},
            "matchExpressions": [{"key": "other", "operator": "Exists"}],
        });
        Verbatim(serde_json::from_value(selector).unwrap())
    };
    let webhook = Webhook {
        operations: vec![Operation::Create],
        subresources: vec!["status".to_owned()],
        failure_policy: FailurePolicy::Ignore,
        timeout: 3,
        object_selector: Some(selector("of-object")),
        namespace_selector: Some(selector("of-namespace")),
        reinvocation_policy: Some(ReinvocationPolicy::IfNeeded),
        ..mutate()
    };
    let admitted = vec![own(vec![webhook])];
    let operator = with_webhooks(Namespaces::All, Certificates::Managed, admitted);
    assert!(of_role(&operator, &Role::ValidatingWebhooks).is_empty());
    let configuration = &of_role(&operator, &Role::MutatingWebhooks)[0];
    let webhook = &configuration["webhooks"][0];
    for (pointer, expected) in [
        ("/failurePolicy", json!("Ignore")),
        ("/timeoutSeconds", json!(3)),
        ("/reinvocationPolicy", json!("IfNeeded")),
        ("/rules/0/operations", json!(["CREATE"])),
        (
            "/rules/0/resources",
            json!(["memcacheds", "memcacheds/status"]),
        ),
        ("/objectSelector/matchLabels", json!({"of-object": "x"})),
        (
            "/objectSelector/matchExpressions",
            json!([{"key": "other", "operator": "Exists"}]),
        ),
        (
            "/namespaceSelector/matchLabels",
            json!({"of-namespace": "x"}),
        ),
        (
            "/namespaceSelector/matchExpressions/0",
            requirement(
                "kubernetes.io/metadata.name",
                "NotIn",
                &["memcached-operator"],
            ),
        ),
        (
            "/namespaceSelector/matchExpressions/1",
            json!({"key": "other", "operator": "Exists"}),
        ),
    ] {
        assert_eq!(webhook.pointer(pointer), Some(&expected), "{pointer}");
    }
}

#[test]
fn no_webhook_can_prevent_the_operator_or_the_cluster_from_starting() {
    let name = "kubernetes.io/metadata.name";
    let listed =
        |names: &[&str]| Namespaces::Listed(names.iter().map(|it| (*it).to_owned()).collect());
    let excludes = requirement("app.kubernetes.io/name", "NotIn", &["memcached-operator"]);
    for (namespaces, expected, own_pods) in [
        (
            Namespaces::All,
            requirement(name, "NotIn", &["kube-system", "memcached-operator"]),
            None,
        ),
        (
            Namespaces::Own,
            requirement(name, "In", &["memcached-operator"]),
            Some(&excludes),
        ),
        (
            listed(&["a", "b"]),
            requirement(name, "In", &["a", "b"]),
            None,
        ),
        (
            listed(&["memcached-operator"]),
            requirement(name, "In", &["memcached-operator"]),
            Some(&excludes),
        ),
    ] {
        let admitted = vec![pods(vec![validate()])];
        let operator = with_webhooks(namespaces, Certificates::Managed, admitted);
        let webhook = &validating(&operator)[0];
        let selected = |selector: &str| webhook.pointer(&format!("/{selector}/matchExpressions/0"));
        assert_eq!(selected("namespaceSelector"), Some(&expected));
        assert_eq!(selected("objectSelector"), own_pods);
        assert_eq!(webhook["name"], "validate.pod.core.memcached-operator");
    }
}

#[test]
fn the_operators_own_secrets_and_lease_need_no_webhook_of_it() {
    let admitted = [
        resource("", "Secret", "secrets", true),
        resource("coordination.k8s.io", "Lease", "leases", true),
        resource("", "ConfigMap", "configmaps", true),
        resource("example.com", "Secret", "secrets", true),
    ]
    .map(|resource| builtin(resource, vec![validate()]))
    .to_vec();
    let of = |namespaces, certificates| -> Vec<Value> {
        let operator = with_webhooks(namespaces, certificates, admitted.clone());
        validating(&operator)
            .into_iter()
            .map(|it| it["matchConditions"].clone())
            .collect()
    };
    // the namespace selector already excludes the objects of the operator
    for conditions in of(Namespaces::All, Certificates::Managed) {
        assert_eq!(conditions.as_array().unwrap().len(), 1);
    }
    let (managed, issued) = (Certificates::Managed, Certificates::CertManager);
    let (secret, lease) = ("memcached-operator-webhook", "memcached-operator");
    for (certificates, kind, name, generated, is_called) in [
        (managed, 0, secret, "", false),
        (managed, 0, "memcached-operator-webhook-ca", "", true),
        (managed, 0, "", "other-", true),
        (managed, 1, lease, "", false),
        (managed, 1, secret, "", true),
        (issued, 0, secret, "", false),
        (issued, 0, "memcached-operator-webhook-ca", "", false),
        (issued, 0, "", "memcached-operator-webhook-ca-", false),
        (issued, 0, "", "memcached-operator-x-", true),
        (issued, 0, "other", "", true),
        (issued, 1, lease, "", false),
    ] {
        let conditions = &of(Namespaces::Own, certificates)[kind];
        assert_eq!(conditions[1]["name"], "not-of-the-operator");
        let expression = conditions[1]["expression"].as_str().unwrap();
        // the API server omits an empty name
        let texts = |key: &str, text: &str| match text {
            "" => json!({}),
            text => json!({key: text}),
        };
        let object = json!({"metadata": texts("generateName", generated)});
        for (operation, object) in [("CREATE", object), ("DELETE", Value::Null)] {
            if operation == "DELETE" && !generated.is_empty() {
                continue;
            }
            let mut request = texts("name", name);
            request["operation"] = operation.into();
            let variables = [
                ("object", &object),
                ("oldObject", &Value::Null),
                ("request", &request),
            ];
            let called = operator_schema::condition(expression, &variables);
            assert_eq!(called, Ok(is_called), "{operation} {name}{generated}");
        }
    }
    // a request that deletes all objects of a namespace has no name
    let of_all = json!({"operation": "DELETE"});
    for certificates in [managed, issued] {
        for conditions in &of(Namespaces::Own, certificates)[..2] {
            let expression = conditions[1]["expression"].as_str().unwrap();
            let variables = [
                ("object", &Value::Null),
                ("oldObject", &Value::Null),
                ("request", &of_all),
            ];
            let called = operator_schema::condition(expression, &variables);
            assert_eq!(called, Ok(true), "{expression}");
        }
    }
    for conditions in &of(Namespaces::Own, managed)[2..] {
        assert_eq!(conditions.as_array().unwrap().len(), 1);
    }
}

#[test]
fn where_a_package_chooses_the_namespaces_the_operators_own_pods_are_excluded_by_their_label() {
    let admitted = vec![pods(vec![validate()]), own(vec![validate()])];
    let mut operator = with_webhooks(Namespaces::All, Certificates::Managed, admitted);
    // labels that the pods of users may have too
    let labels = &mut operator.config.to_mut().deployment.labels;
    labels.insert("team".into(), "storage".into());
    operator.selection = NamespaceSelection::Package;
    let webhooks = validating(&operator);
    assert_eq!(
        webhooks[0]["objectSelector"],
        json!({"matchExpressions": [requirement("app.kubernetes.io/name", "NotIn", &["memcached-operator"])]})
    );
    assert_eq!(webhooks[1]["objectSelector"], Value::Null);
}

#[test]
fn of_the_cluster_scoped_kinds_only_namespaces_are_selected_by_their_name() {
    let nodes = builtin(resource("", "Node", "nodes", false), vec![validate()]);
    let namespaces = builtin(
        resource("", "Namespace", "namespaces", false),
        vec![validate()],
    );
    let operator = with_webhooks(
        Namespaces::All,
        Certificates::Managed,
        vec![nodes, namespaces],
    );
    let webhooks = validating(&operator);
    assert_eq!(webhooks[0]["namespaceSelector"], Value::Null);
    assert_eq!(webhooks[0]["rules"][0]["scope"], "Cluster");
    let values = webhooks[1].pointer("/namespaceSelector/matchExpressions/0/values");
    assert_eq!(values, Some(&json!(["kube-system", "memcached-operator"])));
}

#[test]
fn an_operator_that_makes_its_certificates_may_create_secrets_only_beside_itself() {
    let admitted = vec![own(vec![validate()])];
    let operator = with_webhooks(Namespaces::All, Certificates::Managed, admitted);
    let files = files(&operator);
    let permissions = of_role(&operator, &Role::CertificatePermissions);
    let name = "memcached-operator";
    assert_eq!(permissions[0]["metadata"]["namespace"], name);
    assert_eq!(
        permissions[0]["rules"],
        json!([
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
            {
                "apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "patch"],
                "resourceNames": ["memcached-operator-webhook"],
            },
        ])
    );
    let group = "admissionregistration.k8s.io";
    assert_eq!(
        permissions[2]["rules"],
        json!([
            {
                "apiGroups": [group], "resources": ["mutatingwebhookconfigurations"],
                "verbs": ["get"], "resourceNames": [name],
            },
            {
                "apiGroups": [group], "resources": ["validatingwebhookconfigurations"],
                "verbs": ["get", "patch"], "resourceNames": [name],
            },
        ])
    );
    assert!(!files.contains_key("manifests/webhook/certificates.yaml"));
    let deployment = &files["manifests/operator/deployment.yaml"];
    assert!(deployment.contains("containerPort: 9443"), "{deployment}");
    assert!(!deployment.contains("WEBHOOK_CERTIFICATES"));
}

#[test]
fn an_operator_that_converts_may_change_those_crds() {
    let operator = converting(Certificates::Managed);
    let files = files(&operator);
    let permissions = of_role(&operator, &Role::CertificatePermissions);
    assert_eq!(
        permissions[2]["rules"][1],
        json!({
            "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"],
            "verbs": ["get", "patch"], "resourceNames": ["memcacheds.cache.example.com"],
        })
    );
    assert!(files.contains_key("manifests/webhook/service.yaml"));
    assert!(!files.contains_key("manifests/webhook/validating.yaml"));
}

#[test]
fn cert_manager_sets_the_bundle_of_a_crd_whether_it_has_annotations_or_not() {
    for has_annotations in [false, true] {
        for certificates in [Certificates::Managed, Certificates::CertManager] {
            let mut operator = converting(certificates);
            if has_annotations {
                let text = &operator.kinds[0].crd.text;
                let text = text.replace("metadata: {", "metadata: {annotations: {a: b}, ");
                operator.kinds[0].crd = &crate::crd::read("a.yaml", &text).unwrap().leak()[0];
            }
            let files = files(&operator);
            let kustomization = &files["crds/kustomization.yaml"];
            let is_cert_manager = certificates == Certificates::CertManager;
            assert_eq!(
                kustomization.contains("memcached-operator/memcached-operator-webhook"),
                is_cert_manager,
                "{kustomization}"
            );
            let adds_one = "path: /metadata/annotations/cert-manager.io~1inject-ca-from";
            assert_eq!(
                kustomization.contains(adds_one),
                is_cert_manager && has_annotations,
                "{kustomization}"
            );
        }
    }
}

#[test]
fn cert_manager_makes_the_certificate_that_the_operator_mounts() {
    let admitted = vec![own(vec![validate(), mutate()])];
    let operator = with_webhooks(Namespaces::All, Certificates::CertManager, admitted);
    let objects = of_role(&operator, &Role::Certificates);
    let kinds: Vec<_> = objects
        .iter()
        .map(|it| (&it["kind"], &it["metadata"]["name"]))
        .collect();
    assert_eq!(
        json!(kinds),
        json!([
            ["Issuer", "memcached-operator-webhook-self-signed"],
            ["Certificate", "memcached-operator-webhook-ca"],
            ["Issuer", "memcached-operator-webhook"],
            ["Certificate", "memcached-operator-webhook"],
        ])
    );
    let serving = &objects[3]["spec"];
    assert_eq!(serving["secretName"], "memcached-operator-webhook");
    assert_eq!(
        serving["dnsNames"][0],
        "memcached-operator-webhook.memcached-operator.svc"
    );
    for role in [Role::ValidatingWebhooks, Role::MutatingWebhooks] {
        let annotations = &of_role(&operator, &role)[0]["metadata"]["annotations"];
        assert_eq!(
            annotations["cert-manager.io/inject-ca-from"],
            "memcached-operator/memcached-operator-webhook"
        );
    }
    let pod = &of_role(&operator, &Role::Deployment)[0]["spec"]["template"]["spec"];
    assert_eq!(
        pod["volumes"][1]["secret"]["secretName"],
        "memcached-operator-webhook"
    );
    let container = &pod["containers"][0];
    assert_eq!(container["volumeMounts"][1]["readOnly"], true);
    assert_eq!(
        container["env"],
        json!([{"name": "WEBHOOK_CERTIFICATES", "value": "/etc/webhook-certificates"}])
    );
    assert_eq!(
        container["volumeMounts"][1]["mountPath"],
        container["env"][0]["value"]
    );
    assert!(of_role(&operator, &Role::CertificatePermissions).is_empty());
}

#[test]
fn api_servers_reach_the_webhooks_from_anywhere() {
    let admitted = vec![own(vec![validate()])];
    let operator = with_webhooks(Namespaces::All, Certificates::Managed, admitted);
    let policy = &of_role(&operator, &Role::NetworkPolicy)[0];
    let ingress = policy["spec"]["ingress"].as_array().unwrap();
    assert_eq!(ingress.len(), 2);
    assert_eq!(
        ingress[1],
        json!({"ports": [{"port": "webhook", "protocol": "TCP"}]})
    );
}
