//! Services: their defaults, their validation, and their addresses and node ports.

mod address;
mod check;
mod defaults;

pub(crate) use self::address::{allocate, check_owner};
pub(crate) use self::check::check;
pub(crate) use self::check::ignored;
pub(crate) use self::defaults::fill;
