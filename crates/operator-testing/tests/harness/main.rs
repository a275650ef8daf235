//! What a test written with this crate relies on: one program, because linking one takes seconds.

mod definitions;
mod expiry;
mod faults;
mod fixtures;
mod large;
mod namespaces;
mod outcomes;
mod permissions;
mod pruning;
mod schema;
mod server;
mod serving;
mod waiting;
mod webhooks;
