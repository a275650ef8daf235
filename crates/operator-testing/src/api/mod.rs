//! The API server in memory: a tower service over one locked state. Requests are answered one at a time. The consequences of a write, such
//! as garbage collection and the deletion of namespaces, are complete before the server answers it. Other requests are answered only while
//! a request waits for its webhooks (`admission`).
//!
//! A folder imports only those that are declared before it in `tests/layering.rs`.

mod access;
mod admission;
mod apply;
mod decode;
mod finalize;
mod go;
mod model;
mod patch;
mod read;
mod request;
mod resource;
mod serve;
mod store;
mod transport;
mod webhook;
#[cfg(feature = "workloads")]
mod workload;
mod write;

pub(crate) use self::request::call::target;
pub use self::transport::refusal::{Refusal, refusals};
#[cfg(feature = "http")]
pub(crate) use self::transport::service::unauthorized;
pub use self::transport::service::{ApiServer, Body};
#[cfg(feature = "workloads")]
pub use self::workload::Workloads;
