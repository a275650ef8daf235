//! The rules that many kinds share: of fields, of the metadata, of selectors and of the counts in a status.

pub(crate) mod address;
pub(crate) mod field;
pub(crate) mod metadata;
pub(crate) mod selector;
pub(crate) mod status;
