//! The styles of controllers: for each, a trait that users implement, and the method of [`Controllers`](crate::Controllers) that adds it.

mod reconciler;

pub use reconciler::Reconciler;
