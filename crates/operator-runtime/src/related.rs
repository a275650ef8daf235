//! Children and other related objects as a watch reports them: by their metadata, or whole.
//!
//! In: an object of the API server. Out: its metadata, the objects to reconcile because of it, and the text that a cache keeps of it.

use std::{borrow::Cow, fmt, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{
    Resource,
    core::{ApiResource, DynamicResourceScope, ObjectMeta},
    runtime::reflector::ObjectRef,
};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::kind::Scope;

/// An object of a kind that a controller watches and does not own, as it changed or went.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The group of its kind, empty for the core group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Name, namespace, labels, annotations and owners of the object; the rest is not read.
    pub metadata: ObjectMeta,
}

/// An object that changed: its metadata, less what no one needs.
#[derive(Clone, Debug)]
pub(crate) struct Related {
    pub metadata: ObjectMeta,
    /// The object as [`compact`] JSON, if it was watched whole and has a controller.
    pub body: Option<Arc<[u8]>>,
}

/// An object as a watch reports it: whole, or as `PartialObjectMetadata`. The body of one without a controller is skipped as it
/// is read.
#[derive(Clone, Debug)]
pub(crate) struct Watched<const WHOLE: bool> {
    metadata: ObjectMeta,
    object: Option<Map<String, Value>>,
}

/// Without `managedFields`, which are most of the metadata.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    labels: Option<std::collections::BTreeMap<String, String>>,
    annotations: Option<std::collections::BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

impl From<WireMeta> for ObjectMeta {
    fn from(metadata: WireMeta) -> Self {
        Self {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            labels: metadata.labels,
            annotations: metadata.annotations,
            owner_references: metadata.owner_references,
            ..Self::default()
        }
    }
}

impl<const WHOLE: bool> Watched<WHOLE> {
    /// The object as controllers hear of it; its body has the fields that `manager` has applied.
    pub fn into_related(self, resource: &ApiResource, manager: &str) -> Related {
        let body = self.object.map(|mut object| {
            // The items of a list do not have them.
            object.insert("apiVersion".into(), resource.api_version.clone().into());
            object.insert("kind".into(), resource.kind.clone().into());
            compact(Value::Object(object), manager)
        });
        Related {
            metadata: self.metadata,
            body,
        }
    }
}

impl<'de, const WHOLE: bool> Deserialize<'de> for Watched<WHOLE> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields::<WHOLE>)
    }
}

struct Fields<const WHOLE: bool>;

impl<'de, const WHOLE: bool> Visitor<'de> for Fields<WHOLE> {
    type Value = Watched<WHOLE>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut metadata = None;
        let mut object = WHOLE.then(Map::new);
        while let Some(name) = fields.next_key::<String>()? {
            let is_metadata = name == "metadata";
            if let Some(mut read) = object.take() {
                let value = read.entry(name).or_insert(fields.next_value()?);
                if is_metadata {
                    metadata = Some(WireMeta::deserialize(&*value).map_err(A::Error::custom)?);
                }
                object = (!is_metadata || has_controller(&read)).then_some(read);
            } else if is_metadata {
                metadata = Some(fields.next_value()?);
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        let metadata = metadata.ok_or_else(|| A::Error::missing_field("metadata"))?;
        Ok(Watched {
            metadata: metadata.into(),
            object,
        })
    }
}

fn has_controller(object: &Map<String, Value>) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| owners.iter().any(|owner| owner["controller"] == true))
}

/// The metadata of an object, less what no one needs.
pub(crate) fn metadata(object: &Value) -> Option<ObjectMeta> {
    let metadata = WireMeta::deserialize(&object["metadata"]);
    metadata.map(ObjectMeta::from).ok()
}

/// The JSON of an object with what `manager` has applied of it, and without the managed fields of others.
pub(crate) fn compact(mut object: Value, manager: &str) -> Arc<[u8]> {
    if let Some(entries) = object["metadata"]["managedFields"].as_array_mut() {
        entries.retain(|entry| is_applied_by(entry, manager));
    }
    object.to_string().into_bytes().into()
}

