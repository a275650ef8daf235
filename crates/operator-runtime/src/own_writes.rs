//! A guard against acting on a cache that is older than the answers to our own writes.
//!
//! In: objects as the API server answered our writes, or that they are gone, and as the cache has them. Out: the
//! newer of the two. An entry stays only until the cache has caught up. No io.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use kube::{Resource, ResourceExt, runtime::reflector::ObjectRef};

pub(crate) struct OwnWrites<K: Resource<DynamicType = ()> + 'static>(
    Mutex<HashMap<ObjectRef<K>, Answer<K>>>,
);

/// What the API server answered a write.
enum Answer<K> {
    Written(Arc<K>),
    /// This object was not there any more.
    Gone(Arc<K>),
}

impl<K: Resource<DynamicType = ()> + 'static> Default for OwnWrites<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Resource<DynamicType = ()> + 'static> OwnWrites<K> {
    pub fn wrote(&self, key: ObjectRef<K>, object: Arc<K>) {
        self.lock().insert(key, Answer::Written(object));
    }

    /// A write found that the object is gone. A watch may tell of it much later, if it has fallen silent, and until
    /// then each change of a child would make its children anew.
    pub fn found_gone(&self, key: ObjectRef<K>, object: Arc<K>) {
        self.lock().insert(key, Answer::Gone(object));
    }

    /// The cached object, or what we wrote if the cache has not seen that yet; none if it is known to be gone.
    pub fn newest(&self, key: &ObjectRef<K>, cached: Arc<K>) -> Option<Arc<K>> {
        let mut answers = self.lock();
        match answers.get(key) {
            Some(Answer::Written(own)) if is_older(&*cached, &**own) => Some(own.clone()),
            // one that changes is there, as after a restore of the cluster's state
            Some(Answer::Gone(gone))
                if gone.uid() == cached.uid() && !is_older(&**gone, &*cached) =>
            {
                None
            }
            Some(_) => {
                answers.remove(key);
                Some(cached)
            }
            None => Some(cached),
        }
    }

    /// The version that we wrote last, if the cache was not seen to have it.
    pub fn version(&self, key: &ObjectRef<K>) -> Option<String> {
        match self.lock().get(key)? {
            Answer::Written(own) => own.resource_version(),
            Answer::Gone(_) => None,
        }
    }

    pub fn forget(&self, key: &ObjectRef<K>) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ObjectRef<K>, Answer<K>>> {
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
        let newest = |cached| writes.newest(&key, cached).unwrap();
        let version = |cached| newest(cached).resource_version().unwrap();
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
        let newest = writes.newest(&key, object("2", "5")).unwrap();
        assert_eq!(newest.uid().as_deref(), Some("2"));
    }

    #[test]
    fn what_is_gone_is_not_taken_from_the_cache_and_what_comes_after_it_is() {
        let key = ObjectRef::<ConfigMap>::new("a");
        let writes = OwnWrites::default();
        for there in [object("1", "11"), object("2", "9")] {
            writes.found_gone(key.clone(), object("1", "10"));
            assert!(writes.newest(&key, object("1", "9")).is_none());
            assert!(writes.newest(&key, object("1", "10")).is_none());
            assert!(writes.newest(&key, there.clone()).is_some());
            assert!(writes.newest(&key, there).is_some());
        }
    }
}
