//! The styles in which a controller is written: a trait for its author, and the method of [`Controllers`](crate::Controllers) that takes it.

mod reconciler;

pub use reconciler::Reconciler;
