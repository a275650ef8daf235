//! An object's turn: its finalizer, the reconciler's call, and what follows from the result.

use std::{convert::Infallible, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use kube::{
    Resource, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{
        controller::Action,
        events::EventType,
        reflector::{ObjectRef, Store},
    },
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::{Instrument, debug, info_span, warn};

use crate::{
    Result,
    backoff::Backoffs,
    context::{Context, Controlling, place, requests},
    decode::{forget_managers, read},
    error::{Error, is_gone, panic_message},
    finalizer::{Step, step},
    metrics::KindMetrics,
    own_writes::OwnWrites,
    reconciled::Observers,
    reconciler::Reconciler,
    reports::Reports,
    wake::Wakes,
};

/// Only a net below the watch, which delivers the newer version.
const AFTER_CONFLICT: Duration = Duration::from_secs(1);

/// What the turns of a controller share.
pub(crate) struct Turns<R: Reconciler> {
    pub reconciler: Arc<R>,
    pub controlling: Arc<Controlling>,
    pub metrics: KindMetrics,
    pub backoffs: Backoffs<ObjectRef<R::Resource>>,
    pub own_writes: OwnWrites<R::Resource>,
    pub store: Store<R::Resource>,
    pub wakes: Wakes<ObjectRef<R::Resource>>,
    pub reports: Reports<ObjectRef<R::Resource>>,
    /// Whether failures become events on their objects.
    pub reports_errors: bool,
    pub observers: Observers,
    /// The finalizer's conventional name.
    pub derived: String,
}

/// Gives an object its turn. Failures are reported here, and become the time of the next try.
pub(crate) async fn reconcile<R: Reconciler>(
    object: Arc<R::Resource>,
    turns: Arc<Turns<R>>,
) -> std::result::Result<Action, Infallible> {
    let key = ObjectRef::from_obj(&*object);
    let object = match turns.controlling.wait_to_begin().await {
        true => turns.store.get(&key).unwrap_or(object),
        false => object,
    };
    if let Some(wait) = turns.wakes.begin(&key, Instant::now()) {
        return Ok(wait);
    }
    let Some(object) = turns.own_writes.newest(&key, object) else {
        debug!(
            object = place(&key),
            "it is gone, though its watch has not told"
        );
        turns.backoffs.reset(&key);
        return Ok(Action::await_change());
    };
    let span = info_span!("reconcile", kind = %turns.metrics.kind, object = place(&key));
    let turn = async {
        turns.metrics.active.inc();
        let started = Instant::now();
        let done = AssertUnwindSafe(turns.turn(&key, object.clone()))
            .catch_unwind()
            .await;
        let done = done.unwrap_or_else(|panic| {
            turns.metrics.panics.inc();
            Err(Error::Panicked(panic_message(&*panic).to_owned()))
        });
        let duration = started.elapsed();
        turns.metrics.active.dec();
        turns.metrics.duration.observe(duration.as_secs_f64());
        turns
            .metrics
            .result(done.as_ref().map_or_else(Error::label, Done::label))
            .inc();
        let result = match &done {
            Ok(Done::Reconciled(_)) => Some(Ok(())),
            Ok(Done::Gone | Done::Outdated) => None,
            Err(error) => Some(Err(error)),
        };
        if let Some(result) = result {
            let kind = &turns.metrics.kind;
            turns.observers.report(kind, &*object, result, duration);
        }
        let action = match done {
            Ok(Done::Reconciled(action)) => {
                turns.backoffs.reset(&key);
                debug!(took = ?duration, "reconciled");
                action
            }
            Ok(Done::Gone) => {
                turns.backoffs.reset(&key);
                Action::await_change()
            }
            Ok(Done::Outdated) => {
                debug!("the object has changed since it was read");
                Action::requeue(AFTER_CONFLICT)
            }
            Err(error) => turns.failed(&key, &object, &error).await,
        };
        if turns.store.get(&key).is_none() {
            // It went during its turn, and nobody will tell again.
            turns.forget(&key);
        }
        turns.metrics.failing.set(turns.backoffs.len() as i64);
        action
    };
    Ok(turn.instrument(span).await)
}

impl<R: Reconciler> Turns<R> {
    /// The object is to have a turn, because it has this version now, or for another cause.
    pub fn woken(&self, key: &ObjectRef<R::Resource>, version: Option<String>) {
        if self.store.get(key).is_some() {
            self.wakes.woken(key, version);
        }
    }

    /// The object is gone, or out of reach.
    pub fn forget(&self, key: &ObjectRef<R::Resource>) {
        self.backoffs.reset(key);
        self.own_writes.forget(key);
        let owner = (key.namespace.clone(), key.name.clone());
        self.controlling.bereft().remove(&owner);
        self.wakes.forget(key);
        self.metrics.failing.set(self.backoffs.len() as i64);
    }

    /// Whether this controller, now or in an earlier version, set the finalizer.
    pub fn is_own_finalizer(&self, name: &str) -> bool {
        R::FINALIZER == Some(name) || name == self.derived
    }

    async fn turn(
        &self,
        key: &ObjectRef<R::Resource>,
        mut object: Arc<R::Resource>,
    ) -> Result<Done> {
        match step(&*object, R::FINALIZER, &self.derived) {
            Step::Reconcile(finalizers) => {
                if let Some(finalizers) = finalizers {
                    match self.write_finalizers(key, &object, finalizers).await? {
                        Written::Now(written) => object = written,
                        Written::Outdated => return Ok(Done::Outdated),
                        Written::Gone => return Ok(Done::Gone),
                    }
                }
                let cx = Context::new(self.controlling.clone(), &*object);
                let done = self.reconciler.reconcile(object.clone(), &cx).await;
                self.note_writes(key, &cx);
                if cx.found_gone() {
                    self.own_writes.found_gone(key.clone(), object);
                    return Ok(Done::Gone);
                }
                match done {
                    Ok(action) if cx.found_outdated() && action == Action::await_change() => {
                        Ok(Done::Reconciled(Action::requeue(AFTER_CONFLICT)))
                    }
                    done => done.map(Done::Reconciled),
                }
            }
            Step::Cleanup(finalizers) => {
                let cx = Context::new(self.controlling.clone(), &*object);
                let done = self.reconciler.cleanup(object.clone(), &cx).await;
                object = self.note_writes(key, &cx).unwrap_or(object);
                done?;
                self.let_go(key, &object, finalizers).await
            }
            Step::LetGo(Some(finalizers)) => {
                let done = self.let_go(key, &object, finalizers).await?;
                Ok(match done {
                    Done::Reconciled(_) => Done::Gone,
                    done => done,
                })
            }
            Step::LetGo(None) => Ok(Done::Gone),
        }
    }

    async fn let_go(
        &self,
        key: &ObjectRef<R::Resource>,
        object: &Arc<R::Resource>,
        finalizers: Vec<String>,
    ) -> Result<Done> {
        Ok(
            match self.write_finalizers(key, object, finalizers).await? {
                Written::Outdated => Done::Outdated,
                Written::Now(_) | Written::Gone => Done::Reconciled(Action::await_change()),
            },
        )
    }

    /// Replaces the finalizers of the version of `object` that we have, and of no other.
    async fn write_finalizers(
        &self,
        key: &ObjectRef<R::Resource>,
        object: &Arc<R::Resource>,
        finalizers: Vec<String>,
    ) -> Result<Written<R::Resource>> {
        let version = object.resource_version();
        let patch = json!({ "metadata": { "resourceVersion": version, "finalizers": finalizers } });
        let parameters = PatchParams {
            field_manager: Some(self.controlling.operator.clone()),
            ..PatchParams::default()
        };
        let request = requests::<R::Resource>(object.namespace().as_deref())
            .patch(&object.name_any(), &parameters, &Patch::Merge(&patch))
            .map_err(kube::Error::BuildRequest)?;
        match self.controlling.client.request::<Value>(request).await {
            Ok(mut written) => {
                forget_managers(&mut written);
                let written = read(&written).map_err(|error| error.into_inner())?;
                let written: Arc<R::Resource> = Arc::from(written);
                self.own_writes.wrote(key.clone(), written.clone());
                Ok(Written::Now(written))
            }
            Err(kube::Error::Api(refused)) if refused.code == 409 => Ok(Written::Outdated),
            Err(error) if is_gone(&error) => {
                self.own_writes.found_gone(key.clone(), object.clone());
                Ok(Written::Gone)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps the object as the reconciler's status write left it, until the cache has it.
    fn note_writes(&self, key: &ObjectRef<R::Resource>, cx: &Context) -> Option<Arc<R::Resource>> {
        let written = cx.written().take()?;
        let written = Arc::from(read(&written).ok()?);
        self.own_writes.wrote(key.clone(), Arc::clone(&written));
        Some(written)
    }

    /// Reports a failure, and says when to try again.
    async fn failed(
        &self,
        key: &ObjectRef<R::Resource>,
        object: &R::Resource,
        error: &Error,
    ) -> Action {
        let (failures, backoff) = self.backoffs.failed(key);
        let delay = match error {
            Error::Temporary { delay, .. } => Some(*delay),
            error if error.is_permanent() => None,
            _ => Some(backoff),
        };
        match delay {
            Some(delay) => warn!(retry_in = ?delay, "{error}"),
            None => warn!("{error}; waiting for a change"),
        }
        if let Some(wrote) = self.own_writes.version(key) {
            let until = delay.map(|delay| Instant::now() + delay);
            self.wakes.wait(key, until, wrote);
        }
        if let Some(reason) = error.reason(failures).filter(|_| self.reports_errors) {
            let (regarding, note) = (object.object_ref(&()), error.to_string());
            self.controlling
                .limited_event(&regarding, EventType::Warning, reason, note)
                .await;
        }
        delay.map_or_else(Action::await_change, Action::requeue)
    }
}

/// How a turn ended that did not fail.
enum Done {
    Reconciled(Action),
    /// Its object is deleted, or being deleted and not ours to clean up: the reconciler was not called, or for nothing.
    Gone,
    /// Its finalizers could not be written, as the object has changed; what failed before is not mended yet.
    Outdated,
}

impl Done {
    /// The metrics' label.
    fn label(&self) -> &'static str {
        match self {
            Self::Reconciled(_) | Self::Gone => "success",
            Self::Outdated => "conflict",
        }
    }
}

/// What became of a write.
enum Written<K> {
    Now(Arc<K>),
    /// The object has changed since we read it; its newer version is on the way.
    Outdated,
    Gone,
}
