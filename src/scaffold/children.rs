//! The snapshot of the children that the example creates for the sample: the text that `Trial::children` of `operator-testing` returns,
//! with the head that insta writes. It follows the templates in `templates/src/controllers/child/`.

use operator_schema::{apply_defaults, reviewable};
use serde_json::{Value, json};

use super::{
    Subject,
    example::{Child, IMAGE, image, replicas_access, replicas_path},
};
use crate::{crd::Scope, types::Access};

/// The snapshot of the children of the sample; `None` if there is no sample, or if the example creates no children.
pub fn snapshot(subject: &Subject<'_>, child: Child) -> Option<String> {
    let version = subject.api.storage_version();
    let mut object = subject.sample?.clone();
    apply_defaults(&version.schema, &mut object);
    let child = match child {
        Child::Deployment => deployment(subject, &object),
        Child::ConfigMap => config_map(subject, &object),
        Child::Remote | Child::Events => return None,
    };
    let text = serde_yaml::to_string(&reviewable(&child)).expect("JSON values are YAML");
    Some(format!("---\nsource: tests/all/faults.rs\n---\n{text}"))
}

/// What `config_map.rs.j2` creates.
fn config_map(subject: &Subject<'_>, object: &Value) -> Value {
    let spec = if subject.facts.has_spec {
        &object["spec"]
    } else {
        &object["metadata"]["name"]
    };
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(subject, object),
        "data": {"spec.json": spec.to_string()},
    })
}

/// What `deployment.rs.j2` creates.
fn deployment(subject: &Subject<'_>, object: &Value) -> Value {
    let facts = subject.facts;
    let path = replicas_path(subject.api.storage_version());
    let replicas = value_of(
        replicas_access(subject.api.storage_version(), facts),
        object,
        &path,
    );
    let replicas = replicas.and_then(|it| it.as_i64()).unwrap_or(1);
    let image = value_of(image(facts), object, &["spec", "image"]);
    let container = &subject.api.names.singular;
    let metadata = metadata(subject, object);
    let labels = json!({
        "app.kubernetes.io/instance": metadata["labels"]["app.kubernetes.io/instance"],
        "app.kubernetes.io/name": container,
    });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": i32::try_from(replicas).unwrap_or(i32::MAX),
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "automountServiceAccountToken": false,
                    "containers": [{
                        "name": container,
                        "image": image.unwrap_or_else(|| IMAGE.into()),
                        "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                    }],
                    "securityContext": {
                        "runAsNonRoot": true,
                        "runAsUser": 65532,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                },
            },
        },
    })
}

/// The value of a field in an object, or its default.
fn value_of(access: Option<Access>, object: &Value, path: &[&str]) -> Option<Value> {
    let access = access?;
    let value = path
        .iter()
        .try_fold(object, |value, field| value.get(field));
    value
        .filter(|value| !value.is_null())
        .cloned()
        .or(access.default)
}

/// What `child_metadata` of `operator-runtime` returns, without the uid of the owner.
fn metadata(subject: &Subject<'_>, object: &Value) -> Value {
    let name = &object["metadata"]["name"];
    json!({
        "name": name,
        "namespace": match subject.api.scope {
            Scope::Namespaced => subject.sample_namespace,
            Scope::Cluster => subject.operator,
        },
        "labels": {"app.kubernetes.io/instance": name, "app.kubernetes.io/managed-by": subject.operator},
        "ownerReferences": [{
            "apiVersion": object["apiVersion"],
            "kind": object["kind"],
            "name": name,
            "controller": true,
        }],
    })
}
