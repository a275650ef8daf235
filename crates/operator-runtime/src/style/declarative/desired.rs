//! The types that the methods of a [`Declarative`](super::Declarative) return and receive.

use std::{marker::PhantomData, time::Duration};

use kube::{Resource, core::object::HasStatus};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    Result,
    context::{Uncontrolled, Wanted},
    engine::kind::Kind,
};

/// The desired children and status of a parent of kind `K`.
pub struct Desired<K> {
    pub(super) children: Vec<Result<Wanted>>,
    pub(super) status: Option<serde_json::Result<Value>>,
    pub(super) resync: Option<Duration>,
    parent: PhantomData<fn(K)>,
}

impl<K> Desired<K> {
    /// Desires no children, and leaves the status as it is.
    pub fn new() -> Self {
        Self {
            children: vec![],
            status: None,
            resync: None,
            parent: PhantomData,
        }
    }

    /// Adds a child. If it has no namespace, it is created in the namespace of the parent, or in the operator's namespace if the parent is
    /// cluster-scoped. The runtime adds the owner reference. Children are written in the order in which they were added.
    #[must_use]
    pub fn child<C>(mut self, child: C) -> Self
    where
        C: Resource<DynamicType = (), Scope: 'static> + Serialize,
    {
        let wanted = Wanted::of(&child, Uncontrolled::Refuse);
        self.children.push(wanted);
        self
    }

    /// Like [`child`](Self::child), but also takes over an existing object that has no controller, if its kind has the strategy
    /// [`Apply`](crate::UpdateStrategy::Apply) or [`Replace`](crate::UpdateStrategy::Replace). It is then deleted together with the parent.
    #[must_use]
    pub fn adopt<C>(mut self, child: C) -> Self
    where
        C: Resource<DynamicType = (), Scope: 'static> + Serialize,
    {
        let wanted = Wanted::of(&child, Uncontrolled::Adopt);
        self.children.push(wanted);
        self
    }

    /// Adds children of one kind.
    #[must_use]
    pub fn children<C>(self, children: impl IntoIterator<Item = C>) -> Self
    where
        C: Resource<DynamicType = (), Scope: 'static> + Serialize,
    {
        children.into_iter().fold(self, Self::child)
    }

    /// Returns the child of this kind and name, for tests. If several namespaces have one, returns the first that was added.
    ///
    /// # Errors
    /// [`Error::Json`](crate::Error::Json) if it cannot be decoded as `C`.
    pub fn get<C>(&self, name: &str) -> Result<Option<C>>
    where
        C: Resource<DynamicType = (), Scope: 'static> + DeserializeOwned,
    {
        let kind = Kind::of::<C>();
        let mut children = self.children.iter().flatten();
        let child = children.find(|it| it.kind.is_same(&kind) && it.name() == name);
        Ok(child.map(|it| C::deserialize(&it.body)).transpose()?)
    }

    /// Sets the status of the parent. It is written if it differs, even if a child could not be written.
    #[must_use]
    pub fn status(mut self, status: K::Status) -> Self
    where
        K: HasStatus<Status: Serialize>,
    {
        self.status = Some(serde_json::to_value(status));
        self
    }

    /// Reconciles the parent again after this time, even if nothing has changed.
    #[must_use]
    pub fn resync(mut self, after: Duration) -> Self {
        self.resync = Some(after);
        self
    }
}

impl<K> Default for Desired<K> {
    fn default() -> Self {
        Self::new()
    }
}

/// The status to write for a parent of kind `K`, if any.
pub struct Status<K> {
    pub(super) choice: Choice,
    parent: PhantomData<fn(K)>,
}

pub(super) enum Choice {
    Unchanged,
    Desired,
    Value(serde_json::Result<Value>),
}

impl<K> Status<K> {
    /// Writes this status.
    pub fn new(status: K::Status) -> Self
    where
        K: HasStatus<Status: Serialize>,
    {
        Self {
            choice: Choice::Value(serde_json::to_value(status)),
            parent: PhantomData,
        }
    }

    /// Leaves the status as it is: nothing is written.
    pub fn unchanged() -> Self {
        Self {
            choice: Choice::Unchanged,
            parent: PhantomData,
        }
    }

    /// The status to write, for a style that has no `desired`.
    pub(crate) fn into_value(self) -> Option<serde_json::Result<Value>> {
        match self.choice {
            Choice::Value(status) => Some(status),
            Choice::Unchanged | Choice::Desired => None,
        }
    }

    /// Writes the status that [`desired`](crate::Declarative::desired) returned with [`Desired::status`]; without one, nothing is written.
    pub fn desired() -> Self {
        Self {
            choice: Choice::Desired,
            parent: PhantomData,
        }
    }
}

/// Whether the cleanup of a parent that is being deleted is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finalized {
    /// Its finalizer is removed.
    Done,
    /// [`Declarative::finalize`](crate::Declarative::finalize) is called again after this time, or after a change.
    After(Duration),
}

/// The result of writing the desired children, if none of the writes failed.
#[derive(Debug, Default)]
pub struct Applied {
    pub(super) waiting: Vec<String>,
}

impl Applied {
    /// The children that differ from the desired ones until they are deleted, for example `v1/Pod web-0`: outdated children with the
    /// strategy [`OnDelete`](crate::UpdateStrategy::OnDelete), and children that are being deleted, unless they are applied.
    pub fn waiting(&self) -> &[String] {
        &self.waiting
    }
}
