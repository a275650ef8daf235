//! The reconciliation of an object: its finalizer, the call of the reconciler, and the handling of the result.

use std::{convert::Infallible, panic::AssertUnwindSafe, sync::Arc, time::Duration};

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
    engine::{
        decode::{forget_managers, read},
        finalizer::{Step, next_step},
        objects::Objects,
        reconciled::Observers,
    },
    error::{Error, LONGEST_DELAY, is_gone, panic_message},
    metrics::ControllerMetrics,
    style::Reconciler,
};

/// A fallback; normally the watch delivers the newer version before.
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
    /// The finalizer's conventional name.
    pub derived_finalizer: String,
}

/// Reconciles an object. Failures are reported here, and determine the time of the next attempt.
pub(crate) async fn reconcile<R: Reconciler>(
    object: Arc<R::Resource>,
    shared: Arc<Reconciliations<R>>,
) -> std::result::Result<controller::Action, Infallible> {
    let key = ObjectRef::from_obj(&*object);
    let object = match shared.controller_context.wait_to_begin().await {
        None => Some(object),
        // It may have changed, or have been deleted, meanwhile.
        Some(true) => shared.store.get(&key),
        Some(false) => None,
    };
    let queue = &shared.metrics.queue;
    let Some(object) = object else {
        queue.skip(&key, None);
        return Ok(controller::Action::await_change());
    };
    if let Some(wait) = shared.objects.begin(&key, Instant::now()) {
        queue.skip(&key, wait.delay());
        return Ok(wait.into());
    }
    let Some(object) = shared.objects.newest(&key, object) else {
        debug!(
            object = display_key(&key),
            "it was deleted, but its watch has not reported that yet"
        );
        shared.objects.succeed(&key);
        queue.skip(&key, None);
        return Ok(controller::Action::await_change());
    };
    let span = info_span!("reconcile", kind = %shared.metrics.kind, object = display_key(&key));
    #[cfg(feature = "otel")]
    {
        let attempt = shared.objects.failures(&key) + 1;
        trace::describe(&span, &shared.metrics.kind, &key, attempt);
    }
    let reconciliation = async {
        let reconciles = &shared.metrics.reconciles;
        queue.start(&key);
        reconciles.active.inc();
        let started = Instant::now();
        let done = AssertUnwindSafe(shared.attempt(&key, object.clone()))
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
            Err(error) => reconciles.done(Err(error), duration),
        }
        let result = match &done {
            Ok(Outcome::Reconciled(_)) => Some(Ok(())),
            Ok(Outcome::Gone | Outcome::Outdated) => None,
            Err(error) => Some(Err(error)),
        };
        if let Some(result) = result {
            let kind = &shared.metrics.kind;
            shared.observers.report(kind, &*object, result, duration);
        }
        let action = match done {
            Ok(Outcome::Reconciled(action)) => {
                shared.objects.succeed(&key);
                debug!(took = ?duration, "reconciled");
                action
            }
            Ok(Outcome::Gone) => {
                shared.objects.succeed(&key);
                Action::await_change()
            }
            Ok(Outcome::Outdated) => {
                debug!("the object has changed since it was read");
                Action::requeue(CONFLICT_RETRY_DELAY)
            }
            Err(error) => shared.handle_failure(&key, &object, &error).await,
        };
        queue.done(&key);
        if let Some(delay) = action.delay() {
            queue.add_after(&key, delay);
        }
        if shared.store.get(&key).is_none() {
            // It was deleted meanwhile, and nothing reports that again.
            shared.forget(&key);
        }
        shared.metrics.failing.set(shared.objects.failing() as i64);
        action
    };
    Ok(reconciliation.instrument(span).await.into())
}

impl<R: Reconciler> Reconciliations<R> {
    /// Triggers a reconciliation, because the watch has reported this version, or for another reason.
    pub fn trigger(&self, key: &ObjectRef<R::Resource>, version: Option<String>) {
        if self.store.get(key).is_some() {
            self.metrics.queue.add(key);
            self.objects.trigger(key, version);
        }
    }

