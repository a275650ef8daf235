//! The strategy of each kind: its defaults, its validation, and all else by which it differs from other kinds. All functions work on objects
//! alone: they know neither requests nor the state of the server.
//!
//! A kind is a row in [`table`], and a file or folder with its functions and the row itself, if it has functions. Everything else asks
//! for the [`strategy()`] of a kind. Kinds share `rule` and `value`.

/// The printer of a kind in `cells`, if the server has tables.
macro_rules! cells {
    ($($printer:ident)::+) => {{
        #[cfg(feature = "faces")]
        let cells = Some(crate::kinds::cells::$($printer)::+ as fn(&serde_json::Value) -> _);
        #[cfg(not(feature = "faces"))]
        let cells = None;
        cells
    }};
}

pub(crate) mod allocations;
#[cfg(feature = "faces")]
pub(crate) mod cells;
pub(crate) mod claim;
mod config;
pub(crate) mod crd;
pub(crate) mod custom;
pub(crate) mod event;
pub(crate) mod job;
mod lease;
pub(crate) mod namespace;
mod network_policy;
mod node;
pub(crate) mod pod;
pub(crate) mod priority_class;
#[cfg(feature = "server")]
pub(crate) mod reset;
pub(crate) mod resource;
mod role;
pub(crate) mod rule;
pub(crate) mod service;
// The parts that read some fields need a feature.
#[cfg_attr(
    not(all(feature = "faces", feature = "workloads")),
    expect(dead_code, reason = "faces and workloads use them")
)]
pub(crate) mod strategy;
pub(crate) mod table;
mod value;
pub(crate) mod volume;
pub(crate) mod warning;
mod webhook;
mod workload;

pub(crate) use self::table::strategy;
