//! The options of a provider: policies, intervals and limits.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::ExternalError;
use crate::Result;

/// What happens to an external resource when its object is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeletionPolicy {
    /// The external resource is deleted, and the object is kept until it is gone.
    #[default]
    Delete,
    /// The external resource stays.
    Retain,
}

impl DeletionPolicy {
    /// The policy in `spec.deletionPolicy`: `Delete`, or `Retain`, which may be called `Orphan`, `Abandon` or `None` too. Without the
    /// field, `Delete`.
    ///
    /// # Errors
    /// [`ExternalError::UnknownPolicy`] for another value; then nothing is deleted.
    pub fn of_spec(object: &impl Serialize) -> Result<Self> {
        let field = "deletionPolicy";
        match spec_field(object, field)?.as_deref() {
            None => Ok(Self::default()),
            Some(text) => match text.to_lowercase().as_str() {
                "delete" => Ok(Self::Delete),
                "retain" | "orphan" | "abandon" | "none" => Ok(Self::Retain),
                _ => Err(unknown(field, text, "Delete or Retain")),
            },
        }
    }
}

/// What happens if an external resource differs although its object has not changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriftPolicy {
    /// The external resource is updated.
    #[default]
    Repair,
    /// An event and the condition `Synced` describe the difference. Changes of the object are still made.
    Report,
}

impl DriftPolicy {
    /// The policy in `spec.driftPolicy`: `Repair` or `Report`. Without the field, `Repair`.
    ///
    /// # Errors
    /// [`ExternalError::UnknownPolicy`] for another value; then nothing is changed.
    pub fn of_spec(object: &impl Serialize) -> Result<Self> {
        let field = "driftPolicy";
        match spec_field(object, field)?.as_deref() {
            None => Ok(Self::default()),
            Some(text) => match text.to_lowercase().as_str() {
                "repair" => Ok(Self::Repair),
                "report" => Ok(Self::Report),
                _ => Err(unknown(field, text, "Repair or Report")),
            },
        }
    }
}

fn unknown(field: &'static str, value: &str, expected: &'static str) -> crate::Error {
    let value = value.to_owned();
    ExternalError::UnknownPolicy {
        field,
        value,
        expected,
    }
    .into()
}

fn spec_field(object: &impl Serialize, field: &str) -> Result<Option<String>> {
    let object = serde_json::to_value(object)?;
    Ok(match &object["spec"][field] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    })
}

/// Intervals and limits of a provider; see [`External::options`](super::External::options).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExternalOptions {
    /// How often an external resource is observed if its object does not change. Default: one minute.
    pub poll: Duration,
    /// How often an external resource is observed while it is not ready, or is being deleted. Default: ten seconds.
    pub poll_pending: Duration,
    /// How long an external resource must be absent before it is created again. Other systems may find a new external resource only after a
    /// while. Default: 30 seconds.
    pub grace: Duration,
    /// The timeout of a call of the provider. Default: one minute.
    pub timeout: Duration,
    /// How long the conditions of an object stay as they are while its external resource cannot be observed for a reason that resolves
    /// itself: a [throttled](crate::Error::throttled), [temporary](crate::Error::temporary) or timed out call. Default: two minutes.
    pub unobserved: Duration,
    /// How many calls of the provider begin in a second, for all objects. Default: 10.
    pub calls_per_second: f64,
    /// How many calls may begin at once after a pause. Default: 20.
    pub burst: u32,
}

impl Default for ExternalOptions {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(60),
            poll_pending: Duration::from_secs(10),
            grace: Duration::from_secs(30),
            timeout: Duration::from_secs(60),
            unobserved: Duration::from_secs(120),
            calls_per_second: 10.0,
            burst: 20,
        }
    }
}

impl ExternalOptions {
    /// Sets [`poll`](Self::poll).
    #[must_use]
    pub fn poll(self, poll: Duration) -> Self {
        Self { poll, ..self }
    }

    /// Sets [`poll_pending`](Self::poll_pending).
    #[must_use]
    pub fn poll_pending(self, poll_pending: Duration) -> Self {
        Self {
            poll_pending,
            ..self
        }
    }

    /// Sets [`grace`](Self::grace).
    #[must_use]
    pub fn grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Sets [`timeout`](Self::timeout).
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sets [`unobserved`](Self::unobserved).
    #[must_use]
    pub fn unobserved(self, unobserved: Duration) -> Self {
        Self { unobserved, ..self }
    }

    /// Sets [`calls_per_second`](Self::calls_per_second) and [`burst`](Self::burst).
    #[must_use]
    pub fn rate(self, calls_per_second: f64, burst: u32) -> Self {
        Self {
            calls_per_second,
            burst,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn policies_are_those_of_the_spec() {
        let deletion = |value: Value| {
            DeletionPolicy::of_spec(&json!({ "spec": { "deletionPolicy": value } })).ok()
        };
        assert_eq!(deletion(json!("Retain")), Some(DeletionPolicy::Retain));
        assert_eq!(deletion(json!("None")), Some(DeletionPolicy::Retain));
        assert_eq!(deletion(json!("orphan")), Some(DeletionPolicy::Retain));
        assert_eq!(deletion(json!("Delete")), Some(DeletionPolicy::Delete));
        assert_eq!(deletion(Value::Null), Some(DeletionPolicy::Delete));
        let scalar = DeletionPolicy::of_spec(&json!({ "spec": "Retain" }));
        assert_eq!(scalar.ok(), Some(DeletionPolicy::Delete));
        assert_eq!(deletion(json!("Keep")), None);
        assert_eq!(deletion(json!(3)), None);
        let drift = |object: Value| DriftPolicy::of_spec(&object).ok();
        assert_eq!(
            drift(json!({ "spec": { "driftPolicy": "Report" } })),
            Some(DriftPolicy::Report)
        );
        assert_eq!(drift(json!({ "metadata": {} })), Some(DriftPolicy::Repair));
        assert_eq!(drift(json!({ "spec": { "driftPolicy": "" } })), None);
    }
}
