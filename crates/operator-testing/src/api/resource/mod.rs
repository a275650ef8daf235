//! The strategy of each kind: its defaults, its rules, what an update keeps. All of it is said of objects alone: nothing here knows
//! requests or the state of the server.
//!
//! A kind has a file or a folder. `defaults`, `prepare` and `validate` pick the function of a kind; `strategy` has what are no more than
//! lists of kinds; `rule` and `value` are what kinds share.

pub(crate) mod claim;
mod config;
pub(crate) mod crd;
pub(crate) mod custom;
pub(crate) mod defaults;
pub(crate) mod event;
pub(crate) mod job;
mod lease;
pub(crate) mod namespace;
mod network_policy;
pub(crate) mod node;
pub(crate) mod pod;
pub(crate) mod prepare;
pub(crate) mod priority_class;
mod role;
pub(crate) mod rule;
pub(crate) mod service;
pub(crate) mod strategy;
pub(crate) mod validate;
mod value;
pub(crate) mod volume;
pub(crate) mod warning;
mod workload;
