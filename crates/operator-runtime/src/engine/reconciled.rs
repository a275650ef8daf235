//! Reports the result of each reconciliation to the registered observers.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use kube::{Resource, ResourceExt};
use tracing::warn;

use crate::{
    engine::identity::Identity,
    error::{Error, panic_message},
};

/// A finished reconciliation, as [`Operator::on_reconciled`](crate::Operator::on_reconciled) reports it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Reconciled<'a> {
    /// The name of the controller.
    pub controller: &'a str,
    /// The API group of the object's kind; empty for the core group.
    pub group: &'a str,
    /// The object's kind.
    pub kind: &'a str,
    /// The object's namespace; `None` for a cluster-scoped kind.
    pub namespace: Option<&'a str>,
    /// The object's name.
    pub name: &'a str,
    /// The object's uid.
    pub uid: Option<&'a str>,
    /// The error of [`reconcile`](crate::Reconciler::reconcile) or [`cleanup`](crate::Reconciler::cleanup), or of writing the
    /// finalizer. A panic is [`Error::Panicked`].
    pub result: Result<(), &'a Error>,
    /// How long the reconciliation took.
    pub duration: Duration,
}

type Observer = dyn Fn(&Reconciled<'_>) + Send + Sync;

/// The observers of reconciliations, in the order in which they were added.
#[derive(Clone, Default)]
pub(crate) struct Observers(Vec<Arc<Observer>>);

impl Observers {
    pub fn add(&mut self, observer: impl Fn(&Reconciled<'_>) + Send + Sync + 'static) {
        self.0.push(Arc::new(observer));
    }

    /// Calls the observers; a panic of one is logged.
    pub fn report<K: Resource<DynamicType = ()>>(
        &self,
        controller: &Identity,
        object: &K,
        result: Result<(), &Error>,
        duration: Duration,
    ) {
        if self.0.is_empty() {
            return;
        }
        let (namespace, name, uid) = (object.namespace(), object.name_any(), object.uid());
        let reconciled = Reconciled {
            controller: &controller.name,
            group: &controller.kind.group,
            kind: &controller.kind.kind,
            namespace: namespace.as_deref(),
            name: &name,
            uid: uid.as_deref(),
            result,
            duration,
        };
        for observer in &self.0 {
            let called = catch_unwind(AssertUnwindSafe(|| observer(&reconciled)));
            if let Err(panic) = called {
                warn!(
                    "a function of `on_reconciled` panicked: {}",
                    panic_message(&*panic)
                );
            }
        }
    }
}