    /// Records that a child of the object was deleted.
    pub fn record_lost_child(&self, key: &ObjectRef<R::Resource>) {
        if self.store.get(key).is_some() {
            self.objects.record_lost_child(key);
        }
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

    async fn attempt(
        &self,
        key: &ObjectRef<R::Resource>,
        mut object: Arc<R::Resource>,
    ) -> Result<Outcome> {
        match next_step(&*object, R::FINALIZER, &self.derived_finalizer) {
            Step::Reconcile(finalizers) => {
                if let Some(finalizers) = finalizers {
                    match self.write_finalizers(key, &object, finalizers).await? {
                        WriteOutcome::Written(written) => object = written,
                        WriteOutcome::Outdated => return Ok(Outcome::Outdated),
                        WriteOutcome::Gone => return Ok(Outcome::Gone),
                    }
                }
                let cx = self.context(key, &object);
                let done = self.reconciler.reconcile(object.clone(), &cx).await;
                self.record_writes(key, &cx);
                if cx.is_gone() {
                    self.objects.record_gone(key, object);
                    return Ok(Outcome::Gone);
                }
                match done {
                    Ok(_) if cx.is_outdated() => {
                        Ok(Outcome::Reconciled(Action::requeue(CONFLICT_RETRY_DELAY)))
                    }
                    done => done.map(Outcome::Reconciled),
                }
            }
            Step::Cleanup(finalizers) => {
                let cx = self.context(key, &object);
                let done = self.reconciler.cleanup(object.clone(), &cx).await;
                object = self.record_writes(key, &cx).unwrap_or(object);
                done?;
                if let Some(delay) = cx.cleanup_delay() {
                    return Ok(Outcome::Reconciled(Action::requeue(delay)));
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
            field_manager: Some(self.controller_context.operator.clone()),
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
                forget_managers(&mut written);
                let written = read(&written).map_err(|error| error.into_inner())?;
                let written: Arc<R::Resource> = Arc::from(written);
                self.objects.record_write(key, written.clone());
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

    fn context(&self, key: &ObjectRef<R::Resource>, object: &R::Resource) -> Context {
        let lost_child = self.objects.take_lost_child(key);
        Context::new(self.controller_context.clone(), object, lost_child)
    }

    /// Keeps the object as the reconciler's last status write returned it, until the cache has it.
    fn record_writes(
        &self,
        key: &ObjectRef<R::Resource>,
        cx: &Context,
    ) -> Option<Arc<R::Resource>> {
        if cx.has_lost_child() {
            self.record_lost_child(key);
        }
        let written = cx.written().take()?;
        let written = Arc::from(read(&written).ok()?);
        self.objects.record_write(key, Arc::clone(&written));
        Some(written)
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
        let (failures, backoff) = self.objects.fail(key);
        let delay = match error {
            Error::Temporary { delay, .. } => Some((*delay).min(LONGEST_DELAY)),
            error if error.is_permanent() => None,
            _ => Some(backoff),
        };
        match delay {
            Some(delay) => warn!(retry_in = ?delay, "{error}"),
            None => warn!("{error}; waiting for a change"),
        }
        self.objects
            .wait(key, delay.map(|delay| Instant::now() + delay));
        if let Some(reason) = error.reason(failures).filter(|_| self.reports_errors) {
            let (regarding, note) = (object.object_ref(&()), error.to_string());
            self.controller_context
                .limited_event(&regarding, EventType::Warning, reason, note)
                .await;
        }
        delay.map_or_else(Action::await_change, Action::requeue)
    }
}

/// The outcome of a reconciliation that did not fail.
enum Outcome {
    Reconciled(Action),
    /// The object was deleted, or is being deleted without our finalizer: the reconciler was not called, or its result does not matter.
    Gone,
    /// The finalizers could not be written, because the object has changed; an earlier failure is not resolved yet.
    Outdated,
}

/// The outcome of a write.
enum WriteOutcome<K> {
    Written(Arc<K>),
    /// The object has changed since it was read; the watch will report the newer version.
    Outdated,
    Gone,
}
