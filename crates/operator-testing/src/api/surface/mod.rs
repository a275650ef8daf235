//! The server as others see it: HTTP, the formats of its answers, streams, and webhooks that are asked without the lock.

pub(crate) mod admission;
pub(crate) mod cluster;
pub(crate) mod refusal;
pub(crate) mod service;
#[cfg(feature = "http")]
pub(crate) mod table;
pub(crate) mod view;
pub(crate) mod watch;
#[cfg(feature = "http")]
pub(crate) mod wire;
