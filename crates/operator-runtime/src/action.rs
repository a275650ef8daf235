//! The result of a reconciler.

use std::time::Duration;

use kube::runtime::controller;

/// When an object is reconciled again, unless a change triggers that before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    delay: Option<Duration>,
}

impl Action {
    /// Reconciles the object again after this time, or earlier if it or an object that it depends on changes.
    #[must_use]
    pub const fn requeue(delay: Duration) -> Self {
        Self { delay: Some(delay) }
    }

    /// Reconciles the object again only when it or an object that it depends on changes.
    #[must_use]
    pub const fn await_change() -> Self {
        Self { delay: None }
    }

    /// The delay; `None` if the object waits for a change.
    pub(crate) fn delay(&self) -> Option<Duration> {
        self.delay
    }
}

impl From<Action> for controller::Action {
    fn from(action: Action) -> Self {
        action.delay.map_or_else(Self::await_change, Self::requeue)
    }
}
