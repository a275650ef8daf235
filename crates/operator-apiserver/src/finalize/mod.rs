//! The built-in controllers that a real cluster runs asynchronously, such as garbage collection. Here they run before the server answers.

pub(crate) mod collect;
pub(crate) mod crd;
mod edit;
pub(crate) mod namespace;
pub(crate) mod protection;
