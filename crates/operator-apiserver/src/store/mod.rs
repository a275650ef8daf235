//! The state of the server: the objects and their versions, the served kinds, and the immediate effects of a change.

pub(crate) mod conversion;
pub(crate) mod endpoint;
pub(crate) mod gc_queue;
pub(crate) mod initial;
pub(crate) mod objects;
pub(crate) mod registry;
pub(crate) mod state;
pub(crate) mod stored;
mod weight;

pub(crate) use self::conversion::Conversions;
pub(crate) use self::objects::{Event, Store};
pub(crate) use self::registry::Registry;
pub(crate) use self::state::State;
