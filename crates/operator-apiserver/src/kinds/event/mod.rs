//! Events, which have two versions with different fields.

mod check;
mod convert;

pub(crate) use self::check::check;
#[cfg(feature = "faces")]
pub(crate) use self::convert::old_form;
pub(crate) use self::convert::{from_storage, to_storage};
