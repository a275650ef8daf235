//! The API server in memory: a tower service over one locked state. Requests are answered one at a time, and what follows from a
//! write (garbage collection, the end of a namespace) is done before its answer. Only while webhooks are asked about a request
//! (`admission`) others go on.
//!
//! A folder imports only those that are declared before it in `tests/layering.rs`.

mod access;
mod admission;
mod apply;
mod decode;
mod follow;
mod go;
mod model;
mod patch;
mod read;
mod request;
mod resource;
mod serve;
mod store;
mod surface;
#[cfg(feature = "workloads")]
mod workload;
mod write;

pub(crate) use self::request::call::target;
pub use self::surface::refusal::{Refusal, refusals};
#[cfg(feature = "http")]
pub(crate) use self::surface::service::unauthorized;
pub use self::surface::service::{ApiServer, Body};
#[cfg(feature = "workloads")]
pub use self::workload::Workloads;
