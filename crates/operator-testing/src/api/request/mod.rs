//! A request taken apart, before anything of the state is known.

mod accept;
pub(crate) mod call;
pub(crate) mod format;
pub(crate) mod options;
pub(crate) mod resource;
pub(crate) mod selector;
