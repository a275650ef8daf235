//! A guard against acting on a cache that is older than our own writes.
//!
//! In: objects as the API server answered our writes, and as the cache has them. Out: the newer of the
//! two. An entry stays only until the cache has caught up. No io.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use kube::{Resource, ResourceExt, runtime::reflector::ObjectRef};

pub(crate) struct OwnWrites<K: Resource<DynamicType = ()> + 'static>(
    Mutex<HashMap<ObjectRef<K>, Arc<K>>>,
);

impl<K: Resource<DynamicType = ()> + 'static> Default for OwnWrites<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Resource<DynamicType = ()> + 'static> OwnWrites<K> {
    pub fn wrote(&self, key: ObjectRef<K>, object: Arc<K>) {
        self.lock().insert(key, object);
    }

    /// The cached object, or what we wrote if the cache has not seen that yet.
    pub fn newest(&self, key: &ObjectRef<K>, cached: Arc<K>) -> Arc<K> {
        let mut written = self.lock();
        match written.get(key) {
            Some(own) if is_older(&*cached, &**own) => own.clone(),
            Some(_) => {
                written.remove(key);
                cached
            }
            None => cached,
        }
    }

    /// The version that we wrote last, if the cache was not seen to have it.
    pub fn version(&self, key: &ObjectRef<K>) -> Option<String> {
        self.lock().get(key)?.resource_version()
    }

    pub fn forget(&self, key: &ObjectRef<K>) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ObjectRef<K>, Arc<K>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// [Resource versions](https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions) of one
/// kind compare as numbers; those that are none are taken for newer.
fn is_older<K: Resource>(cached: &K, own: &K) -> bool {
    let number = |object: &K| object.resource_version()?.parse::<u128>().ok();
    cached.uid() == own.uid()
        && matches!((number(cached), number(own)), (Some(cached), Some(own)) if cached < own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn object(uid: &str, version: &str) -> Arc<ConfigMap> {
        let mut object = ConfigMap::default();
        object.metadata.name = Some("a".into());
        object.metadata.uid = Some(uid.into());
        object.metadata.resource_version = Some(version.into());
        Arc::new(object)
    }

    #[test]
    fn the_cache_is_believed_once_it_has_caught_up() {
        let key = ObjectRef::<ConfigMap>::new("a");
        let writes = OwnWrites::default();
        writes.wrote(key.clone(), object("1", "10"));
        let version = |cached| writes.newest(&key, cached).resource_version().unwrap();
        assert_eq!(
            version(object("1", "9")),
            "10",
            "9 is older, though not as text"
        );
        assert_eq!(version(object("1", "10")), "10");
        assert_eq!(version(object("1", "9")), "9", "the entry is gone");
    }

    #[test]
    fn a_new_object_of_the_name_is_not_mistaken_for_the_old_one() {
        let key = ObjectRef::<ConfigMap>::new("a");
        let writes = OwnWrites::default();
        writes.wrote(key.clone(), object("1", "10"));
        assert_eq!(
            writes.newest(&key, object("2", "5")).uid().as_deref(),
            Some("2")
        );
    }
}
