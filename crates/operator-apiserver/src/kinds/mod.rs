//! The strategy of each kind: its defaults, its validation, and the fields that an update keeps. All functions work on objects alone: they
//! know neither requests nor the state of the server.
//!
//! Each kind has a file or a folder. `defaults`, `prepare` and `validate` select the function for a kind; `strategy` contains strategies
//! that are only lists of kinds; kinds share `rule` and `value`.

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
#[cfg(feature = "server")]
pub(crate) mod strategy;
pub(crate) mod validate;
mod value;
pub(crate) mod volume;
pub(crate) mod warning;
mod webhook;
mod workload;
