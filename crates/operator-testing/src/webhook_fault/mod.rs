//! Faults in the calls that the API server in memory makes to the webhooks of the operator under test.

mod inject;
mod schedule;

pub(crate) use self::inject::WebhookFaults;
pub(crate) use self::schedule::{WebhookFault, WebhookSchedule};
