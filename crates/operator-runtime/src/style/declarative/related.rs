//! The objects that a [`Declarative`](super::Declarative) reads besides the children of a parent.

use kube::Resource;

use crate::{
    context::ChildKey,
    engine::{
        Changed,
        kind::{Kind, Scope},
    },
};

/// An object that [`Declarative::related`](super::Declarative::related) names: its kind, its name and its namespace.
#[derive(Clone, Debug)]
pub struct RelatedObject {
    pub(super) kind: Kind,
    name: String,
    namespace: Option<String>,
}

impl RelatedObject {
    /// The object of this kind and name in the namespace of the parent.
    pub fn new<K>(name: impl Into<String>) -> Self
    where
        K: Resource<DynamicType = (), Scope: 'static>,
    {
        Self {
            kind: Kind::of::<K>(),
            name: name.into(),
            namespace: None,
        }
    }

    /// The object in this namespace.
    #[must_use]
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        Self {
            namespace: Some(namespace.into()),
            ..self
        }
    }

    /// Its place in the cluster. A parent without a namespace has objects without one only, except for those of
    /// [`in_namespace`](Self::in_namespace).
    pub(super) fn key(&self, parent_namespace: Option<&str>) -> ChildKey {
        let namespace = self.namespace.as_deref().or(parent_namespace);
        ChildKey {
            namespace: namespace
                .filter(|_| self.kind.scope == Scope::Namespaced)
                .map(str::to_owned),
            name: self.name.clone(),
        }
    }

    /// Whether it has changed.
    pub(super) fn is(&self, changed: &Changed, parent_namespace: Option<&str>) -> bool {
        let key = self.key(parent_namespace);
        self.kind.resource.group == changed.group
            && self.kind.resource.kind == changed.kind
            && changed.metadata.name.as_deref() == Some(&*key.name)
            && changed.metadata.namespace == key.namespace
    }
}
