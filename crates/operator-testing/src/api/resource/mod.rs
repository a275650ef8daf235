//! The strategy of each kind: its defaults, its rules, what an update keeps. All of it is said of objects alone: nothing here knows
//! requests or the state of the server.

pub(crate) mod address;
pub(crate) mod claim;
pub(crate) mod crd;
pub(crate) mod defaults;
pub(crate) mod definition;
pub(crate) mod event;
pub(crate) mod namespace;
pub(crate) mod priority;
pub(crate) mod strategy;
pub(crate) mod validate;
pub(crate) mod warning;
