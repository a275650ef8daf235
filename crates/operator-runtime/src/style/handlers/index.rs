//! Indexes of the objects in the cache.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use kube::Resource;
use tokio::sync::watch;

use crate::{ObjectRef, lock::lock, style::Object};

/// An index of the objects of a kind: a function returns entries, each with a key and a value, for each object. Examples are the names of
/// Pods by node, or the owner of each host name.
///
/// Each object may have entries under several keys, and a key may have values of several objects. The index has all objects before the
/// first handler of its controller is called, and has each change before the handlers for it are called. The entries of an object are
/// removed when it is deleted. Clones share one index; keep a clone in the handlers that read it.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use operator_runtime::handlers::{Handlers, Index, Registry};
///
/// #[derive(Default)]
/// struct Pods {
///     by_node: Index<String, String>,
/// }
///
/// impl Handlers for Pods {
///     type Resource = Pod;
///
///     fn register(&self, on: &mut Registry<Self>) {
///         on.index(&self.by_node, |pod| {
///             let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
///             node.zip(pod.metadata.name.clone())
///         });
///     }
/// }
///
/// impl Pods {
///     fn on(&self, node: &str) -> Vec<String> {
///         self.by_node.get(node)
///     }
/// }
/// ```
pub struct Index<Q, V> {
    state: Arc<Mutex<State<Q, V>>>,
    is_complete: watch::Sender<bool>,
}

struct State<Q, V> {
    /// By key, the values of each object.
    values: BTreeMap<Q, BTreeMap<Id, Vec<V>>>,
    /// The keys of each object.
    keys: HashMap<Id, Vec<Q>>,
}

/// Namespace and name of an object.
type Id = (String, String);

impl<Q, V> Clone for Index<Q, V> {
    fn clone(&self) -> Self {
        Self {
            state: self.state.clone(),
            is_complete: self.is_complete.clone(),
        }
    }
}

impl<Q, V> Default for Index<Q, V> {
    fn default() -> Self {
        let state = State {
            values: BTreeMap::new(),
            keys: HashMap::new(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            is_complete: watch::Sender::new(false),
        }
    }
}

impl<Q: Ord + Clone, V: Clone> Index<Q, V> {
    /// The values under a key, ordered by namespace and name of their objects.
    pub fn get<A>(&self, key: &A) -> Vec<V>
    where
        Q: std::borrow::Borrow<A>,
        A: Ord + ?Sized,
    {
        let state = lock(&self.state);
        let values = state.values.get(key).into_iter();
        values
            .flat_map(BTreeMap::values)
            .flatten()
            .cloned()
            .collect()
    }

    /// The keys that have values, in order.
    pub fn keys(&self) -> Vec<Q> {
        let state = lock(&self.state);
        state.values.keys().cloned().collect()
    }

    /// Waits until the index has all objects. The handlers of its own controller need not wait: they are called only after that.
    pub async fn complete(&self) {
        let mut is_complete = self.is_complete.subscribe();
        // cannot fail: `self` owns the sender
        let _ = is_complete.wait_for(|it| *it).await;
    }

    fn replace(&self, id: Id, entries: Vec<(Q, V)>) {
        let mut state = lock(&self.state);
        let State { values, keys } = &mut *state;
        for key in keys.remove(&id).unwrap_or_default() {
            if let Some(by_object) = values.get_mut(&key) {
                by_object.remove(&id);
                if by_object.is_empty() {
                    values.remove(&key);
                }
            }
        }
        for (key, value) in entries {
            let by_object = values.entry(key.clone()).or_default();
            by_object.entry(id.clone()).or_default().push(value);
            keys.entry(id.clone()).or_default().push(key);
        }
    }
}

/// An [`Index`] with keys and values of any types, and the function that fills it.
pub(super) trait AnyIndex<K: Resource<DynamicType = ()>>: Send + Sync {
    /// Replaces the entries of an object; without the object, removes them.
    fn replace(&self, key: &ObjectRef<K>, object: Option<&K>);

    /// Records that the index has all objects.
    fn complete(&self);

    /// Removes all entries, when the controller starts again and will list all objects.
    fn clear(&self);
}

/// An index, and the function that returns the entries of an object.
pub(super) struct FilledIndex<Q, V, F> {
    pub index: Index<Q, V>,
    pub entries: F,
}

impl<K, Q, V, F, I> AnyIndex<K> for FilledIndex<Q, V, F>
where
    K: Object,
    Q: Ord + Clone + Send + Sync,
    V: Clone + Send + Sync,
    F: Fn(&K) -> I + Send + Sync,
    I: IntoIterator<Item = (Q, V)>,
{
    fn replace(&self, key: &ObjectRef<K>, object: Option<&K>) {
        let id = (key.namespace.clone().unwrap_or_default(), key.name.clone());
        let entries = object.map(|object| (self.entries)(object).into_iter().collect());
        self.index.replace(id, entries.unwrap_or_default());
    }

    fn complete(&self) {
        self.index.is_complete.send_replace(true);
    }

    fn clear(&self) {
        self.index.is_complete.send_replace(false);
        let mut state = lock(&self.index.state);
        state.values.clear();
        state.keys.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_follow_their_object() {
        let index = Index::<String, u32>::default();
        let id = |name: &str| ("default".to_owned(), name.to_owned());
        let entries = |all: &[(&str, u32)]| {
            all.iter()
                .map(|(key, value)| ((*key).to_owned(), *value))
                .collect::<Vec<_>>()
        };
        index.replace(id("b"), entries(&[("x", 2), ("y", 3), ("x", 4)]));
        index.replace(id("a"), entries(&[("x", 1)]));
        assert_eq!(index.get("x"), [1, 2, 4]);
        assert_eq!(index.get("y"), [3]);
        index.replace(id("b"), entries(&[("z", 5)]));
        assert_eq!(index.keys(), ["x", "z"]);
        assert_eq!(index.get("x"), [1]);
        index.replace(id("a"), vec![]);
        assert!(index.get("x").is_empty());
        assert_eq!(index.clone().keys(), ["z"]);
    }
}
