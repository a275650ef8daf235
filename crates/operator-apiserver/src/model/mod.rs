//! Kinds, keys, failures and metadata, which all other folders use.

pub(crate) mod builtin;
pub(crate) mod clock;
#[cfg(feature = "faces")]
pub(crate) mod column;
pub(crate) mod failure;
pub(crate) mod key;
pub(crate) mod kind;
pub(crate) mod label;
pub(crate) mod metadata;
pub(crate) mod name;
