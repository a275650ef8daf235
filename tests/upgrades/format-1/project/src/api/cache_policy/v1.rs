// Made by `cargo operator regenerate`. Do not edit: change the spec in crds/ and run it again.
use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A CachePolicy says how caches make room.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
pub struct CachePolicy {
    #[serde(default)]
    #[schemars(skip)]
    pub metadata: kube::core::ObjectMeta,

    /// What is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<CachePolicySpec>,

    /// What is observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<CachePolicyStatus>,
}

impl Serialize for CachePolicy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("apiVersion", "cache.example.com/v1")?;
        map.serialize_entry("kind", "CachePolicy")?;
        map.serialize_entry("metadata", &self.metadata)?;
        if let Some(spec) = &self.spec {
            map.serialize_entry("spec", spec)?;
        }
        if let Some(status) = &self.status {
            map.serialize_entry("status", status)?;
        }
        map.end()
    }
}

impl kube::Resource for CachePolicy {
    type DynamicType = ();
    type Scope = kube::core::ClusterResourceScope;

    fn kind(_: &()) -> std::borrow::Cow<'_, str> {
        "CachePolicy".into()
    }

    fn group(_: &()) -> std::borrow::Cow<'_, str> {
        "cache.example.com".into()
    }

    fn version(_: &()) -> std::borrow::Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> std::borrow::Cow<'_, str> {
        "cachepolicies".into()
    }

    fn meta(&self) -> &kube::core::ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
        &mut self.metadata
    }
}

impl kube::CustomResourceExt for CachePolicy {
    fn crd() -> CustomResourceDefinition {
        let generator = schemars::generate::SchemaSettings::draft2020_12()
            .with(|settings| {
                settings.inline_subschemas = true;
                settings.meta_schema = None;
            })
            .with_transform(as_defined)
            .into_generator();
        let schema = generator.into_root_schema_for::<Self>();
        let mut definition: serde_json::Value =
            serde_json::from_str(DEFINITION).expect("the text is JSON");
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema.to_value();
        serde_json::from_value(definition).expect("the schema is one of OpenAPI v3")
    }

    fn crd_name() -> &'static str {
        "cachepolicies.cache.example.com"
    }

    fn api_resource() -> kube::core::ApiResource {
        kube::core::ApiResource::erase::<Self>(&())
    }

    fn shortnames() -> &'static [&'static str] {
        &["cp"]
    }
}

const DEFINITION: &str = r#"{
  "apiVersion": "apiextensions.k8s.io/v1",
  "kind": "CustomResourceDefinition",
  "metadata": {
    "name": "cachepolicies.cache.example.com"
  },
  "spec": {
    "group": "cache.example.com",
    "names": {
      "kind": "CachePolicy",
      "listKind": "CachePolicyList",
      "plural": "cachepolicies",
      "singular": "cachepolicy",
      "shortNames": [
        "cp"
      ],
      "categories": [
        "caches"
      ]
    },
    "scope": "Cluster",
    "versions": [
      {
        "name": "v1",
        "served": true,
        "storage": true,
        "subresources": {
          "status": {}
        },
        "additionalPrinterColumns": [
          {
            "name": "Eviction",
            "type": "string",
            "jsonPath": ".spec.eviction"
          },
          {
            "name": "Ready",
            "type": "string",
            "description": "Whether the policy is in force.",
            "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"
          }
        ]
      }
    ]
  }
}"#;

impl kube::core::object::HasSpec for CachePolicy {
    type Spec = Option<CachePolicySpec>;

    fn spec(&self) -> &Self::Spec {
        &self.spec
    }

    fn spec_mut(&mut self) -> &mut Self::Spec {
        &mut self.spec
    }
}

impl kube::core::object::HasStatus for CachePolicy {
    type Status = CachePolicyStatus;

    fn status(&self) -> Option<&Self::Status> {
        self.status.as_ref()
    }

    fn status_mut(&mut self) -> &mut Option<Self::Status> {
        &mut self.status
    }
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CachePolicySpec {
    /// What goes first when the memory is full.
    pub eviction: CachePolicySpecEviction,

    /// How much memory a cache may use, in bytes or as a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_memory: Option<IntOrString>,

    /// The policy of single caches, by their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrides: Option<BTreeMap<String, CachePolicySpecOverrides>>,
}

/// What goes first when the memory is full.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, JsonSchema, Serialize)]
#[schemars(transform = closed)]
pub enum CachePolicySpecEviction {
    LeastRecentlyUsed,
    Off,
    /// A value that this version of the schema does not name.
    #[serde(untagged)]
    #[schemars(skip)]
    Unrecognized(String),
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CachePolicySpecOverrides {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("description" = null))]
    pub max_memory: Option<IntOrString>,
}

/// What is observed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CachePolicyStatus {
    /// The generation of the spec that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// How it is doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-map-keys" = ["type"], "x-kubernetes-list-type" = "map"))]
    pub conditions: Option<Vec<CachePolicyStatusConditions>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CachePolicyStatusConditions {
    pub type_: String,

    pub status: CachePolicyStatusConditionsStatus,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: Option<String>,
}

#[derive(Clone, Debug, Eq, PartialEq, Deserialize, JsonSchema, Serialize)]
#[schemars(transform = closed)]
pub enum CachePolicyStatusConditionsStatus {
    True,
    False,
    Unknown,
    /// A value that this version of the schema does not name.
    #[serde(untagged)]
    #[schemars(skip)]
    Unrecognized(String),
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
