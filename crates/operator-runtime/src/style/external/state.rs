//! What is known of an external resource after a reconciliation.

use serde::{Serialize, de::DeserializeOwned};

use crate::{Condition, Error, Result, condition::ConditionStatus};

/// What [`External::status`](super::External::status) computes the status from.
pub struct State<O> {
    pub(super) id: Option<String>,
    pub(super) observed: Option<O>,
    pub(super) synced: Condition,
    /// `None` while the object is paused: the condition stays as it is.
    pub(super) ready: Option<Condition>,
}

impl<O> State<O> {
    /// The id of the external resource, if it is recorded.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The external resource as it was observed last; `None` if there is none, or if it could not be observed.
    pub fn observed(&self) -> Option<&O> {
        self.observed.as_ref()
    }

    /// Sets the conditions `Synced` and `Ready`; `generation` is the `metadata.generation` of the object.
    ///
    /// `Synced` is true if the external resource is as the object asks for; `Ready`, if it can be used.
    ///
    /// # Errors
    /// The errors of [`Condition::set_in`].
    pub fn set_conditions<C: Serialize + DeserializeOwned>(
        &self,
        conditions: &mut Vec<C>,
        generation: Option<i64>,
    ) -> Result<()> {
        self.synced.clone().set_in(conditions, generation)?;
        match &self.ready {
            Some(ready) => ready.clone().set_in(conditions, generation),
            None => Ok(()),
        }
    }
}

/// What a reconciliation has found or done.
pub(super) enum Phase {
    Synced,
    /// The external resource differs, and is not changed now: why, and how.
    Differs(&'static str, String),
    /// The external resource is absent, and is not created yet.
    Absent,
    Deleting,
    Paused,
    Failed(Error),
}

impl Phase {
    pub fn synced(&self) -> Condition {
        let (synced, reason, message) = match self {
            Self::Synced => (true, "Synced", "the thing is as the object asks for"),
            Self::Differs(reason, difference) => (false, *reason, difference.as_str()),
            Self::Absent => (
                false,
                "Absent",
                "the thing does not exist, or is not visible yet",
            ),
            Self::Deleting => (true, "Deleting", "the thing is being deleted"),
            Self::Paused => (false, "Paused", "an annotation of the object pauses it"),
            Self::Failed(error) => {
                let reason = match error {
                    Error::External(error) => error.reason(),
                    _ => "ReconcileError",
                };
                return Condition::new("Synced", false, reason, error.summary());
            }
        };
        Condition::new("Synced", synced, reason, message)
    }

    /// `is_ready` is `None` if nothing was observed.
    pub fn ready(&self, is_ready: Option<bool>) -> Option<Condition> {
        let (ready, reason, message) = match (self, is_ready) {
            (Self::Paused, _) => return None,
            (Self::Deleting, _) => (
                ConditionStatus::False,
                "Deleting",
                "the thing is being deleted",
            ),
            (_, Some(true)) => (ConditionStatus::True, "Available", "the thing can be used"),
            (_, Some(false)) => (
                ConditionStatus::False,
                "NotReady",
                "the thing cannot be used yet",
            ),
            (Self::Failed(_), None) => (
                ConditionStatus::Unknown,
                "NotObserved",
                "the thing could not be observed",
            ),
            (_, None) => (ConditionStatus::False, "Absent", "the thing does not exist"),
        };
        Some(Condition::new("Ready", ready, reason, message))
    }
}
