// Made by `cargo operator regenerate`. Do not edit: change the spec in crds/ and run it again.
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wanted.
#[derive(Clone, Debug, PartialEq, CustomResource, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "web.example.com",
    version = "v1",
    kind = "Site",
    plural = "sites",
    namespaced,
    doc = "A Site runs a web server with its configuration.",
    status = "SiteStatus",
    schema = "manual",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct SiteSpec {
    /// The name under which the site is served.
    #[schemars(length(min = 1))]
    pub host: String,

    /// The container image to run.
    #[schemars(length(min = 1))]
    pub image: String,

    /// How many pods run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), extend("default" = 1))]
    pub replicas: Option<i32>,

    /// The Secret with the certificate, which may come later than the site.
    #[schemars(length(min = 1))]
    pub secret_name: String,
}

impl SiteSpec {
    /// `replicas`, or the default of the schema: `1`.
    pub fn replicas(&self) -> i32 {
        self.replicas.unwrap_or(1)
    }
}

impl JsonSchema for Site {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Site".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = schemars::json_schema!({
            "description": "A Site runs a web server with its configuration.",
            "type": "object",
            "required": ["spec"],
            "properties": {
                "spec": generator.subschema_for::<SiteSpec>(),
                "status": generator.subschema_for::<SiteStatus>()
            }
        });
        as_defined(&mut schema);
        schema
    }
}

/// What is observed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SiteStatus {
    /// The generation of the spec that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// How it is doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "items" = site_status_conditions(),
        "x-kubernetes-list-map-keys" = ["type"],
        "x-kubernetes-list-type" = "map"
    ))]
    pub conditions: Option<Vec<Condition>>,
}

fn site_status_conditions() -> serde_json::Value {
    serde_json::json!({
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "observedGeneration": {"type": "integer", "format": "int64"},
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "reason": {"type": "string", "minLength": 1},
            "message": {"type": "string"}
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
