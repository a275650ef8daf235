// Made by `cargo operator regenerate`. Do not edit: change the spec in crds/ and run it again.
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wanted.
#[derive(Clone, Debug, PartialEq, CustomResource, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "web.example.com",
    version = "v1",
    kind = "Page",
    plural = "pages",
    namespaced,
    doc = "A Page is a text with a title.",
    status = "PageStatus",
    schema = "manual",
    derive = "PartialEq"
)]
pub struct PageSpec {
    /// What the page is called.
    #[schemars(length(min = 1))]
    pub title: String,
}

impl JsonSchema for Page {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Page".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = schemars::json_schema!({
            "description": "A Page is a text with a title.",
            "type": "object",
            "required": ["spec"],
            "properties": {
                "spec": generator.subschema_for::<PageSpec>(),
                "status": generator.subschema_for::<PageStatus>()
            }
        });
        as_defined(&mut schema);
        schema
    }
}

/// What is observed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageStatus {
    /// The generation of the spec that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The title that is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
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
