//! Events, which have two forms.

mod check;
mod convert;

pub(crate) use self::check::check;
pub(crate) use self::convert::{from_storage, old_form, to_storage};
