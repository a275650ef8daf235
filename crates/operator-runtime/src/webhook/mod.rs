//! Serves admission and conversion webhooks over TLS.

#[allow(dead_code, reason = "the server uses it")]
pub(crate) mod certificate;
