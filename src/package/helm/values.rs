//! The values of the chart, with their schema, and its description.

use serde_json::{Map, Value, json};

use super::{super::yaml::plain, placeholder::Replacement};
use crate::{
    config::{DeploymentSettings, DisruptionBudget, Image, IntOrPercent, Namespaces},
    manifests::{Role, manifests},
    operator::Operator,
};

/// A value: its comment, its name, its default and its schema.
struct Entry {
    comment: &'static str,
    name: &'static str,
    value: Value,
    schema: Value,
}

/// The values that a template reads without a default: they may not be set to null.
const REQUIRED: [&str; 6] = [
    "image",
    "replicaCount",
    "serviceAccount",
    "watchNamespaces",
    "prometheus",
    "crds",
];

/// The text of `Chart.yaml`. The version of the app is the tag of the image.
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

/// The text of `values.yaml`, with comments.
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

/// The text of `values.schema.json`: <https://helm.sh/docs/topics/charts/#schema-files>
pub fn schema(operator: &Operator<'_>, has_crds: bool) -> String {
    let image = operator.config.image.as_deref().unwrap_or_default();
    let entries = entries(operator, image, has_crds);
    let names = entries.iter().map(|entry| entry.name);
    let required: Vec<&str> = names.filter(|name| REQUIRED.contains(name)).collect();
    let mut properties: Map<String, Value> = entries
        .into_iter()
        .map(|entry| {
            let mut schema = entry.schema;
            schema["description"] = entry.comment.replace('\n', " ").into();
            (entry.name.to_owned(), schema)
        })
        .collect();
    // what the chart gets from one that has it as a dependency
    properties.insert("global".into(), json!({"type": "object"}));
    properties.insert("enabled".into(), json!({"type": "boolean"}));
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    });
    serde_json::to_string_pretty(&schema).expect("a value with string keys") + "\n"
}

/// A field of the pod. The value has the same name; without items, the pod lacks the field.
pub struct PodField {
    pub name: &'static str,
    comment: &'static str,
    empty: Empty,
    schema: fn() -> Value,
}

/// The type of a value, by which it is written if it is empty.
enum Empty {
    Map,
    List,
    Text,
}

impl PodField {
    /// The part of the template that replaces the field.
    pub fn replacement(&self) -> Replacement {
        match self.empty {
            Empty::Map | Empty::List => Replacement::Optional(self.name),
            Empty::Text => Replacement::OptionalText(self.name),
        }
    }
}

