//! This crate as the tests of an operator use it. All in one program, because linking one takes seconds.

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
mod selector;
mod server;
mod serving;
mod waiting;
mod webhooks;
