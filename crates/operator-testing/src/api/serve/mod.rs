//! From a call to its answer, under the lock of the server.

pub(crate) mod account_token;
pub(crate) mod discovery;
pub(crate) mod eviction;
pub(crate) mod method;
#[cfg(feature = "http")]
pub(crate) mod openapi;
pub(crate) mod review;
pub(crate) mod route;
pub(crate) mod scale;
pub(crate) mod subresource;
