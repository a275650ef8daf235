//! The styles of controllers: for each, a trait that users implement, and the method of [`Controllers`](crate::Controllers) that adds it.

mod declarative;
mod external;
pub(crate) mod handlers;
mod object;
mod reconciler;

pub use declarative::{Applied, Declarative, Desired, Finalized, Observed, RelatedObject, Status};
pub use external::{
    AroundCalls, Created, DeletionPolicy, DriftPolicy, External, ExternalError, ExternalOptions,
    Identity, ProviderCall, State,
};
pub use object::Object;
pub(crate) use reconciler::CacheChange;
pub use reconciler::{Cached, Reconciler};
