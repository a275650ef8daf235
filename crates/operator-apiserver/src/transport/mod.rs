//! The interface to clients: HTTP, response formats, watch streams, and webhook calls, which do not hold the server's lock.

mod admission;
mod cluster;
mod conversion;
pub(crate) mod service;
#[cfg(feature = "faces")]
mod table;
pub(crate) mod view;
mod watch;
#[cfg(feature = "faces")]
mod wire;
