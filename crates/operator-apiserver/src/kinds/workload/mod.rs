//! The kinds that keep pods running.

pub(crate) mod daemon_set;
pub(crate) mod deployment;
pub(crate) mod replica_set;
mod replicated;
mod rollout;
pub(crate) mod stateful_set;
