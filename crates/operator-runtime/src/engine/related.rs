//! Children and other related objects of a watch: as metadata, or whole.
//!
//! In: an object of the API server. Out: its metadata, the objects to reconcile because of it, and the JSON for the cache. The content of
//! an object is not parsed here, so that an object that is nested too deeply for a parser does not fail its list.

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

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
use serde_json::{Value, value::RawValue};

use crate::engine::kind::{GroupKind, Scope};

/// An object of a watched kind that was created, changed or deleted.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The group of its kind; empty for the core group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// The metadata of the object: its name, namespace, uid, version, labels, annotations and owner references. Other fields may be
    /// missing.
    pub metadata: ObjectMeta,
}

/// An object with the part of its metadata that is used.
#[derive(Clone, Debug)]
pub(crate) struct Related {
    pub metadata: ObjectMeta,
    /// The object as [`compact`] JSON, if it was watched whole and a kind of ours controls it.
    pub body: Option<Arc<[u8]>>,
}

/// An object of a watch: whole, or as `PartialObjectMetadata`. The fields of an object without a controller are skipped while it is read.
#[derive(Clone, Debug)]
pub(crate) struct Watched<const WHOLE: bool> {
    metadata: ObjectMeta,
    fields: Option<Fields>,
}

/// The fields of an object, as unparsed JSON.
type Fields = BTreeMap<String, Box<RawValue>>;

/// Without `managedFields`, which are most of the metadata.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
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

/// The owner of children whose content a controller needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChildOwner {
    pub kind: GroupKind,
    /// The field manager of the controller.
    pub manager: String,
}

impl<const WHOLE: bool> Watched<WHOLE> {
    /// Converts the object for the controllers. If one of `owners` controls it, it has a body, with the `managedFields` of its managers.
    pub fn into_related(self, resource: &ApiResource, owners: &[ChildOwner]) -> Related {
        let metadata = self.metadata;
        let owner = controller(&metadata).map(GroupKind::of_reference);
        let owners = owners.iter().filter(|it| owner.as_ref() == Some(&it.kind));
        let managers: Vec<&str> = owners.map(|it| &*it.manager).collect();
        let fields = self.fields.filter(|_| !managers.is_empty());
        Related {
            body: fields.and_then(|fields| body(fields, resource, &managers).ok()),
            metadata,
        }
    }
}

/// The same as [`compact`], from the unparsed fields of an object.
fn body(
    mut fields: Fields,
    resource: &ApiResource,
    managers: &[&str],
) -> serde_json::Result<Arc<[u8]>> {
    if let Some(metadata) = fields.get_mut("metadata") {
        let mut parsed = serde_json::from_str(metadata.get())?;
        drop_other_managers(&mut parsed, managers);
        *metadata = serde_json::value::to_raw_value(&parsed)?;
    }
    // the items of a list have neither
    for (name, value) in [
        ("apiVersion", &resource.api_version),
        ("kind", &resource.kind),
    ] {
        fields.insert(name.into(), serde_json::value::to_raw_value(value)?);
    }
    serde_json::to_vec(&fields).map(Arc::from)
}

impl<'de, const WHOLE: bool> Deserialize<'de> for Watched<WHOLE> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor::<WHOLE>)
    }
}

struct ObjectVisitor<const WHOLE: bool>;

impl<'de, const WHOLE: bool> Visitor<'de> for ObjectVisitor<WHOLE> {
    type Value = Watched<WHOLE>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut metadata: Option<ObjectMeta> = None;
        let mut fields = WHOLE.then(Fields::new);
        while let Some(name) = object.next_key::<String>()? {
            match &mut fields {
                Some(fields) => {
                    let value: Box<RawValue> = object.next_value()?;
                    if name == "metadata" {
                        let read = serde_json::from_str::<WireMeta>(value.get());
                        metadata = Some(read.map_err(A::Error::custom)?.into());
                    }
                    fields.insert(name, value);
                }
                None if name == "metadata" => {
                    metadata = Some(object.next_value::<WireMeta>()?.into());
                }
                None => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
            fields = fields.filter(|_| metadata.as_ref().is_none_or(|m| controller(m).is_some()));
        }
        let metadata = metadata.ok_or_else(|| A::Error::missing_field("metadata"))?;
        Ok(Watched { metadata, fields })
    }
}

