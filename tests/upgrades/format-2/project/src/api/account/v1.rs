// Made by `cargo operator regenerate`. Do not edit: change the spec in crds/ and run it again.
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, CustomResource, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "messaging.example.com",
    version = "v1",
    kind = "Account",
    plural = "accounts",
    namespaced,
    status = "AccountStatus",
    schema = "manual",
    derive = "PartialEq"
)]
pub struct AccountSpec {
    /// The Queue that the account belongs to.
    pub queue: String,

    #[schemars(length(min = 1), extend("x-kubernetes-list-type" = "set"))]
    pub permissions: Vec<AccountSpecPermissions>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<AccountSpecPassword>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("description" = null))]
    pub quota: Option<IntOrString>,
}

impl JsonSchema for Account {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Account".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = schemars::json_schema!({
            "type": "object",
            "required": ["spec"],
            "properties": {
                "spec": generator.subschema_for::<AccountSpec>(),
                "status": generator.subschema_for::<AccountStatus>()
            }
        });
        as_defined(&mut schema);
        schema
    }
}

#[derive(Clone, Debug, Eq, PartialEq, Deserialize, JsonSchema, Serialize)]
#[schemars(transform = closed)]
pub enum AccountSpecPermissions {
    Read,
    Write,
    Manage,
    /// A value that this version of the schema does not name.
    #[serde(untagged)]
    #[schemars(skip)]
    Unrecognized(String),
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
pub struct AccountSpecPassword {
    pub name: String,

    pub key: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_version: Option<String>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "items" = account_status_conditions(),
        "x-kubernetes-list-map-keys" = ["type"],
        "x-kubernetes-list-type" = "map"
    ))]
    pub conditions: Option<Vec<Condition>>,
}

fn account_status_conditions() -> serde_json::Value {
    serde_json::json!({
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "observedGeneration": {"type": "integer", "format": "int64"},
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "reason": {"type": "string"},
            "message": {"type": "string"}
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
