//! Reading: one object, lists in pages, and watches up to their streams.

pub(crate) mod list;
pub(crate) mod page;
pub(crate) mod reply;
mod token;
mod version;
pub(crate) mod watch;

pub(crate) use self::reply::Reply;
