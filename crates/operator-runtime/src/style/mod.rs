//! The styles of controllers: for each, a trait that users implement, and the method of [`Controllers`](crate::Controllers) that adds it.

mod declarative;
mod reconciler;

pub use declarative::{Applied, Declarative, Desired, Finalized, Observed, Status};
pub use reconciler::Reconciler;
