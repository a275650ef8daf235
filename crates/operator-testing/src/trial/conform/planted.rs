//! What another controller writes into the status of an object: the operator must neither remove nor own it.

use std::pin::pin;

use futures::StreamExt;
use http::Request;
use kube::core::WatchEvent;
use serde_json::{Map, Value, json};

use super::scene::{Scene, version};

/// The manager of the other controller.
const OTHER: &str = "somebody-else";

/// Its condition.
const CONDITION: &str = "SomebodyElse";

/// A condition and a field of the status, as far as the schema has a place for them.
pub(super) struct Planted {
    /// The path of the object.
    path: String,
    object: Value,
    has_condition: bool,
    field: Option<(String, Value)>,
}

impl Planted {
    /// Writes them; `None` if the operator writes no status, or the server accepts neither.
    pub async fn new(scene: &Scene<'_>) -> Option<Self> {
        let object = scene.object().await?;
        let status = object["status"].as_object().filter(|it| !it.is_empty())?;
        let schema = status_schema(scene, &object).await?;
        let condition = condition(&schema, status);
        let field = unset_field(&schema, status);
        let path = scene
            .server
            .path_of(&mut Value::clone(&object))
            .await
            .ok()?;
        for (condition, field) in [
            (condition.as_ref(), field.as_ref()),
            (condition.as_ref(), None),
            (None, field.as_ref()),
        ] {
            if condition.is_none() && field.is_none() {
                continue;
            }
            let mut status = Map::new();
            if let Some(condition) = condition {
                status.insert("conditions".into(), json!([condition]));
            }
            if let Some((name, value)) = field {
                status.insert(name.clone(), value.clone());
            }
            if let Some(object) = apply(scene, &path, &object, Some(status)).await {
                return Some(Self {
                    path,
                    object,
                    has_condition: condition.is_some(),
                    field: field.cloned(),
                });
            }
        }
        None
    }

    /// Fails if the operator has removed or taken what was planted. A field to which it gave a value of its own belongs to it.
    pub async fn check(&self, scene: &Scene<'_>) -> Result<(), String> {
        let Some(object) = scene.object().await else {
            return Ok(());
        };
        if self.has_condition {
            let conditions = object["status"]["conditions"].as_array();
            let is_kept =
                conditions.is_some_and(|all| all.iter().any(|it| it["type"] == CONDITION));
            let key = format!(r#"k:{{"type":"{CONDITION}"}}"#);
            let what = format!("the condition {CONDITION}");
            check_kept(&object, is_kept, &["f:conditions", &key], &what)?;
        }
        if let Some((name, value)) = &self.field
            && !self.was_set(scene, name, value).await
        {
            let is_kept = object["status"][name] == *value;
            let what = format!("status.{name}");
            check_kept(&object, is_kept, &[&format!("f:{name}")], &what)?;
        }
        Ok(())
    }

    /// Removes them, as their owner.
    pub async fn withdraw(&self, scene: &Scene<'_>) {
        apply(scene, &self.path, &self.object, None).await;
    }

    /// Whether the operator has given the field a value of its own since then, if only for a time.
    async fn was_set(&self, scene: &Scene<'_>, name: &str, value: &Value) -> bool {
        let (collection, object) = self.path.rsplit_once('/').unwrap_or_default();
        let since = version(&self.object);
        let watch = format!(
            "{collection}?watch=true&timeoutSeconds=1&resourceVersion={since}&fieldSelector=metadata.name%3D{object}"
        );
        let request = Request::get(watch).body(vec![]).expect("a path");
        let client = scene.server.own_client();
        let Ok(events) = client.request_events::<Value>(request).await else {
            return true;
        };
        let mut events = pin!(events);
        while let Some(Ok(event)) = events.next().await {
            if let WatchEvent::Modified(object) = event {
                let is = &object["status"][name];
                if !is.is_null() && is != value {
                    return true;
                }
            }
        }
        false
    }
}

/// The schema of the status in the version of the object.
async fn status_schema(scene: &Scene<'_>, object: &Value) -> Option<Value> {
    let (group, version) = object["apiVersion"].as_str()?.split_once('/')?;
    let objects = scene.server.objects().await;
    let crd = objects.values().find(|it| {
        it["kind"] == "CustomResourceDefinition"
            && it["spec"]["group"] == group
            && it["spec"]["names"]["kind"] == object["kind"]
    })?;
    let versions = crd["spec"]["versions"].as_array()?;
    let version = versions.iter().find(|it| it["name"] == version)?;
    let schema = version.pointer("/schema/openAPIV3Schema/properties/status")?;
    Some(schema.clone())
}

/// Another condition beside those of the operator, if each condition has an owner of its own.
fn condition(schema: &Value, status: &Map<String, Value>) -> Option<Value> {
    let list = &schema["properties"]["conditions"];
    if list["x-kubernetes-list-map-keys"] != json!(["type"]) {
        return None;
    }
    let mut condition = status.get("conditions")?.get(0)?.clone();
    condition["type"] = CONDITION.into();
    Some(condition)
}

/// A field that the operator has not set, with a value.
fn unset_field(schema: &Value, status: &Map<String, Value>) -> Option<(String, Value)> {
    let properties = schema["properties"].as_object()?;
    properties.iter().find_map(|(name, schema)| {
        let value = match schema["type"].as_str()? {
            "string" => json!(OTHER),
            "boolean" => json!(true),
            "integer" => json!(1),
            _ => return None,
        };
        (!status.contains_key(name)).then(|| (name.clone(), value))
    })
}

/// Applies a status as [`OTHER`]. Returns the new object, if the server accepts it.
async fn apply(
    scene: &Scene<'_>,
    path: &str,
    object: &Value,
    status: Option<Map<String, Value>>,
) -> Option<Value> {
    let metadata = &object["metadata"];
    let mut body = json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
    });
    if let Some(status) = status {
        body["status"] = status.into();
    }
    let request = Request::patch(format!("{path}/status?fieldManager={OTHER}"))
        .header("content-type", "application/apply-patch+yaml")
        .body(body.to_string().into_bytes())
        .expect("a path");
    scene.server.own_client().request(request).await.ok()
}

/// Fails if a part of the status is not there, or has another owner than [`OTHER`].
fn check_kept(object: &Value, is_kept: bool, fields: &[&str], what: &str) -> Result<(), String> {
    let entries = object["metadata"]["managedFields"].as_array();
    let thief = entries.into_iter().flatten().find(|entry| {
        let mut owned = &entry["fieldsV1"]["f:status"];
        for field in fields {
            owned = &owned[field];
        }
        entry["manager"] != OTHER && !owned.is_null()
    });
    let done = match thief {
        _ if !is_kept => "is gone".to_owned(),
        None => return Ok(()),
        Some(entry) => format!("now belongs to {}", entry["manager"]),
    };
    Err(format!(
        "another controller wrote {what} into the status, and after a change of the spec it {done}\nhelp: `cx.update_status` leaves what others own; a request of your own applies only the fields that this operator sets"
    ))
}
