// Made by `cargo operator regenerate`. Do not edit: change the spec in crds/ and run it again.
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, CustomResource, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "messaging.example.com",
    version = "v1beta1",
    kind = "Queue",
    plural = "queues",
    namespaced,
    status = "QueueStatus",
    schema = "manual",
    derive = "PartialEq",
    shortname = "q",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn = r#"{"name":"Replicas","type":"integer","jsonPath":".spec.replicas"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
pub struct QueueSpec {
    /// What each broker of the queue runs.
    #[schemars(length(min = 1))]
    pub image: String,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 9), extend("default" = 2))]
    pub replicas: Option<i32>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<QueueSpecLimits>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Day"))]
    pub retention: Option<QueueSpecRetention>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 32),
        extend("x-kubernetes-list-map-keys" = ["name"], "x-kubernetes-list-type" = "map")
    )]
    pub topics: Option<Vec<QueueSpecTopics>>,
}

impl QueueSpec {
    /// `replicas`, or the default of the schema: `2`.
    pub fn replicas(&self) -> i32 {
        self.replicas.unwrap_or(2)
    }

    /// `retention`, or the default of the schema: `"Day"`.
    pub fn retention(&self) -> &QueueSpecRetention {
        self.retention.as_ref().unwrap_or(&QueueSpecRetention::Day)
    }
}

impl JsonSchema for Queue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Queue".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = schemars::json_schema!({
            "type": "object",
            "required": ["spec"],
            "properties": {
                "spec": generator.subschema_for::<QueueSpec>(),
                "status": generator.subschema_for::<QueueStatus>()
            }
        });
        as_defined(&mut schema);
        schema
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueSpecLimits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 65536))]
    pub message_bytes: Option<i64>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub connections: Option<i32>,
}

impl QueueSpecLimits {
    /// `message_bytes`, or the default of the schema: `65536`.
    pub fn message_bytes(&self) -> i64 {
        self.message_bytes.unwrap_or(65536)
    }
}

#[derive(Clone, Debug, Eq, PartialEq, Deserialize, JsonSchema, Serialize)]
#[schemars(transform = closed)]
pub enum QueueSpecRetention {
    None,
    Day,
    Week,
    Month,
    /// A value that this version of the schema does not name.
    #[serde(untagged)]
    #[schemars(skip)]
    Unrecognized(String),
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
pub struct QueueSpecTopics {
    #[schemars(length(max = 63))]
    pub name: String,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub partitions: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topics: Option<i32>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "items" = queue_status_conditions(),
        "x-kubernetes-list-map-keys" = ["type"],
        "x-kubernetes-list-type" = "map"
    ))]
    pub conditions: Option<Vec<Condition>>,
}

fn queue_status_conditions() -> serde_json::Value {
    serde_json::json!({
        "type": "object",
        "properties": {
            "type": {
                "type": "string",
                "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                "maxLength": 316
            },
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "reason": {
                "type": "string",
                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                "minLength": 1,
                "maxLength": 1024
            },
            "message": {"type": "string", "maxLength": 32768}
        },
        "required": ["type", "status", "lastTransitionTime", "reason", "message"]
    })
}

/// The schema of an enum names its values; the variant of others is not in it, and leaves a union of one.
fn closed(schema: &mut schemars::Schema) {
    if let Some(serde_json::Value::Array(mut union)) = schema.remove("anyOf")
        && let Some(serde_json::Value::Object(named)) = union.pop()
    {
        for (keyword, value) in named {
            if schema.get(&keyword).is_none() {
                schema.insert(keyword, value);
            }
        }
    }
}

/// Takes back what the derived schema says beyond the definition.
fn as_defined(schema: &mut schemars::Schema) {
    // an `Option` may be absent; that a value may be null says `nullable`
    if let Some(serde_json::Value::Array(types)) = schema.get_mut("type") {
        let type_ = types.swap_remove(0);
        schema.insert("type".into(), type_);
        if let Some(serde_json::Value::Array(values)) = schema.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
    }
    schemars::transform::transform_subschemas(&mut as_defined, schema);
}
