//! The state of the server: the objects and their versions, the served kinds, and the immediate effects of a change.

mod affected;
pub(crate) mod conversion;
pub(crate) mod endpoint;
mod initial;
pub(crate) mod objects;
mod registry;
pub(crate) mod state;
pub(crate) mod stored;
mod weight;
