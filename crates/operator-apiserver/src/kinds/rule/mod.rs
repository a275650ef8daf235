//! The validation that many kinds share: of fields, addresses, metadata, selectors, and counts in a status.

pub(crate) mod address;
pub(crate) mod endpoint;
pub(crate) mod field;
pub(crate) mod metadata;
pub(crate) mod selector;
pub(crate) mod status;
