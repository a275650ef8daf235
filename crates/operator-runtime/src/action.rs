//! What a reconciler asks for.

use std::time::Duration;

use kube::runtime::controller;

/// When the next reconciliation of an object follows, unless it is triggered before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    delay: Option<Duration>,
}

impl Action {
    /// After this time, or earlier if the object or one that it depends on changes.
    #[must_use]
    pub const fn requeue(delay: Duration) -> Self {
        Self { delay: Some(delay) }
    }

    /// When the object or one that it depends on changes.
    #[must_use]
    pub const fn await_change() -> Self {
        Self { delay: None }
    }

    /// `None` for until a change.
    pub(crate) fn delay(&self) -> Option<Duration> {
        self.delay
    }
}

impl From<Action> for controller::Action {
    fn from(action: Action) -> Self {
        action.delay.map_or_else(Self::await_change, Self::requeue)
    }
}
