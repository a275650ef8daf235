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
//! A folder imports only those that are declared before it in `tests/layering.rs`.

#![warn(missing_docs)]
// The functions of a kind or of a type are in one file, also those that only the server calls: updates, failures of requests, stored forms.
#![cfg_attr(not(feature = "server"), allow(dead_code, unused_imports))]

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

pub use self::refusal::{Refusal, UnknownField, Verdict, refusals, verdict};
#[cfg(feature = "server")]
pub use self::request::call::{ResourcePath, target};
#[cfg(feature = "faces")]
pub use self::transport::service::unauthorized;
#[cfg(feature = "server")]
pub use self::transport::service::{ApiServer, Body};
#[cfg(feature = "workloads")]
pub use self::workload::Workloads;
