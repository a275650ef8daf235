//! The built-in controllers that a real cluster runs asynchronously, such as garbage collection. Here they run before the server answers.

mod collect;
mod crd;
mod namespace;
mod protection;