/// The fields of the pod that are values, in their order.
pub const POD: &[PodField] = &[
    PodField {
        name: "nodeSelector",
        comment: "Labels that nodes must have.",
        empty: Empty::Map,
        schema: texts,
    },
    PodField {
        name: "tolerations",
        comment: "Taints of nodes that the pods tolerate.",
        empty: Empty::List,
        schema: || {
            let toleration = json!({
                "key": {"type": "string"},
                "operator": {"enum": ["Exists", "Equal"]},
                "value": {"type": "string"},
                "effect": {"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
                "tolerationSeconds": {"type": "integer"},
            });
            json!({"type": "array", "items": closed(&[], toleration)})
        },
    },
    PodField {
        name: "affinity",
        comment: "The affinity of the pods.",
        empty: Empty::Map,
        schema: || {
            let any = json!({"type": "object"});
            closed(
                &[],
                json!({"nodeAffinity": any, "podAffinity": any, "podAntiAffinity": any}),
            )
        },
    },
    PodField {
        name: "topologySpreadConstraints",
        comment: "How the pods are spread, with a labelSelector each.",
        empty: Empty::List,
        schema: || objects(&["maxSkew", "topologyKey", "whenUnsatisfiable"]),
    },
    PodField {
        name: "priorityClassName",
        comment: "The name of a PriorityClass.",
        empty: Empty::Text,
        schema: || json!({"type": "string"}),
    },
    PodField {
        name: "imagePullSecrets",
        comment: "Secrets with the credentials of the registry: [{name: registry}].",
        empty: Empty::List,
        schema: || objects(&["name"]),
    },
];

/// The schema of a map without other properties.
fn closed(required: &[&str], properties: Value) -> Value {
    let mut schema = json!({"type": "object", "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["properties"] = properties;
    schema
}

/// The schema of a list of objects.
fn objects(required: &[&str]) -> Value {
    json!({"type": "array", "items": {"type": "object", "required": required}})
}

/// The schema of a map of texts.
fn texts() -> Value {
    json!({"type": "object", "additionalProperties": {"type": "string"}})
}

/// All values of the chart, in the order of `values.yaml`.
fn entries(operator: &Operator<'_>, image: &str, has_crds: bool) -> Vec<Entry> {
    let settings = &operator.config.deployment;
    let deployment = manifests(operator)
        .objects
        .into_iter()
        .find(|object| object.role == Role::Deployment)
        .map(|object| object.value)
        .unwrap_or_default();
    let pod = &deployment["spec"]["template"]["spec"];
    let mut entries = vec![
        Entry {
            comment: "The image of the operator. The tag is the appVersion of the chart by default; a digest has precedence over it. Without a\n\
                      pullPolicy, Kubernetes chooses it by the tag.",
            name: "image",
            value: {
                let Image {
                    repository, digest, ..
                } = Image::of(image);
                json!({"repository": repository, "tag": "", "digest": digest, "pullPolicy": ""})
            },
            schema: closed(
                &["repository"],
                json!({
                    "repository": {"type": "string", "minLength": 1},
                    "tag": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{0,128}$"},
                    "digest": {"type": "string", "pattern": "^([a-z0-9]+:[a-f0-9]{32,})?$"},
                    "pullPolicy": {"enum": ["", "Always", "IfNotPresent", "Never"]},
                }),
            ),
        },
        Entry {
            comment: "The number of replicas: one works, and the others wait for its lease.",
            name: "replicaCount",
            value: settings.replicas().into(),
            schema: json!({"type": "integer", "minimum": 0}),
        },
        Entry {
            comment: "How many replicas the drain of a node may take away, if there are several: minAvailable or maxUnavailable. Null: no limit.",
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
                closed(&[], json!({"minAvailable": share, "maxUnavailable": share}))
            },
        },
    ];
    entries.extend(of_container(settings, &pod["containers"][0]));
    entries.extend(POD.iter().map(|field| Entry {
        comment: field.comment,
        name: field.name,
        value: value_or(
            &pod[field.name],
            match field.empty {
                Empty::Map => json!({}),
                Empty::List => json!([]),
                Empty::Text => "".into(),
            },
        ),
        schema: (field.schema)(),
    }));
    entries.extend(of_metadata(settings));
    entries.extend(of_choices(operator, has_crds));
    entries
}

/// A value, or another one if it is absent.
fn value_or(value: &Value, empty: Value) -> Value {
    match value {
        Value::Null => empty,
        value => value.clone(),
    }
}

fn of_container(settings: &DeploymentSettings, container: &Value) -> [Entry; 4] {
    [
        Entry {
            comment: "Arguments of the operator.",
            name: "args",
            value: value_or(&container["args"], json!([])),
            schema: json!({"type": "array", "items": {"type": "string"}}),
        },
        Entry {
            comment: "Variables of the operator, as in a container, each with a name of its own.",
            name: "env",
            value: json!(settings.env.in_container().collect::<Vec<_>>()),
            schema: objects(&["name"]),
        },
        Entry {
            comment: "Secrets and ConfigMaps of which all keys are variables, as in a container.",
            name: "envFrom",
            value: value_or(&container["envFrom"], json!([])),
            schema: objects(&[]),
        },
        Entry {
            comment: "Requests and limits of the operator.",
            name: "resources",
            value: value_or(&container["resources"], json!({})),
            schema: {
                let quantities = json!({
                    "type": "object",
                    "additionalProperties": {"type": ["string", "number"]},
                });
                let claims = json!({"type": "array"});
                closed(
                    &[],
                    json!({"requests": quantities, "limits": quantities, "claims": claims}),
                )
            },
        },
    ]
}

fn of_metadata(settings: &DeploymentSettings) -> [Entry; 3] {
    [
        Entry {
            comment: "Further labels of all objects and pods.",
            name: "labels",
            value: json!(settings.labels),
            // this label selects the pods
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
            schema: texts(),
        },
        Entry {
            comment: "Annotations of the service account, such as the role of a cloud provider.",
            name: "serviceAccount",
            value: json!({"annotations": settings.service_account_annotations}),
            schema: closed(&[], json!({"annotations": texts()})),
        },
    ]
}

/// The values that not every operator has.
fn of_choices(operator: &Operator<'_>, has_crds: bool) -> Vec<Entry> {
    let mut entries = vec![];
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
            value: json!({"enabled": false}),
            schema: closed(&["enabled"], json!({"enabled": {"type": "boolean"}})),
        });
    }
    if has_crds {
        entries.push(Entry {
            comment: "Whether the chart installs and upgrades the CRDs, and whether an uninstallation keeps them, with all objects.",
            name: "crds",
            value: json!({"enabled": true, "keep": true}),
            schema: closed(
                &["enabled", "keep"],
                json!({"enabled": {"type": "boolean"}, "keep": {"type": "boolean"}}),
            ),
        });
    }
    entries
}

fn budget(budget: Option<&DisruptionBudget>) -> Value {
    let default = DisruptionBudget {
        min_available: None,
        max_unavailable: Some(IntOrPercent::Pods(1)),
    };
    json!(budget.unwrap_or(&default))
}
