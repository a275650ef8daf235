//! Children and other related objects, watched by their metadata alone: nothing of them is kept.
//!
//! In: the metadata of an object. Out: the objects to reconcile because of it.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{
    Resource,
    core::{ApiResource, DynamicResourceScope, ObjectMeta},
    runtime::reflector::ObjectRef,
};
use serde::Deserialize;

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

/// The metadata of an object, less what no one needs: fetched and decoded alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Wire")]
pub(crate) struct Related {
    pub metadata: ObjectMeta,
}

#[derive(Deserialize)]
struct Wire {
    metadata: WireMeta,
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

impl From<Wire> for Related {
    fn from(Wire { metadata }: Wire) -> Self {
        Self {
            metadata: ObjectMeta {
                name: metadata.name,
                namespace: metadata.namespace,
                uid: metadata.uid,
                resource_version: metadata.resource_version,
                labels: metadata.labels,
                annotations: metadata.annotations,
                owner_references: metadata.owner_references,
                ..ObjectMeta::default()
            },
        }
    }
}

impl Resource for Related {
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

    /// Asks for `PartialObjectMetadata`.
    fn metadata_api() -> bool {
        true
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
        let related: Related = serde_json::from_value(json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": { "name": "a", "resourceVersion": "3", "managedFields": "never looked at" },
        }))
        .unwrap();
        assert_eq!(related.metadata.resource_version.as_deref(), Some("3"));
        assert_eq!(controller_of::<ConfigMap>(&related.metadata), None);
    }
}
