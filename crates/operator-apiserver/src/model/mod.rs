//! Kinds, keys, failures and metadata, which all other folders use.

pub(crate) mod builtin;
pub(crate) mod clock;
#[cfg(feature = "faces")]
pub(crate) mod column;
pub(crate) mod condition;
pub(crate) mod failure;
pub(crate) mod json;
pub(crate) mod key;
pub(crate) mod kind;
pub(crate) mod label;
pub(crate) mod label_text;
pub(crate) mod metadata;
pub(crate) mod name;

pub(crate) use self::failure::{Cause, Failure, Result};
pub(crate) use self::key::Key;
pub(crate) use self::kind::{Crd, Custom, Kind, api_version, group_version};
