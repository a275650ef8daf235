//! The options of a controller that do not change its permissions: the objects that it gets, the parts of them that it caches, and the
//! times at which it reconciles them.

use std::{any::TypeId, fmt, num::NonZeroU16, sync::Arc, time::Duration};

use kube::{Resource, api::ObjectMeta};

/// The options of a controller; see [`Reconciler::options`](crate::Reconciler::options).
///
/// ```
/// use std::{num::NonZeroU16, time::Duration};
///
/// use k8s_openapi::api::core::v1::Pod;
/// use operator_runtime::ControllerOptions;
///
/// let options = ControllerOptions::<Pod>::default()
///     .labels("app=web,tier!=test")
///     .fields("spec.nodeName=node-1")
///     .resync(Duration::from_secs(45))
///     .workers(NonZeroU16::MIN)
///     .retry_limit(5)
///     .reduce(|pod| pod.status = None);
/// # drop(options);
/// ```
#[must_use]
pub struct ControllerOptions<K> {
    pub(crate) selection: Selection,
    pub(crate) reduction: Option<Reduction<K>>,
    pub(crate) resync: Option<Duration>,
    pub(crate) workers: Option<NonZeroU16>,
    pub(crate) retry_limit: Option<u32>,
}

impl<K> Default for ControllerOptions<K> {
    fn default() -> Self {
        Self {
            selection: Selection::default(),
            reduction: None,
            resync: None,
            workers: None,
            retry_limit: None,
        }
    }
}

impl<K> ControllerOptions<K> {
    /// Reconciles only the objects that match this
    /// [label selector](https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors), such as `app=web`. The
    /// API server applies it, so other objects are neither transferred nor cached.
    ///
    /// An object that no longer matches counts as deleted for this controller. If it has the controller's finalizer, the finalizer is never
    /// removed, because the controller no longer gets the object. So if the controller has a finalizer, select by labels that do not
    /// change.
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.selection.labels = Some(selector.into());
        self
    }

    /// Reconciles only the objects that match this
    /// [field selector](https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/), such as
    /// `spec.nodeName=node-1`. Each kind supports only a few fields. Otherwise like [`labels`](Self::labels).
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.selection.fields = Some(selector.into());
        self
    }

    /// Reconciles each object again after this time, even if nothing has changed, if the reconciler returned
    /// [`Action::await_change`](crate::Action::await_change). Without this option, it waits for a change.
    ///
    /// An object that has failed is retried according to its error; one that waits for a change after a
    /// [permanent error](crate::Error::permanent) or at the [retry limit](Self::retry_limit) is not reconciled again by this.
    pub fn resync(mut self, after: Duration) -> Self {
        self.resync = Some(after);
        self
    }

    /// The maximum number of objects that this controller handles at the same time. The default is
    /// [`Settings::concurrency`](crate::Settings::concurrency). One object is never handled twice at the same time.
    pub fn workers(mut self, workers: NonZeroU16) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Stops retrying an object after this number of consecutive failed attempts, the first included; 0 counts as 1. Without this option,
    /// it is retried until it succeeds.
    ///
    /// The object is then left alone until it changes, a child changes, or a watched object for which
    /// [`parents`](crate::Reconciler::parents) returns it changes. Then the count of attempts starts again. An event `RetryLimitReached` on
    /// the object reports it, unless error events are turned off, and the metrics continue to count the object as failing. Each error
    /// counts, also a [temporary](crate::Error::temporary) one. A [cleanup](crate::Reconciler::cleanup) is retried without a limit, because
    /// the finalizer blocks the deletion. A restart of the operator resets the attempts.
    pub fn retry_limit(mut self, attempts: u32) -> Self {
        self.retry_limit = Some(attempts.max(1));
        self
    }

    /// Reduces each object before it is cached, to save memory: for example, drops fields that the controller does not read. The
    /// reconciler gets the reduced objects. To read metadata only, use
    /// [`PartialObjectMeta<K>`](kube::core::PartialObjectMeta) as [`Reconciler::Resource`](crate::Reconciler::Resource) instead: then
    /// nothing else is transferred.
    ///
    /// 10,000 Pods of 10 KB take 446 MiB whole, 75 MiB with the function of the example, and 56 MiB as metadata.
    ///
    /// The runtime restores the fields of the metadata that it needs: name, namespace, uid, version, generation, deletion and finalizers.
    /// Objects have no `managedFields`. Keep the status if the controller writes it: the runtime recognizes an unchanged status only if
    /// the object has it, and sends the status each time otherwise. An [external](crate::External) controller cannot reduce its objects,
    /// because annotations and the spec decide what happens to their external resources.
    ///
    /// Controllers of one kind share a cache if they reduce objects by the same function: two closures differ, even if their code is
    /// equal.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use operator_runtime::ControllerOptions;
    /// fn keep_phase(pod: &mut Pod) {
    ///     pod.spec = None;
    ///     let phase = pod.status.take().and_then(|status| status.phase);
    ///     pod.status.get_or_insert_default().phase = phase;
    /// }
    ///
    /// let options = ControllerOptions::default().reduce(keep_phase);
    /// # drop(options);
    /// ```
    pub fn reduce<F>(mut self, reduce: F) -> Self
    where
        F: Fn(&mut K) + Send + Sync + 'static,
    {
        // a function, or a closure that captures nothing, is identified by its type
        let id = (size_of::<F>() == 0).then(TypeId::of::<F>);
        self.reduction = Some(Reduction {
            id,
            reduce: Arc::new(reduce),
        });
        self
    }
}