/// The part of an object's metadata that is used.
pub(crate) fn metadata(object: &Value) -> Option<ObjectMeta> {
    let metadata = WireMeta::deserialize(&object["metadata"]);
    metadata.map(ObjectMeta::from).ok()
}

/// The JSON of an object, with the `managedFields` of `manager` only.
pub(crate) fn compact(object: &Value, manager: &str) -> Arc<[u8]> {
    let mut object = object.clone();
    drop_other_managers(&mut object["metadata"], &[manager]);
    object.to_string().into_bytes().into()
}

fn drop_other_managers(metadata: &mut Value, managers: &[&str]) {
    if let Some(entries) = metadata["managedFields"].as_array_mut() {
        entries.retain(|entry| managers.iter().any(|manager| is_written_by(entry, manager)));
    }
}

/// Whether an entry of `managedFields` records applies of `manager` to the object itself, not to a subresource.
pub(crate) fn is_applied_by(entry: &Value, manager: &str) -> bool {
    is_written_by(entry, manager) && entry["operation"] == "Apply"
}

/// Whether an entry of `managedFields` records writes of `manager` to the object itself, not to a subresource.
pub(crate) fn is_written_by(entry: &Value, manager: &str) -> bool {
    entry["manager"] == manager && entry["subresource"].as_str().unwrap_or_default().is_empty()
}

/// The reference to the object's controller.
pub(crate) fn controller(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    let mut owners = metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true))
}

/// Formats the referenced object, for example `ReplicaSet.apps web-5d4`.
pub(crate) fn holder(controller: &OwnerReference) -> String {
    format!(
        "{} {}",
        GroupKind::of_reference(controller),
        controller.name
    )
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
    let owner = controller(child)?;
    if GroupKind::of_reference(owner) != GroupKind::of::<K>() {
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
    fn a_child_triggers_its_controller_in_any_version() {
        let triggered = controller_of::<Deployment>(&child("apps/v1beta1", "Deployment", true));
        assert_eq!(triggered, Some(ObjectRef::new("owner").within("ns")));
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
        let triggered = controller_of::<Namespace>(&child("v1", "Namespace", true));
        assert_eq!(triggered, Some(ObjectRef::new("owner")));
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
    fn a_body_keeps_the_managers_own_fields_and_foreign_objects_have_no_body() {
        let object = |controller: bool, owner: &str| {
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
            let kind = GroupKind {
                group: String::new(),
                kind: owner.into(),
            };
            let manager = "us".to_owned();
            watched.into_related(&resource, &[ChildOwner { kind, manager }])
        };
        let body: Value = serde_json::from_slice(&object(true, "K").body.unwrap()).unwrap();
        assert_eq!(
            body["metadata"]["managedFields"].as_array().unwrap().len(),
            2,
            "our applies and our updates"
        );
        assert_eq!(body["kind"], "ConfigMap");
        assert_eq!(
            (&body["spec"]["early"], &body["status"]["late"]),
            (&json!(true), &json!(true))
        );
        for foreign in [object(false, "K"), object(true, "Other")] {
            assert_eq!(foreign.body, None);
            assert_eq!(foreign.metadata.owner_references.unwrap().len(), 1);
        }
    }

    #[test]
    fn a_deeply_nested_object_does_not_fail_its_list() {
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        let list = format!(
            r#"[{{ "metadata": {{ "name": "deep", "managedFields": {deep} }}, "spec": {deep} }}, {{ "metadata": {{ "name": "a" }} }}]"#
        );
        let list: Vec<Watched<true>> = serde_json::from_str(&list).unwrap();
        assert_eq!(list[1].metadata.name.as_deref(), Some("a"));
    }
}
