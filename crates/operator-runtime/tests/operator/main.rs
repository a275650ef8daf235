//! Operators on an API server. They are one program, because linking one takes seconds; tests that need a process of their own are beside
//! it.

mod children;
mod context;
mod controller;
mod crds;
mod dashboards;
mod declarative;
mod expiry;
mod external;
mod failures;
mod handlers;
mod hooks;
mod last_conversion;
mod lifecycle;
mod log_events;
mod migration;
mod ownership;
mod priority;
mod process;
mod related;
mod scope;
mod status;
mod strategies;
#[path = "../support/mod.rs"]
mod support;
mod unlisted;
