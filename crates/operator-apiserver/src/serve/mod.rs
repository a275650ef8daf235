//! Answers a call while the server holds its lock.

pub(crate) mod account_token;
mod body;
pub(crate) mod discovery;
pub(crate) mod eviction;
mod method;
mod object;
#[cfg(feature = "faces")]
pub(crate) mod openapi;
mod review;
pub(crate) mod route;
pub(crate) mod scale;
pub(crate) mod subresource;
