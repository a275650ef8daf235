//! The Kubernetes API server: what it decodes, defaults and refuses, as functions of values, and a server in memory that uses them.
//!
//! Without features, the crate contains only functions of values, for programs without a server: see [`refusals`]. It then needs neither
//! an async runtime nor HTTP.
//!
//! With the feature `server`, `ApiServer` is a tower service over one locked state. Requests are answered one at a time. The consequences
//! of a write, such as garbage collection and the deletion of namespaces, are complete before the server answers it. Other requests are
//! answered only while a request waits for its webhooks (`admission`). Tests of operators use it through the crate `operator-testing`, whose
//! documentation lists the differences from a real server.
//!
//! # Layers
//!
//! A folder imports only those before it, and adds no methods to their types: `model`, `go` (how Go encodes JSON), `apply` (field ownership),
//! `kinds` (a strategy for each), `decode`, `patch`, `refusal`, `request`, `store`, `webhook`, `read`, `access`, `admission`, `write`,
//! `finalize` (garbage collection), `serve`, `workload`, `transport`. `tests/layering.rs` checks it. The folders up to `refusal` contain
//! only functions of values, without requests and state. Without the feature `server`, the crate consists of the folders that `refusal`
//! needs.
//!
//! `store` defines the struct `State`. Higher layers are functions that take the parts of it that they need: a read takes the store, a write
//! the whole state, because each request runs alone under one lock. No layer calls a higher one: `State::put` and `State::remove` queue the
//! objects that `finalize` must check, and the keys that `workload` must reconcile, and `transport` lets both process these queues before it
//! answers.

#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::too_many_lines, clippy::unwrap_used))]
// The functions of a kind or of a type are in one file, also those that only the server calls: updates, failures of requests, stored forms.
#![cfg_attr(
    not(feature = "server"),
    allow(dead_code, unused_imports, reason = "the server uses them")
)]

#[cfg(feature = "server")]
mod access;
#[cfg(feature = "server")]
mod admission;
#[cfg(feature = "server")]
mod apply;
mod decode;
#[cfg(feature = "server")]
mod finalize;
mod go;
mod kinds;
mod model;
#[cfg(feature = "server")]
mod patch;
#[cfg(feature = "server")]
mod read;
mod refusal;
#[cfg(feature = "server")]
mod request;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod store;
#[cfg(feature = "server")]
mod transport;
#[cfg(feature = "server")]
mod webhook;
#[cfg(feature = "workloads")]
mod workload;
#[cfg(feature = "server")]
mod write;

pub use self::model::builtin::{BuiltinKind, builtin_kinds};
pub use self::refusal::{Refusal, UnknownField, Verdict, refusals, verdict};
#[cfg(feature = "server")]
pub use self::request::call::{ResourcePath, target};
#[cfg(feature = "faces")]
pub use self::transport::service::unauthorized;
#[cfg(feature = "server")]
pub use self::transport::service::{ApiServer, Body};
#[cfg(feature = "workloads")]
pub use self::workload::Workloads;
