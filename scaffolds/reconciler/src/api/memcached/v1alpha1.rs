// Made by `cargo operator regenerate`. Do not edit: change the spec in crds/ and run it again.
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wanted.
#[derive(Clone, Debug, PartialEq, CustomResource, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "cache.example.com",
    version = "v1alpha1",
    kind = "Memcached",
    plural = "memcacheds",
    namespaced,
    doc = "A Memcached runs an image in a number of replicas.",
    status = "MemcachedStatus",
    schema = "manual",
    derive = "PartialEq",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn = r#"{"name":"Desired","type":"integer","jsonPath":".spec.replicas"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct MemcachedSpec {
    /// The container image to run.
    #[schemars(length(min = 1))]
    pub image: String,

    /// How many pods run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), extend("default" = 1))]
    pub replicas: Option<i32>,
}

impl MemcachedSpec {
    /// `replicas`, or the default of the schema: `1`.
    pub fn replicas(&self) -> i32 {
        self.replicas.unwrap_or(1)
    }
}

impl JsonSchema for Memcached {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Memcached".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = schemars::json_schema!({
            "description": "A Memcached runs an image in a number of replicas.",
            "type": "object",
            "required": ["spec"],
            "properties": {
                "spec": generator.subschema_for::<MemcachedSpec>(),
                "status": generator.subschema_for::<MemcachedStatus>()
            }
        });
        as_defined(&mut schema);
        schema
    }
}

/// What is observed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemcachedStatus {
    /// The generation of the spec that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// How many pods there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    /// The labels of the pods, as a selector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,

    /// How it is doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "items" = memcached_status_conditions(),
        "x-kubernetes-list-map-keys" = ["type"],
        "x-kubernetes-list-type" = "map"
    ))]
    pub conditions: Option<Vec<Condition>>,
}

fn memcached_status_conditions() -> serde_json::Value {
    serde_json::json!({
        "description": "One aspect of the state.",
        "type": "object",
        "properties": {
            "type": {
                "description": "The aspect, in CamelCase.",
                "type": "string",
                "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                "maxLength": 316
            },
            "status": {
                "description": "Whether it holds.",
                "type": "string",
                "enum": ["True", "False", "Unknown"]
            },
            "observedGeneration": {
                "description": "The generation of the spec that the condition is about.",
                "type": "integer",
                "format": "int64",
                "minimum": 0
            },
            "lastTransitionTime": {
                "description": "When its status changed last.",
                "type": "string",
                "format": "date-time"
            },
            "reason": {
                "description": "A word for why, in CamelCase.",
                "type": "string",
                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                "minLength": 1,
                "maxLength": 1024
            },
            "message": {
                "description": "The same for people.",
                "type": "string",
                "maxLength": 32768
            }
        },
        "required": ["type", "status", "lastTransitionTime", "reason", "message"]
    })
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
