//! Prepares a child for a write, and decides whether a write is allowed and necessary.

use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::{ByteString, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::Resource;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Context, Owned, drop_nulls, ownership, record};
use crate::{
    Result,
    engine::{
        kind::{Kind, Scope},
        related::holder,
    },
    error::Error,
    setup::UpdateStrategy,
};

/// What to do with an object that has no controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uncontrolled {
    Refuse,
    Adopt,
}

/// A child that the user's code desires, without its Rust type.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub kind: Kind,
    pub uncontrolled: Uncontrolled,
    pub body: Value,
}

impl Wanted {
    pub fn of<K>(child: &K, uncontrolled: Uncontrolled) -> Result<Self>
    where
        K: Resource<DynamicType = (), Scope: 'static> + Serialize,
    {
        Ok(Self {
            kind: Kind::of::<K>(),
            uncontrolled,
            body: serde_json::to_value(child)?,
        })
    }

    pub fn name(&self) -> &str {
        self.body["metadata"]["name"].as_str().unwrap_or_default()
    }
}

/// The namespace and the name of a child.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChildKey {
    pub namespace: Option<String>,
    pub name: String,
}

/// A child that may be written.
pub(crate) struct Child<'a> {
    pub owned: &'a Owned,
    /// The resource type, in the version in which the child is written.
    pub kind: Kind,
    pub key: ChildKey,
    /// The desired object, with its kind, namespace and owner, without its status and read-only metadata.
    pub desired: Value,
    /// The hash in the annotation, if the user's code returned a child that it has observed.
    pub recorded: Option<String>,
    pub uncontrolled: Uncontrolled,
}

impl Context {
    /// The owned kind; an error if the controller does not declare that it owns this kind.
    pub(super) fn declared(&self, kind: &Kind) -> Result<&Owned> {
        let owns = &self.controller.owns;
        if let Some(owned) = owns.iter().find(|owned| owned.kind.is_same(kind)) {
            return Ok(owned);
        }
        Err(Error::undeclared(kind, self.kind(), "owns"))
    }

    pub(super) fn child_key(&self, child: &Wanted) -> ChildKey {
        let namespace = match child.kind.scope {
            Scope::Cluster => None,
            Scope::Namespaced => {
                let namespace = child.body["metadata"]["namespace"].as_str();
                let namespace = namespace.or(self.owner.namespace.as_deref());
                Some(namespace.unwrap_or(self.namespace()).to_owned())
            }
        };
        ChildKey {
            namespace,
            name: child.name().to_owned(),
        }
    }

    /// Checks that the reconciled object may have this child.
    pub(crate) fn child(&self, child: Wanted) -> Result<Child<'_>> {
        let owned = self.declared(&child.kind)?;
        let key = self.child_key(&child);
        if child.kind.scope == Scope::Cluster && self.owner.namespace.is_some()
            || self.owner.namespace.is_some() && key.namespace != self.owner.namespace
        {
            return Err(Error::Unownable {
                kind: owned.kind.to_string(),
                name: key.name,
                owner: format!("{} {}", self.kind(), self.owner.name),
            });
        }
        let mut desired = self.desired(&child, &key)?;
        let recorded = desired["metadata"]["annotations"]
            .as_object_mut()
            .and_then(|it| it.remove(&record::annotation(self.operator())));
        if owned.update != UpdateStrategy::Apply {
            encode_string_data(&child.kind, &mut desired)?;
        }
        Ok(Child {
            owned,
            kind: child.kind,
            key,
            desired,
            recorded: recorded.and_then(|hash| hash.as_str().map(str::to_owned)),
            uncontrolled: match owned.update {
                UpdateStrategy::Apply | UpdateStrategy::Replace => child.uncontrolled,
                // an existing object is not written, and so cannot be taken over
                _ => Uncontrolled::Refuse,
            },
        })
    }

    /// Checks that a child has a name, and that a watch would report it.
    pub(crate) fn check_place(&self, child: &Child<'_>) -> Result<()> {
        let ChildKey { namespace, name } = &child.key;
        let kind = child.kind.to_string();
        match namespace {
            _ if name.is_empty() => Err(Error::Unnamed { kind }),
            Some(namespace) if !child.owned.children.watches(Some(namespace)) => {
                Err(Error::Unwatched {
                    kind,
                    name: name.clone(),
                    namespace: namespace.clone(),
                })
            }
            _ => Ok(()),
        }
    }

    fn desired(&self, child: &Wanted, key: &ChildKey) -> Result<Value> {
        let Wanted { kind, body, .. } = child;
        let mut desired = body.clone();
        drop_nulls(&mut desired);
        desired["apiVersion"] = kind.resource.api_version.as_str().into();
        desired["kind"] = kind.resource.kind.as_str().into();
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
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
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
        let controller = live["metadata"]["ownerReferences"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|owner| owner["controller"] == true)
            .map(OwnerReference::deserialize)
            .transpose()?;
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
        let owner = format!("{} {}", self.kind(), self.owner.name);
        let help = match &holder {
            None => {
                "give the child another name, or take the object over with `cx.adopt`, or `Desired::adopt` in a declarative controller (update strategies `apply` and `replace`)"
            }
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
    /// another manager moves the ownership to that one.
    pub(super) fn is_applied(&self, child: &Child<'_>, live: &Value) -> bool {
        let Child {
            owned: owned_kind,
            key,
            desired,
            ..
        } = child;
        let Some(owned) = ownership::owned(live, self.field_manager()) else {
            return false;
        };
        if ownership::is_same(desired, owned, live) {
            return true;
        }
        let uid = live["metadata"]["uid"].as_str().unwrap_or_default();
        let namespace = key.namespace.as_deref();
        let applied = owned_kind.children.applied(namespace, &key.name, uid);
        applied == Some((hash(desired), hash(owned)))
    }

    /// Remembers the hashes of a child if the API server has stored it in another form, such as `1` for `1000m`.
    pub(super) fn remember(&self, child: &Child<'_>, live: &Value) {
        let Child {
            owned: owned_kind,
            key,
            desired,
            ..
        } = child;
        let owned = ownership::owned(live, self.field_manager());
        let uid = live["metadata"]["uid"].as_str();
        if let (Some(owned), Some(uid)) = (owned, uid)
            && !ownership::is_same(desired, owned, live)
        {
            let applied = (hash(desired), hash(owned));
            let namespace = key.namespace.as_deref();
            owned_kind
                .children
                .remember(namespace, &key.name, uid, applied);
        }
    }
}

/// Moves the `stringData` of a Secret to `data`, as the API server does, which never returns `stringData`.
fn encode_string_data(kind: &Kind, desired: &mut Value) -> Result<()> {
    let is_secret = kind.resource.group.is_empty() && kind.resource.kind == "Secret";
    let texts = desired
        .as_object_mut()
        .filter(|_| is_secret)
        .and_then(|secret| secret.remove("stringData"));
    for (name, text) in texts.iter().filter_map(Value::as_object).flatten() {
        let bytes = ByteString(text.as_str().unwrap_or_default().as_bytes().to_vec());
        desired["data"][name] = serde_json::to_value(bytes)?;
    }
    Ok(())
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
}
