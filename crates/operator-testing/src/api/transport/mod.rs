//! The server as others see it: HTTP, the formats of its answers, streams, and webhooks that are asked without the lock.

mod admission;
mod cluster;
pub(crate) mod refusal;
pub(crate) mod service;
#[cfg(feature = "http")]
mod table;
mod view;
mod watch;
#[cfg(feature = "http")]
mod wire;
