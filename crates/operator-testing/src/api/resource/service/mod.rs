//! Services: their defaults, their rules, and the addresses and node ports that they are given.

mod address;
mod check;
mod defaults;

pub(crate) use self::address::{allocate, check_owner};
pub(crate) use self::check::check;
pub(crate) use self::check::ignored;
pub(crate) use self::defaults::fill;