/// Copies the options; the function of [`reduce`](ControllerOptions::reduce) is shared.
impl<K> Clone for ControllerOptions<K> {
    fn clone(&self) -> Self {
        Self {
            selection: self.selection.clone(),
            reduction: self.reduction.clone(),
            ..*self
        }
    }
}

impl<K> fmt::Debug for ControllerOptions<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerOptions")
            .field("labels", &self.selection.labels)
            .field("fields", &self.selection.fields)
            .field("resync", &self.resync)
            .field("workers", &self.workers)
            .field("retry_limit", &self.retry_limit)
            .field("reduces", &self.reduction.is_some())
            .finish()
    }
}

/// The selectors of a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    pub labels: Option<String>,
    pub fields: Option<String>,
}

impl Selection {
    /// Whether all objects are selected.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// The function that removes fields from objects before they are cached.
pub(crate) struct Reduction<K> {
    /// `None` for a closure with captured values, which equals only itself.
    id: Option<TypeId>,
    reduce: Arc<dyn Fn(&mut K) + Send + Sync>,
}

impl<K> Clone for Reduction<K> {
    fn clone(&self) -> Self {
        Self {
            id: self.id,
            reduce: self.reduce.clone(),
        }
    }
}

impl<K> PartialEq for Reduction<K> {
    fn eq(&self, other: &Self) -> bool {
        self.id.is_some() && self.id == other.id
    }
}

impl<K: Resource> Reduction<K> {
    /// Reduces the object, except for the metadata on which the runtime relies.
    pub fn apply(&self, object: &mut K) {
        let before = object.meta();
        let kept = ObjectMeta {
            name: before.name.clone(),
            namespace: before.namespace.clone(),
            uid: before.uid.clone(),
            resource_version: before.resource_version.clone(),
            generation: before.generation,
            deletion_timestamp: before.deletion_timestamp.clone(),
            finalizers: before.finalizers.clone(),
            ..ObjectMeta::default()
        };
        (self.reduce)(object);
        let reduced = object.meta_mut();
        *reduced = ObjectMeta {
            name: kept.name,
            namespace: kept.namespace,
            uid: kept.uid,
            resource_version: kept.resource_version,
            generation: kept.generation,
            deletion_timestamp: kept.deletion_timestamp,
            finalizers: kept.finalizers,
            ..std::mem::take(reduced)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn reduction(
        reduce: impl Fn(&mut ConfigMap) + Send + Sync + 'static,
    ) -> Option<Reduction<ConfigMap>> {
        ControllerOptions::default().reduce(reduce).reduction
    }

    fn without_data(object: &mut ConfigMap) {
        object.data = None;
    }

    #[test]
    fn only_the_same_function_is_the_same_reduction() {
        assert!(reduction(without_data) == reduction(without_data));
        let closure = |object: &mut ConfigMap| object.data = None;
        assert!(reduction(closure) == reduction(closure));
        assert!(reduction(closure) != reduction(without_data));
        let keeping = |key: &'static str| {
            reduction(move |object| {
                let data = object.data.iter_mut();
                data.for_each(|data| data.retain(|name, _| name == key));
            })
        };
        assert!(keeping("a") != keeping("b"), "what is captured may differ");
    }

    #[test]
    fn a_reduction_cannot_remove_what_the_runtime_needs() {
        let mut object = ConfigMap::default();
        object.metadata.name = Some("a".into());
        object.metadata.resource_version = Some("1".into());
        object.metadata.finalizers = Some(vec!["x/y".into()]);
        object.metadata.labels = Some([("a".into(), "b".into())].into());
        object.data = Some([("a".into(), "b".into())].into());
        let nothing = |object: &mut ConfigMap| *object = ConfigMap::default();
        reduction(nothing).unwrap().apply(&mut object);
        assert_eq!((object.data, object.metadata.labels), (None, None));
        assert_eq!(object.metadata.name.as_deref(), Some("a"));
        assert_eq!(object.metadata.resource_version.as_deref(), Some("1"));
        assert_eq!(object.metadata.finalizers, Some(vec!["x/y".into()]));
    }
}
