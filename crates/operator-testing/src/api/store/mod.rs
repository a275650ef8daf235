//! The state of the server: the objects and their versions, the kinds that are served, and what follows at once from a change.

mod affected;
pub(crate) mod endpoint;
mod initial;
pub(crate) mod objects;
mod registry;
pub(crate) mod state;
pub(crate) mod stored;
mod weight;
