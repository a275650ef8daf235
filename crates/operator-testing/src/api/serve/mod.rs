//! From a call to its answer, under the lock of the server.

mod account_token;
mod discovery;
mod eviction;
mod method;
#[cfg(feature = "http")]
mod openapi;
mod review;
pub(crate) mod route;
mod scale;
mod subresource;
