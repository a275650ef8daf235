//! Runs controllers: watches and caches, the queue of reconciliations, and the state of each object. It depends only on the trait
//! [`Reconciler`](crate::Reconciler), not on the other styles.

pub(crate) mod cache;
pub(crate) mod children;
pub(crate) mod controller;
pub(crate) mod decode;
pub(crate) mod deleted;
pub(crate) mod fan_out;
pub(crate) mod finalizer;
pub(crate) mod identity;
pub(crate) mod kind;
pub(crate) mod listener;
pub(crate) mod object_locks;
pub(crate) mod objects;
pub(crate) mod progress;
pub(crate) mod reconciled;
pub(crate) mod reconciliation;
pub(crate) mod related;
pub(crate) mod shared_cache;
pub(crate) mod status_owners;
pub(crate) mod tasks;
pub(crate) mod version;
pub(crate) mod watch;

pub use reconciled::Reconciled;
pub use related::Changed;
