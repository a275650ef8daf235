//! Calls of webhooks: the address that a client configuration names, the request, and the reviews of conversions.

pub(crate) mod address;
mod ca_bundle;
pub(crate) mod client;
pub(crate) mod conversion;
