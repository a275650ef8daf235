//! The interface between a shared cache and the controllers that use it.

use kube::{Resource, runtime::reflector::ObjectRef};

use super::cache::Change;

/// A controller that uses a cache.
pub(crate) trait Listener<K: Resource<DynamicType = ()>>: Send + Sync {
    /// Handles a change, and returns the objects to reconcile. `version` is the resource version of the object in the event. `is_first` is
    /// true for one listener of the cache, which reports what concerns all of them, such as an undecodable object.
    fn handle(
        &self,
        change: &Change<K>,
        version: Option<&str>,
        is_first: bool,
    ) -> Vec<ObjectRef<K>>;

    /// Records how many objects the cache has, and how many cannot be decoded.
    fn count(&self, cached: usize, undecodable: usize);

    /// Records that the cache is complete.
    fn filled(&self);
}
