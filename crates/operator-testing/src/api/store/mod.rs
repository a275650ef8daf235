//! The state of the server: the objects and their versions, the kinds that are served, and what follows at once from a change.

pub(crate) mod affected;
pub(crate) mod endpoint;
pub(crate) mod initial;
pub(crate) mod objects;
pub(crate) mod registry;
pub(crate) mod state;
pub(crate) mod stored;
pub(crate) mod weight;
