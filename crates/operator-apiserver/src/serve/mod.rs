//! Answers a call while the server holds its lock.

mod account_token;
mod discovery;
mod eviction;
mod method;
#[cfg(feature = "faces")]
mod openapi;
mod review;
pub(crate) mod route;
pub(crate) mod scale;
mod subresource;