/// Whether an entry of `managedFields` is of the applies of `manager` to the main resource.
pub(crate) fn is_applied_by(entry: &Value, manager: &str) -> bool {
    entry["manager"] == manager
        && entry["operation"] == "Apply"
        && entry["subresource"].as_str().unwrap_or_default().is_empty()
}

impl<const WHOLE: bool> Resource for Watched<WHOLE> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.kind)
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.group)
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.version)
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.plural)
    }

    fn metadata_api() -> bool {
        !WHOLE
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// The object of kind `K` that controls `child`, in whichever version the reference names it.
pub(crate) fn controller_of<K>(child: &ObjectMeta) -> Option<ObjectRef<K>>
where
    K: Resource<DynamicType = (), Scope: 'static>,
{
    let owners = child.owner_references.as_deref().unwrap_or_default();
    let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
    let group = owner
        .api_version
        .rsplit_once('/')
        .map_or("", |(group, _)| group);
    if owner.kind != K::kind(&()) || group != K::group(&()) {
        return None;
    }
    let key = ObjectRef::new(&owner.name);
    match (Scope::of::<K>(), &child.namespace) {
        (Scope::Cluster, _) => Some(key),
        (Scope::Namespaced, Some(namespace)) => Some(key.within(namespace)),
        (Scope::Namespaced, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace},
    };
    use serde_json::json;

    fn child(api_version: &str, kind: &str, controller: bool) -> ObjectMeta {
        serde_json::from_value(json!({
            "name": "child", "namespace": "ns",
            "ownerReferences": [
                { "apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "0" },
                { "apiVersion": api_version, "kind": kind, "name": "owner", "uid": "1", "controller": controller },
            ],
        }))
        .unwrap()
    }

    #[test]
    fn a_child_wakes_its_controller_in_any_version() {
        let woken = controller_of::<Deployment>(&child("apps/v1beta1", "Deployment", true));
        assert_eq!(woken, Some(ObjectRef::new("owner").within("ns")));
        assert_eq!(
            controller_of::<Deployment>(&child("extensions/v1", "Deployment", true)),
            None
        );
        assert_eq!(
            controller_of::<Deployment>(&child("apps/v1", "Deployment", false)),
            None
        );
    }

    #[test]
    fn an_owner_of_cluster_scope_has_no_namespace() {
        let woken = controller_of::<Namespace>(&child("v1", "Namespace", true));
        assert_eq!(woken, Some(ObjectRef::new("owner")));
    }

    #[test]
    fn managed_fields_are_not_read() {
        let related: Watched<false> = serde_json::from_value(json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": { "name": "a", "resourceVersion": "3", "managedFields": "never looked at" },
        }))
        .unwrap();
        assert_eq!(related.metadata.resource_version.as_deref(), Some("3"));
        assert_eq!(controller_of::<ConfigMap>(&related.metadata), None);
    }

    #[test]
    fn a_body_has_what_the_manager_applied_and_a_foreign_one_is_not_read() {
        let object = |controller: bool| {
            let body = json!({
                "spec": { "early": true },
                "metadata": {
                    "name": "a", "ownerReferences": [
                        { "apiVersion": "v1", "kind": "K", "name": "o", "uid": "1", "controller": controller },
                    ],
                    "managedFields": [
                        { "manager": "us", "operation": "Apply", "fieldsV1": { "f:spec": {} } },
                        { "manager": "us", "operation": "Update" },
                        { "manager": "other", "operation": "Apply" },
                    ],
                },
                "status": { "late": true },
            });
            let watched: Watched<true> = serde_json::from_value(body).unwrap();
            let resource = ApiResource::erase::<ConfigMap>(&());
            watched.into_related(&resource, "us")
        };
        let body: Value = serde_json::from_slice(&object(true).body.unwrap()).unwrap();
        assert_eq!(body["metadata"]["managedFields"].as_array().unwrap().len(), 1);
        assert_eq!(body["kind"], "ConfigMap");
        assert_eq!((&body["spec"]["early"], &body["status"]["late"]), (&json!(true), &json!(true)));
        let foreign = object(false);
        assert_eq!(foreign.body, None);
        assert_eq!(foreign.metadata.owner_references.unwrap().len(), 1);
    }
}
