//! The values of the chart, with their schema, and its description.

use serde_json::{Map, Value, json};

use super::super::yaml::plain;
use crate::{
    config::{DisruptionBudget, Image, Namespaces, Share, Variable},
    manifests::{Object, Role, manifests},
    operator::Operator,
};

/// A value: its comment, its name, its default and its schema.
struct Entry {
    comment: &'static str,
    name: &'static str,
    value: Value,
    schema: Value,
}

/// `Chart.yaml`. The version of the app is the tag of the image.
pub fn chart(operator: &Operator<'_>, image: &str) -> String {
    let tag = match Image::of(image).tag {
        "" => "latest",
        tag => tag,
    };
    let name = &operator.config.name;
    format!(
        "apiVersion: v2\n\
         name: {name}\n\
         description: The Kubernetes operator {name}\n\
         type: application\n\
         # of the chart: increase it with each change, also of the CRDs\n\
         version: 0.1.0\n\
         # of the operator: the default tag of its image\n\
         appVersion: {tag:?}\n"
    )
}

/// `values.yaml`, with comments.
pub fn text(operator: &Operator<'_>, image: &str, has_crds: bool) -> String {
    let mut text = format!(
        "# The values of the chart {}. The defaults are those of operator.toml; your changes are kept. Further values of your own need an\n\
         # entry in values.schema.json.\n",
        operator.config.name
    );
    for entry in entries(operator, image, has_crds) {
        let yaml = plain(&json!({ (entry.name): entry.value }));
        for line in entry.comment.lines() {
            text.push_str(&format!("\n# {line}"));
        }
        text.push('\n');
        text.push_str(&yaml);
    }
    text
}

/// `values.schema.json`: <https://helm.sh/docs/topics/charts/#schema-files>
pub fn schema(operator: &Operator<'_>, has_crds: bool) -> String {
    let image = operator.config.image.as_deref().unwrap_or_default();
    let entries = entries(operator, image, has_crds);
    let mut properties: Map<String, Value> = entries
        .into_iter()
        .map(|entry| {
            let mut schema = entry.schema;
            schema["description"] = entry.comment.replace('\n', " ").into();
            (entry.name.to_owned(), schema)
        })
        .collect();
    // what Helm itself passes to a chart that is part of another one
    properties.insert("global".into(), json!({"type": "object"}));
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": false,
        "required": ["image", "replicaCount"],
        "properties": properties,
    });
    serde_json::to_string_pretty(&schema).expect("a value with string keys") + "\n"
}

