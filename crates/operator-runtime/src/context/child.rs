//! Prepares a child for an apply, and decides whether an apply is allowed and necessary.

use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Context, Owned, drop_nulls, ownership};
use crate::{
    Result,
    engine::{
        kind::{Kind, Scope},
        related::holder,
    },
    error::Error,
};

/// What to do with an object that has no controller.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Uncontrolled {
    Refuse,
    Adopt,
}

/// The namespace and the name of a child.
pub(super) struct ChildKey {
    pub namespace: Option<String>,
    pub name: String,
}

impl Context {
    pub(super) fn declared<K: Resource<DynamicType = ()>>(&self) -> Result<&Owned> {
        let owns = &self.controller.owns;
        if let Some(owned) = owns.iter().find(|owned| owned.kind.is::<K>()) {
            return Ok(owned);
        }
        let kind = format!("{}/{}", K::api_version(&()), K::kind(&()));
        let kinds = owns
            .iter()
            .map(|owned| owned.kind.to_string())
            .chain([kind.clone()]);
        let owns = kinds
            .map(|kind| format!("{kind:?}"))
            .collect::<Vec<_>>()
            .join(", ");
        Err(Error::Undeclared {
            kind,
            owner: self.controller.kind.to_string(),
            owns,
        })
    }

    pub(super) fn child_key<K: Resource<DynamicType = (), Scope: 'static>>(
        &self,
        child: &K,
    ) -> ChildKey {
        let meta = child.meta();
        let namespace = match Scope::of::<K>() {
            Scope::Cluster => None,
            Scope::Namespaced => meta
                .namespace
                .clone()
                .or_else(|| self.owner.namespace.clone())
                .or_else(|| Some(self.namespace().to_owned())),
        };
        ChildKey {
            namespace,
            name: meta.name.clone().unwrap_or_default(),
        }
    }

    /// The child as an apply sends it: with its kind, namespace and owner, without its status and read-only metadata.
    pub(super) fn desired<K>(&self, child: &K, key: &ChildKey) -> Result<Value>
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let mut desired = serde_json::to_value(child)?;
        drop_nulls(&mut desired);
        desired["apiVersion"] = K::api_version(&()).into();
        desired["kind"] = K::kind(&()).into();
        if let Some(object) = desired.as_object_mut() {
            object.remove("status");
        }
        let metadata = &mut desired["metadata"];
        if let Some(metadata) = metadata.as_object_mut() {
            for read_only in [
                "managedFields",
                "resourceVersion",
                "uid",
                "generation",
                "creationTimestamp",
            ] {
                metadata.remove(read_only);
            }
        }
        if let Some(namespace) = &key.namespace {
            metadata["namespace"] = json!(namespace);
        }
        if let Some(owner) = &self.owner.reference {
            let owners = metadata["ownerReferences"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            if !owners
                .iter()
                .any(|reference| reference["uid"] == *owner.uid)
            {
                let owners: Vec<_> = owners
                    .into_iter()
                    .chain([serde_json::to_value(owner)?])
                    .collect();
                metadata["ownerReferences"] = Value::Array(owners);
            }
        }
        Ok(desired)
    }

    /// Fails if the reconciled object does not control `live`.
    pub(super) fn check_control(
        &self,
        kind: &Kind,
        name: &str,
        live: &Value,
        uncontrolled: Uncontrolled,
    ) -> Result<()> {
        let mut owners = live["metadata"]["ownerReferences"]
            .as_array()
            .into_iter()
            .flatten();
        let controller = owners.find(|owner| owner["controller"] == true);
        let controller = controller.map(OwnerReference::deserialize).transpose()?;
        let ours = self.owner.reference.as_ref().map(|owner| &owner.uid);
        match controller {
            Some(controller) if Some(&controller.uid) == ours => Ok(()),
            Some(controller) => Err(self.name_conflict(kind, name, Some(holder(&controller)))),
            None if uncontrolled == Uncontrolled::Adopt => Ok(()),
            None => Err(self.name_conflict(kind, name, None)),
        }
    }

    /// The error for an object that cannot become a child, because `holder` or nobody controls it.
    pub(super) fn name_conflict(&self, kind: &Kind, name: &str, holder: Option<String>) -> Error {
        let owner = format!("{} {}", self.controller.kind, self.owner.name);
        let help = match &holder {
            None => "give the child another name, or take the object over with `adopt`",
            Some(holder) if *holder == owner => {
                "that one was deleted and recreated; the garbage collector will delete its child"
            }
            Some(_) => "give the child another name, such as one that ends in its owner's kind",
        };
        Error::Taken {
            kind: kind.to_string(),
            name: name.to_owned(),
            holder,
            help,
        }
    }

    /// Whether applying `desired` would change nothing. The fields that we own are exactly those of our last apply, because a change by
    /// another manager takes the ownership.
    pub(super) fn is_applied(
        &self,
        owner: &Owned,
        key: &ChildKey,
        desired: &Value,
        live: &Value,
    ) -> bool {
        let Some(owned) = ownership::owned(live, self.operator()) else {
            return false;
        };
        if ownership::is_same(desired, owned, live) {
            return true;
        }
        let uid = live["metadata"]["uid"].as_str().unwrap_or_default();
        let namespace = key.namespace.as_deref();
        let applied = owner.children.applied(namespace, &key.name, uid);
        applied == Some((hash(desired), hash(owned)))
    }

    /// Remembers the hashes of a child that the API server stores in another form than it was sent, such as `1` for `1000m`.
    pub(super) fn remember(&self, owner: &Owned, key: &ChildKey, desired: &Value, live: &Value) {
        let owned = ownership::owned(live, self.operator());
        let uid = live["metadata"]["uid"].as_str();
        if let (Some(owned), Some(uid)) = (owned, uid)
            && !ownership::is_same(desired, owned, live)
        {
            let applied = (hash(desired), hash(owned));
            let namespace = key.namespace.as_deref();
            owner.children.remember(namespace, &key.name, uid, applied);
        }
    }
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
}
