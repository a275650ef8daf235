// Made by `cargo operator regenerate`. Do not edit: change the spec in crds/ and run it again.
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Widget {
    #[serde(default)]
    pub metadata: kube::core::ObjectMeta,

    pub spec: WidgetSpec,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<WidgetStatus>,
}

impl Serialize for Widget {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("apiVersion", "example.com/v1")?;
        map.serialize_entry("kind", "Widget")?;
        map.serialize_entry("metadata", &self.metadata)?;
        map.serialize_entry("spec", &self.spec)?;
        if let Some(status) = &self.status {
            map.serialize_entry("status", status)?;
        }
        map.end()
    }
}

impl kube::Resource for Widget {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind(_: &()) -> std::borrow::Cow<'_, str> {
        "Widget".into()
    }

    fn group(_: &()) -> std::borrow::Cow<'_, str> {
        "example.com".into()
    }

    fn version(_: &()) -> std::borrow::Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> std::borrow::Cow<'_, str> {
        "widgets".into()
    }

    fn meta(&self) -> &kube::core::ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
        &mut self.metadata
    }
}

impl kube::CustomResourceExt for Widget {
    fn crd() -> CustomResourceDefinition {
        serde_json::from_str(DEFINITION).expect("the text is a definition")
    }

    fn crd_name() -> &'static str {
        "widgets.example.com"
    }

    fn api_resource() -> kube::core::ApiResource {
        kube::core::ApiResource::erase::<Self>(&())
    }

    fn shortnames() -> &'static [&'static str] {
        &[]
    }
}

const DEFINITION: &str = r#"{
  "apiVersion": "apiextensions.k8s.io/v1",
  "kind": "CustomResourceDefinition",
  "metadata": {
    "name": "widgets.example.com"
  },
  "spec": {
    "group": "example.com",
    "names": {
      "kind": "Widget",
      "listKind": "WidgetList",
      "plural": "widgets",
      "singular": "widget"
    },
    "scope": "Namespaced",
    "versions": [
      {
        "name": "v1",
        "served": true,
        "storage": true,
        "subresources": {
          "status": {}
        },
        "schema": {
          "openAPIV3Schema": {
            "type": "object",
            "properties": {
              "spec": {
                "type": "object",
                "properties": {
                  "size": {
                    "description": "How big it is.",
                    "type": "integer",
                    "format": "int32",
                    "minimum": 1
                  },
                  "replicas": {
                    "description": "How many there are.",
                    "type": "integer",
                    "format": "int32"
                  }
                },
                "required": [
                  "size"
                ]
              },
              "status": {
                "type": "object",
                "properties": {
                  "observedGeneration": {
                    "type": "integer",
                    "format": "int64"
                  },
                  "conditions": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "properties": {
                        "type": {
                          "type": "string"
                        },
                        "status": {
                          "type": "string"
                        },
                        "message": {
                          "type": "string"
                        }
                      },
                      "required": [
                        "type",
                        "status"
                      ]
                    },
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": [
                      "type"
                    ]
                  }
                }
              }
            },
            "required": [
              "spec"
            ]
          }
        }
      }
    ]
  }
}"#;

impl kube::core::object::HasSpec for Widget {
    type Spec = WidgetSpec;

    fn spec(&self) -> &Self::Spec {
        &self.spec
    }

    fn spec_mut(&mut self) -> &mut Self::Spec {
        &mut self.spec
    }
}

impl kube::core::object::HasStatus for Widget {
    type Status = WidgetStatus;

    fn status(&self) -> Option<&Self::Status> {
        self.status.as_ref()
    }

    fn status_mut(&mut self) -> &mut Option<Self::Status> {
        &mut self.status
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct WidgetSpec {
    /// How big it is.
    pub size: i32,

    /// How many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<WidgetStatusConditions>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetStatusConditions {
    pub type_: String,

    pub status: String,

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