fn entries(operator: &Operator<'_>, image: &str, has_crds: bool) -> Vec<Entry> {
    let settings = &operator.config.deployment;
    let Image {
        repository,
        tag: _,
        digest,
    } = Image::of(image);
    let deployment = manifests(operator)
        .objects
        .into_iter()
        .filter(|object: &Object| object.role == Role::Deployment)
        .map(|object| object.value)
        .next()
        .unwrap_or_default();
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let or = |value: &Value, empty: Value| match value {
        Value::Null => empty,
        value => value.clone(),
    };
    let list = |value: &Value| or(value, json!([]));
    let map = |value: &Value| or(value, json!({}));
    let variables = settings
        .env
        .0
        .iter()
        .map(|(name, variable)| match variable {
            Variable::Text(text) => json!({"name": name, "value": text}),
            Variable::From(source) => json!({"name": name, "valueFrom": source}),
        });
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let any = json!({"type": "object"});
    let named = |required: &[&str]| json!({"type": "array", "items": {"type": "object", "required": required}});
    let mut entries = vec![
        Entry {
            comment: "The image of the operator. The tag is the appVersion of the chart by default; a digest has precedence over it.",
            name: "image",
            value: json!({"repository": repository, "tag": "", "digest": digest, "pullPolicy": or(&container["imagePullPolicy"], "IfNotPresent".into())}),
            schema: json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["repository"],
                "properties": {
                    "repository": {"type": "string", "minLength": 1},
                    "tag": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{0,128}$"},
                    "digest": {"type": "string", "pattern": "^([a-z0-9]+:[a-f0-9]{32,})?$"},
                    "pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
                },
            }),
        },
        Entry {
            comment: "The number of replicas: one works, and the others wait for its lease.",
            name: "replicaCount",
            value: settings.replicas().into(),
            schema: json!({"type": "integer", "minimum": 0}),
        },
        Entry {
            comment: "How many replicas the drain of a node may take away, if there are several: minAvailable or maxUnavailable.",
            name: "podDisruptionBudget",
            value: budget(settings.disruption_budget.as_ref()),
            schema: {
                let share = json!({
                    "oneOf": [
                        {"type": "integer", "minimum": 0},
                        {"type": "string", "pattern": "^[0-9]{1,3}%$"},
                        {"type": "null"},
                    ],
                });
                json!({
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {"minAvailable": share, "maxUnavailable": share},
                })
            },
        },
        Entry {
            comment: "Arguments of the operator.",
            name: "args",
            value: list(&container["args"]),
            schema: json!({"type": "array", "items": {"type": "string"}}),
        },
        Entry {
            comment: "Variables of the operator, as in a container.",
            name: "env",
            value: variables.collect(),
            schema: named(&["name"]),
        },
        Entry {
            comment: "Secrets and ConfigMaps of which all keys are variables, as in a container.",
            name: "envFrom",
            value: list(&container["envFrom"]),
            schema: named(&[]),
        },
        Entry {
            comment: "Requests and limits of the operator.",
            name: "resources",
            value: map(&container["resources"]),
            schema: {
                let quantities = json!({
                    "type": "object",
                    "additionalProperties": {"type": ["string", "number"]},
                });
                json!({
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {"requests": quantities, "limits": quantities, "claims": {"type": "array"}},
                })
            },
        },
        Entry {
            comment: "Labels that nodes must have.",
            name: "nodeSelector",
            value: map(&pod["nodeSelector"]),
            schema: texts.clone(),
        },
        Entry {
            comment: "Taints of nodes that the pods tolerate.",
            name: "tolerations",
            value: list(&pod["tolerations"]),
            schema: json!({
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "key": {"type": "string"},
                        "operator": {"enum": ["Exists", "Equal"]},
                        "value": {"type": "string"},
                        "effect": {"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
                        "tolerationSeconds": {"type": "integer"},
                    },
                },
            }),
        },
        Entry {
            comment: "The affinity of the pods.",
            name: "affinity",
            value: map(&pod["affinity"]),
            schema: json!({
                "type": "object",
                "additionalProperties": false,
                "properties": {"nodeAffinity": any, "podAffinity": any, "podAntiAffinity": any},
            }),
        },
        Entry {
            comment: "How the pods are spread, with a labelSelector each.",
            name: "topologySpreadConstraints",
            value: list(&pod["topologySpreadConstraints"]),
            schema: named(&["maxSkew", "topologyKey", "whenUnsatisfiable"]),
        },
        Entry {
            comment: "The name of a PriorityClass.",
            name: "priorityClassName",
            value: or(&pod["priorityClassName"], "".into()),
            schema: json!({"type": "string"}),
        },
        Entry {
            comment: "Secrets with the credentials of the registry: [{name: registry}].",
            name: "imagePullSecrets",
            value: list(&pod["imagePullSecrets"]),
            schema: named(&["name"]),
        },
        Entry {
            comment: "Further labels of all objects and pods.",
            name: "labels",
            value: json!(settings.labels),
            // it selects the pods
            schema: json!({
                "type": "object",
                "propertyNames": {"not": {"const": "app.kubernetes.io/name"}},
                "additionalProperties": {"type": "string"},
            }),
        },
        Entry {
            comment: "Annotations of the pods.",
            name: "podAnnotations",
            value: json!(settings.pod_annotations),
            schema: texts.clone(),
        },
        Entry {
            comment: "Annotations of the service account, such as the role of a cloud provider.",
            name: "serviceAccount",
            value: json!({"annotations": settings.service_account_annotations}),
            schema: json!({
                "type": "object",
                "additionalProperties": false,
                "properties": {"annotations": texts},
            }),
        },
    ];
    if let Namespaces::Listed(names) = &operator.config.namespaces {
        entries.push(Entry {
            comment: "The namespaces that the operator watches. They must exist; the roles are in each of them.",
            name: "watchNamespaces",
            value: json!(names),
            schema: json!({
                "type": "array",
                "minItems": 1,
                "uniqueItems": true,
                "items": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"},
            }),
        });
    }
    if operator.config.monitoring.prometheus {
        entries.push(Entry {
            comment: "Whether the ServiceMonitor, the alerts and the dashboard are installed. They need the CRDs of the Prometheus operator.",
            name: "prometheus",
            value: json!({"enabled": true}),
            schema: json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["enabled"],
                "properties": {"enabled": {"type": "boolean"}},
            }),
        });
    }
    if has_crds {
        entries.push(Entry {
        comment: "Whether the chart installs and upgrades the CRDs, and whether an uninstallation keeps them, with all objects.",
        name: "crds",
        value: json!({"enabled": true, "keep": true}),
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["enabled", "keep"],
            "properties": {"enabled": {"type": "boolean"}, "keep": {"type": "boolean"}},
        }),
    });
    }
    entries
}

fn budget(budget: Option<&DisruptionBudget>) -> Value {
    let default = DisruptionBudget {
        min_available: None,
        max_unavailable: Some(Share::Pods(1)),
    };
    json!(budget.unwrap_or(&default))
}
