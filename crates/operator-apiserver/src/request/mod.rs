//! Parses requests, without using the state.

mod accept;
pub(crate) mod call;
pub(crate) mod format;
pub(crate) mod options;
pub(crate) mod resource;
pub(crate) mod selector;
pub(crate) mod warning;

pub(crate) use self::call::{Call, ResourcePath, Target, User};
pub(crate) use self::resource::Request;
