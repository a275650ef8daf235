//! The reconciliation of an object: its finalizer, the call of the reconciler, and the handling of the result.

use std::{
    convert::Infallible,
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use futures::FutureExt;
use kube::{
    Resource, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{
        controller,
        events::EventType,
        reflector::{ObjectRef, Store},
    },
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::{Instrument, debug, info_span, warn};

#[cfg(feature = "otel")]
use crate::trace;
use crate::{
    Action, Result,
    context::{Context, ControllerContext, display_key, requests},
    controller_options::Reduction,
    engine::{
        decode::read,
        finalizer::{Step, next_step},
        identity::Identity,
        object_locks::ObjectLocks,
        objects::Objects,
        reconciled::Observers,
    },
    error::{Error, LONGEST_DELAY, is_gone, panic_message},
    health::Health,
    metrics::ControllerMetrics,
    style::Reconciler,
};

/// The delay after a conflict. A fallback: normally, the watch delivers the newer version before, which triggers the reconciliation.
const CONFLICT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// What the reconciliations of a controller share.
pub(crate) struct Reconciliations<R: Reconciler> {
    pub reconciler: Arc<R>,
    pub controller_context: Arc<ControllerContext>,
    pub metrics: ControllerMetrics,
    pub objects: Objects<R::Resource>,
    pub store: Store<R::Resource>,
    /// Whether failures become events on their objects.
    pub reports_errors: bool,
    pub observers: Observers,
    pub health: Arc<Health>,
    /// The finalizer's conventional name.
    pub derived_finalizer: String,
    pub locks: ObjectLocks<R::Resource>,
    pub reduction: Option<Reduction<R::Resource>>,
    /// The time after which an object is reconciled again without a change.
    pub resync: Option<Duration>,
    /// The number of failed attempts after which an object is not retried until it changes.
    pub retry_limit: Option<u32>,
    /// Whether the cache has become complete, and the next change to report to [`Reconciler::cached`] is its first list.
    pub is_first_list: AtomicBool,
}

/// Reconciles an object. Failures are reported here, and determine the time of the next attempt.
pub(crate) async fn reconcile<R: Reconciler>(
    object: Arc<R::Resource>,
    shared: Arc<Reconciliations<R>>,
) -> std::result::Result<controller::Action, Infallible> {
    let key = ObjectRef::from_obj(&*object);
    let start = shared.controller_context.wait_to_begin().await;
    let _guard = match start {
        Some(false) => return Ok(controller::Action::await_change()),
        _ => shared.locks.reconcile(&key).await,
    };
    let queue = &shared.metrics.queue;
    // the object may have changed, or have been deleted and forgotten, since kube's controller took it from the cache
    let Some(object) = shared.store.get(&key) else {
        queue.forget(&key);
        return Ok(controller::Action::await_change());
    };
    if let Some(wait) = shared.objects.begin(&key, Instant::now()) {
        queue.skip(&key, wait.delay(), || shared.exists(&key));
        return Ok(wait.into());
    }
    let newest = shared.objects.newest(&key, object);
    let Some(object) = newest.filter(|it| shared.has(&key, it)) else {
        debug!(object = display_key(&key), "it was deleted");
        // Only the failures are reset: the watch calls `forget` when it removes the object from the cache.
        shared.objects.succeed(&key);
        queue.forget(&key);
        return Ok(controller::Action::await_change());
    };
    let Identity { name, kind, .. } = &shared.controller_context.identity;
    let span = info_span!("reconcile", %kind, controller = name, object = display_key(&key));
    #[cfg(feature = "otel")]
    {
        let attempt = shared.objects.failures(&key) + 1;
        trace::describe(&span, &shared.controller_context.identity, &key, attempt);
    }
    let action = shared.attempt_measured(&key, object).instrument(span).await;
    Ok(action.into())
}

impl<R: Reconciler> Reconciliations<R> {
    /// Reconciles an object once, and records, reports and logs the result. Returns when to reconcile it again.
    async fn attempt_measured(
        &self,
        key: &ObjectRef<R::Resource>,
        object: Arc<R::Resource>,
    ) -> Action {
        let queue = &self.metrics.queue;
        let reconciles = &self.metrics.reconciles;
        queue.start(key);
        reconciles.active.inc();
        let started = Instant::now();
        let done = AssertUnwindSafe(self.attempt(key, object.clone()))
            .catch_unwind()
            .await;
        let done = done.unwrap_or_else(|panic| {
            reconciles.panics.inc();
            Err(Error::Panicked(panic_message(&*panic).to_owned()))
        });
        let duration = started.elapsed();
        reconciles.active.dec();
        match &done {
            Ok(Outcome::Reconciled(action)) => reconciles.done(Ok(action), duration),
            Ok(Outcome::Gone) => reconciles.done(Ok(&Action::await_change()), duration),
            Ok(Outcome::Outdated) => reconciles.outdated(duration),
            Ok(Outcome::Failed(error, _)) => reconciles.done(Err(error), duration),
            Err(error) => reconciles.done(Err(error), duration),
        }
        let result = match &done {
            Ok(Outcome::Reconciled(_)) => Some(Ok(())),
            Ok(Outcome::Gone | Outcome::Outdated) => None,
            Ok(Outcome::Failed(error, _)) | Err(error) => Some(Err(error)),
        };
        if let Some(result) = result {
            let identity = &self.controller_context.identity;
            let observers = &self.observers;
            observers.report(identity, &*object, result, duration);
        }
        let action = match done {
            Ok(Outcome::Reconciled(action)) => {
                self.objects.succeed(key);
                debug!(took = ?duration, "reconciled");
                action
            }
            Ok(Outcome::Gone) => {
                self.objects.succeed(key);
                Action::await_change()
            }
            Ok(Outcome::Outdated) => {
                debug!("the object has changed since it was read");
                Action::requeue(CONFLICT_RETRY_DELAY)
            }
            Ok(Outcome::Failed(error, action)) => {
                #[cfg(feature = "otel")]
                trace::failed(&error);
                debug!(took = ?duration, "{error}");
                self.objects.fail(key, None);
                action
            }
            Err(error) => self.handle_failure(key, &object, &error).await,
        };
        queue.done(key);
        if let Some(delay) = action.delay() {
            queue.add_after(key, delay);
        }
        if !self.has(key, &object) {
            self.controller_context.status_owners.forget(object.meta());
        }
        if !self.exists(key) {
            // It was deleted meanwhile. The watch has called `forget` already, so what was recorded since is removed here.
            self.forget(key);
        }
        self.metrics.failing.set(self.objects.failing() as i64);
        action
    }

    /// Triggers a reconciliation, because the watch has reported this version, or for another reason.
    pub fn trigger(&self, key: &ObjectRef<R::Resource>, version: Option<String>) {
        self.metrics.queue.add(key, || self.exists(key));
        self.objects.trigger(key, version, || self.exists(key));
    }

    /// Records that a child of the object was deleted.
    pub fn record_lost_child(&self, key: &ObjectRef<R::Resource>) {
        self.objects.record_lost_child(key, || self.exists(key));
    }

    /// Whether the cache has a version of this object.
    fn has(&self, key: &ObjectRef<R::Resource>, object: &R::Resource) -> bool {
        let cached = self.store.get(key);
        cached.is_some_and(|cached| cached.meta().uid == object.meta().uid)
    }

    /// Whether the cache has an object with this name.
    fn exists(&self, key: &ObjectRef<R::Resource>) -> bool {
        self.store.get(key).is_some()
    }

    /// Forgets an object that was deleted, or cannot be decoded.
    pub fn forget(&self, key: &ObjectRef<R::Resource>) {
        self.objects.forget(key);
        self.metrics.queue.forget(key);
        self.metrics.failing.set(self.objects.failing() as i64);
    }

    /// Whether this controller, now or in an earlier version, set the finalizer.
    pub fn is_own_finalizer(&self, name: &str) -> bool {
        R::FINALIZER == Some(name) || name == self.derived_finalizer
    }

    /// Reconciles the object or cleans it up, and writes its finalizers.
    async fn attempt(
        &self,
        key: &ObjectRef<R::Resource>,
        mut object: Arc<R::Resource>,
    ) -> Result<Outcome> {
        let needed = R::FINALIZER.filter(|_| self.reconciler.needs_finalizer(&object));
        match next_step(&*object, needed, |name| self.is_own_finalizer(name)) {
            Step::Reconcile(finalizers) => {
                if let Some(finalizers) = finalizers {
                    match self.write_finalizers(key, &object, finalizers).await? {
                        WriteOutcome::Written(written) => object = written,
                        WriteOutcome::Outdated => return Ok(Outcome::Outdated),
                        WriteOutcome::Gone => return Ok(Outcome::Gone),
                    }
                }
                let cx = self.context(key, &object);
                let done = self.reconciler.reconcile(object.clone(), &cx);
                let done = cx.about(&*object, done).await;
                self.record_writes(key, &cx);
                if cx.is_gone() {
                    self.objects.record_gone(key, object);
                    return Ok(Outcome::Gone);
                }
                match done {
                    Ok(_) if cx.is_outdated() => {
                        Ok(Outcome::Reconciled(Action::requeue(CONFLICT_RETRY_DELAY)))
                    }
                    done => {
                        let action = self.with_resync(done?);
                        Ok(match cx.take_failure() {
                            Some(error) => Outcome::Failed(error, action),
                            None => Outcome::Reconciled(action),
                        })
                    }
                }
            }
            Step::Cleanup(finalizers) => {
                let cx = self.context(key, &object);
                let done = self.reconciler.cleanup(object.clone(), &cx);
                let done = cx.about(&*object, done).await;
                object = self.record_writes(key, &cx).unwrap_or(object);
                done?;
                if let Some(delay) = cx.cleanup_delay() {
                    let action = Action::requeue(delay);
                    return Ok(match cx.take_failure() {
                        Some(error) => Outcome::Failed(error, action),
                        None => Outcome::Reconciled(action),
                    });
                }
                self.remove_finalizers(key, &object, finalizers).await
            }
            Step::RemoveFinalizers(Some(finalizers)) => {
                let done = self.remove_finalizers(key, &object, finalizers).await?;
                Ok(match done {
                    Outcome::Reconciled(_) => Outcome::Gone,
                    done => done,
                })
            }
            Step::RemoveFinalizers(None) => Ok(Outcome::Gone),
        }
    }

    /// Replaces the finalizers by those of others. A missing object is no failure.
    async fn remove_finalizers(
        &self,
        key: &ObjectRef<R::Resource>,
        object: &Arc<R::Resource>,
        finalizers: Vec<String>,
    ) -> Result<Outcome> {
        Ok(
            match self.write_finalizers(key, object, finalizers).await? {
                WriteOutcome::Outdated => Outcome::Outdated,
                WriteOutcome::Written(_) | WriteOutcome::Gone => {
                    Outcome::Reconciled(Action::await_change())
                }
            },
        )
    }

    /// Replaces the finalizers, of exactly this version of `object`.
    async fn write_finalizers(
        &self,
        key: &ObjectRef<R::Resource>,
        object: &Arc<R::Resource>,
        finalizers: Vec<String>,
    ) -> Result<WriteOutcome<R::Resource>> {
        let version = object.resource_version();
        let patch = json!({ "metadata": { "resourceVersion": version, "finalizers": finalizers } });
        let parameters = PatchParams {
            field_manager: Some(self.controller_context.manager.clone()),
            ..PatchParams::default()
        };
        let request = requests::<R::Resource>(object.namespace().as_deref())
            .patch(&object.name_any(), &parameters, &Patch::Merge(&patch))
            .map_err(kube::Error::BuildRequest)?;
        match self
            .controller_context
            .client
            .request::<Value>(request)
            .await
        {
            Ok(mut written) => {
                self.controller_context.take_status_owners(&mut written);
                let written = self.read(&written)?;
                if written.meta().deletion_timestamp.is_some() && written.finalizers().is_empty() {
                    // The API server deletes it with its last finalizer, but the response looks like that of an update.
                    self.objects.record_gone(key, written.clone());
                } else {
                    self.objects.record_write(key, written.clone());
                }
                Ok(WriteOutcome::Written(written))
            }
            Err(kube::Error::Api(refused)) if refused.code == 409 => Ok(WriteOutcome::Outdated),
            Err(error) if is_gone(&error) => {
                self.objects.record_gone(key, object.clone());
                Ok(WriteOutcome::Gone)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The context of a reconciliation. It takes over whether a child was lost, which [`record_writes`](Self::record_writes) gives back.
    fn context(&self, key: &ObjectRef<R::Resource>, object: &R::Resource) -> Context {
        let lost_child = self.objects.take_lost_child(key);
        Context::new(self.controller_context.clone(), object, lost_child)
    }

    /// Records the writes of a reconciliation to its object, of which the last is used until the cache has it, and whether it lost a child.
    fn record_writes(
        &self,
        key: &ObjectRef<R::Resource>,
        cx: &Context,
    ) -> Option<Arc<R::Resource>> {
        if cx.has_lost_child() {
            self.record_lost_child(key);
        }
        for version in cx.earlier_writes().drain(..) {
            self.objects.record_earlier_write(key, version);
        }
        let written = cx.written().take()?;
        let written = self.read(&written).ok()?;
        self.objects.record_write(key, Arc::clone(&written));
        Some(written)
    }

    /// Decodes the response to a write, and reduces the object as the cache does.
    fn read(&self, written: &Value) -> serde_json::Result<Arc<R::Resource>> {
        let mut object: Box<R::Resource> =
            read(written).map_err(serde_path_to_error::Error::into_inner)?;
        if let Some(reduction) = &self.reduction {
            reduction.apply(&mut object);
        }
        Ok(Arc::from(object))
    }

    fn with_resync(&self, action: Action) -> Action {
        match self.resync {
            Some(resync) if action == Action::await_change() => {
                Action::requeue(resync.min(LONGEST_DELAY))
            }
            _ => action,
        }
    }

    /// Reports a failure, and returns when to retry.
    async fn handle_failure(
        &self,
        key: &ObjectRef<R::Resource>,
        object: &R::Resource,
        error: &Error,
    ) -> Action {
        #[cfg(feature = "otel")]
        trace::failed(error);
        let (failures, backoff) = self.objects.fail(key, error.delay());
        // no limit for an object that is being deleted, because our finalizer blocks its deletion
        let limit = self
            .retry_limit
            .filter(|_| object.meta().deletion_timestamp.is_none());
        let limit = limit.filter(|limit| failures >= *limit && !error.is_permanent());
        let delay = match error {
            error if limit.is_some() || error.is_permanent() => None,
            _ => Some(backoff),
        };
        match delay {
            Some(delay) => warn!(retry_in = ?delay, "{error}"),
            None => warn!("{error}; waiting for a change"),
        }
        let until = delay.map(|delay| Instant::now() + delay);
        self.objects.wait(key, until, object.resource_version());
        if limit.is_some() {
            self.objects.give_up(key);
        }
        if self.reports_errors {
            let regarding = object.object_ref(&());
            let context = &self.controller_context;
            // Some errors are reported only from the second failure on; at the limit, any error is.
            let persistence = limit.map_or(failures, |_| failures.max(2));
            if let Some(reason) = error.reason(persistence) {
                let note = error.to_string();
                context
                    .limited_event(&regarding, EventType::Warning, reason, note)
                    .await;
            }
            if let Some(limit) = limit {
                let note = format!("left alone after {limit} failed attempts, until it changes");
                context
                    .event(&regarding, EventType::Warning, "RetryLimitReached", note)
                    .await;
            }
        }
        delay.map_or_else(Action::await_change, Action::requeue)
    }
}

/// The outcome of a reconciliation that returned no error.
enum Outcome {
    Reconciled(Action),
    /// A handler has failed, which it has reported, and is retried separately.
    Failed(Error, Action),
    /// The object was deleted, or is being deleted without our finalizer: the reconciler was not called, or its result does not matter.
    Gone,
    /// The finalizers could not be written, because the object has changed. The count of failures stays as it is.
    Outdated,
}

/// The outcome of a write of the finalizers.
enum WriteOutcome<K> {
    Written(Arc<K>),
    /// The object has changed since it was read; the watch will report the newer version.
    Outdated,
    Gone,
}

#[cfg(test)]
mod tests;
