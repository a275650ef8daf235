//! The timers and daemons of objects: a task for each, as long as the object exists and their filters accept it.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::runtime::events::EventType;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use tracing::{Instrument, info_span, warn};

use super::{
    Handlers,
    call::{About, Call},
    cause::Cause,
    filter::Filter,
    journal::{Journal, now},
    memo::Memo,
    progress::Progress,
    subhandler::Scope,
};
use crate::{
    Context, Error, Result, engine::objects::Backoff, error::panic_message, lock::lock,
    retries::Retries, style::Object,
};

/// A timer or daemon, as it was registered.
pub(super) struct Background<H: Handlers> {
    pub id: String,
    /// [`Cause::Timer`] or [`Cause::Daemon`].
    pub cause: Cause,
    pub filter: Filter<H::Resource>,
    pub retries: Retries,
    pub schedule: Schedule,
    pub run: RunBackground<H>,
    /// Whether it returns a value.
    pub has_result: bool,
    /// The field of the status that gets the value.
    pub result: Option<String>,
}

/// Calls a timer or daemon.
pub(super) type RunBackground<H> = Box<
    dyn Fn(
            Arc<H>,
            Call<<H as Handlers>::Resource>,
            Lifetime<<H as Handlers>::Resource>,
        ) -> BoxFuture<'static, Result<Value>>
        + Send
        + Sync,
>;

/// When a timer or daemon is called. With neither `interval` nor `idle`, it is called once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    pub interval: Option<Duration>,
    /// How long the object must not have changed. Without an interval, it is called once after each change.
    pub idle: Option<Duration>,
    /// The time before the first call.
    pub delay: Duration,
    /// Whether the interval counts from the beginning of a tick, and not from its end.
    pub is_sharp: bool,
    /// How long the task may take to end once it should stop.
    pub grace: Duration,
}

/// The latest version of a task's object, and the signal that the task should stop.
#[derive(Clone)]
pub(super) struct Lifetime<K> {
    pub latest: watch::Receiver<Latest<K>>,
    pub stop: CancellationToken,
}

/// An object as it was seen last.
#[derive(Debug)]
pub(super) struct Latest<K> {
    pub object: Arc<K>,
    /// When its essence was last seen to change.
    pub changed: Instant,
}

impl<K> Clone for Latest<K> {
    fn clone(&self) -> Self {
        Self {
            object: self.object.clone(),
            changed: self.changed,
        }
    }
}

/// The tasks of all objects of a controller. Dropping it aborts them.
pub(super) struct Tasks<H: Handlers> {
    backoff: Backoff,
    objects: Mutex<HashMap<String, ObjectTasks<H::Resource>>>,
    tracker: TaskTracker,
    /// Stops all tasks, which then have their grace periods.
    stop: CancellationToken,
    /// Ends all tasks at once.
    abort: CancellationToken,
}

/// The tasks of one object.
struct ObjectTasks<K> {
    essence: Value,
    latest: watch::Sender<Latest<K>>,
    /// By the ids of the timers and daemons. A task that has ended by itself stays here until its filter rejects the object.
    running: HashMap<String, Task>,
}

struct Task {
    stop: CancellationToken,
    /// Cancelled when it has ended.
    ended: CancellationToken,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// What the task of a timer or daemon needs.
struct Worker<H: Handlers> {
    handlers: Arc<H>,
    all: Arc<Vec<Background<H>>>,
    index: usize,
    memo: Memo,
    context: Context,
    lifetime: Lifetime<H::Resource>,
    backoff: Backoff,
    random: RandomState,
    /// Cancelled when the previous task of this timer or daemon has ended, which may still be in its grace period.
    before: Option<CancellationToken>,
    /// Cancels `ended` of the [`Task`] when the worker is dropped.
    _ended: DropGuard,
}

impl<H: Handlers> Tasks<H> {
    pub fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            objects: Mutex::default(),
            tracker: TaskTracker::new(),
            stop: CancellationToken::new(),
            abort: CancellationToken::new(),
        }
    }

    /// Starts the timers and daemons whose filters accept the object, and stops the others.
    pub fn sync(
        &self,
        (handlers, all): (&Arc<H>, &Arc<Vec<Background<H>>>),
        object: &Arc<H::Resource>,
        essence: &Value,
        memo: Memo,
        cx: &Context,
    ) {
        if all.is_empty() || self.stop.is_cancelled() {
            return;
        }
        let latest = || Latest {
            object: object.clone(),
            changed: Instant::now(),
        };
        let mut objects = lock(&self.objects);
        let uid = object.uid().unwrap_or_default();
        let tasks = objects.entry(uid).or_insert_with(|| ObjectTasks {
            essence: essence.clone(),
            latest: watch::Sender::new(latest()),
            running: HashMap::new(),
        });
        let has_changed = tasks.essence != *essence;
        tasks.latest.send_modify(|known| {
            known.object = object.clone();
            if has_changed {
                known.changed = Instant::now();
            }
        });
        if has_changed {
            tasks.essence = essence.clone();
        }
        for (index, background) in all.iter().enumerate() {
            if !background.filter.accepts(object) {
                if let Some(task) = tasks.running.get(&background.id) {
                    task.stop.cancel();
                    if task.ended.is_cancelled() {
                        tasks.running.remove(&background.id);
                    }
                }
                continue;
            }
            let before = match tasks.running.get(&background.id) {
                Some(task) if task.stop.is_cancelled() => Some(task.ended.clone()),
                Some(_) => continue,
                None => None,
            };
            let stop = self.stop.child_token();
            let ended = CancellationToken::new();
            let worker = Worker {
                handlers: handlers.clone(),
                all: all.clone(),
                index,
                memo: memo.clone(),
                context: cx.background(&**object),
                lifetime: Lifetime {
                    latest: tasks.latest.subscribe(),
                    stop: stop.clone(),
                },
                backoff: self.backoff,
                random: RandomState::new(),
                before,
                _ended: ended.clone().drop_guard(),
            };
            let span = info_span!("background", handler = background.id, object = cx.display());
            let abort = self.abort.clone();
            let work = async move {
                tokio::select! {
                    biased;
                    () = abort.cancelled() => {}
                    () = worker.work() => {}
                }
            };
            let work = work.instrument(span);
            self.tracker.spawn(cx.shared().tasks.track(work));
            let task = Task { stop, ended };
            tasks.running.insert(background.id.clone(), task);
        }
    }

    /// Stops the tasks of an object. Returns whether all have ended.
    pub fn end(&self, uid: &str) -> bool {
        let mut objects = lock(&self.objects);
        let Some(tasks) = objects.get(uid) else {
            return true;
        };
        for task in tasks.running.values() {
            task.stop.cancel();
        }
        let have_ended = tasks.running.values().all(|task| task.ended.is_cancelled());
        if have_ended {
            objects.remove(uid);
        }
        have_ended
    }

    /// Stops the tasks of an object that does not exist any more.
    pub fn forget(&self, uid: &str) {
        lock(&self.objects).remove(uid);
    }

    /// Stops all tasks, and waits for them.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

impl<H: Handlers> Drop for Tasks<H> {
    fn drop(&mut self) {
        self.abort.cancel();
    }
}

impl<H: Handlers> Worker<H> {
    fn background(&self) -> &Background<H> {
        &self.all[self.index]
    }

    async fn work(mut self) {
        if let Some(before) = self.before.take() {
            before.cancelled().await;
        }
        if self.lifetime.stop.is_cancelled() {
            return;
        }
        let stop = self.lifetime.stop.clone();
        let grace = self.background().schedule.grace;
        let id = self.background().id.clone();
        let what = self.background().cause;
        let work = self.repeat();
        tokio::pin!(work);
        tokio::select! {
            () = &mut work => return,
            () = stop.cancelled() => {}
        }
        // the tick of a timer, or the daemon, may take this long to end
        if timeout(grace, work).await.is_err() {
            warn!("the {what} {id} did not end within {grace:?}, and is aborted");
        }
    }

    /// Calls the timer or daemon until it has ended, or should stop.
    async fn repeat(self) {
        let Schedule {
            interval,
            idle,
            delay,
            is_sharp,
            ..
        } = self.background().schedule;
        if self.sleep_or_stop(delay).await {
            return;
        }
        loop {
            if self.wait_until_idle(idle.unwrap_or_default()).await {
                return;
            }
            let begun = Instant::now();
            if !self.attempts().await {
                return;
            }
            let Some(interval) = interval else {
                if idle.is_none() || !self.wait_for_change(begun).await {
                    return;
                }
                continue;
            };
            let next = if is_sharp {
                // the first multiple of the interval that is not over: ticks that were missed are skipped
                let ticks = begun.elapsed().as_nanos() / interval.as_nanos().max(1) + 1;
                begun + interval.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX))
            } else {
                Instant::now() + interval
            };
            tokio::select! {
                () = sleep_until(next) => {}
                () = self.lifetime.stop.cancelled() => return,
            }
        }
    }

    /// Calls the timer or daemon until it has succeeded or failed for good. Returns `false` if the task should stop.
    async fn attempts(&self) -> bool {
        let background = self.background();
        let (begun, started) = (Instant::now(), now());
        for number in 1_u32.. {
            let object = self.lifetime.latest.borrow().object.clone();
            let cx = self.context.background(&*object);
            let (result, is_outdated) = self.call(object.clone(), cx, number, started).await;
            let error = match result {
                Ok(()) if is_outdated => {
                    // its status was not written, because the object had changed: call it again with the newer object
                    if self.sleep_or_stop(Duration::from_secs(1)).await {
                        return false;
                    }
                    continue;
                }
                Ok(()) => return !self.lifetime.stop.is_cancelled(),
                Err(error) => error,
            };
            if self.lifetime.stop.is_cancelled() {
                warn!("{error}");
                return false;
            }
            // from 0 to 1
            let jitter = self.random.hash_one(number) as f64 / u64::MAX as f64;
            let backoff = self.backoff.delay(number - 1, jitter);
            let retries = background.retries;
            let delay = retries.delay(&error, number - 1, begun.elapsed(), backoff);
            self.report(&*object, &error, delay).await;
            match delay {
                Some(delay) => {
                    if self.sleep_or_stop(delay).await {
                        return false;
                    }
                }
                // it has failed for good: a daemon ends, and a timer ticks again after its interval
                None => return true,
            }
        }
        false
    }

    async fn call(
        &self,
        object: Arc<H::Resource>,
        cx: Context,
        attempt: u32,
        started: Timestamp,
    ) -> (Result<()>, bool) {
        let background = self.background();
        // for sub-handlers, whose progress is kept only for this call
        let journal = Journal::new(Progress::new(Cause::Timer), None, self.backoff);
        let call = Call {
            about: About {
                cause: background.cause,
                id: format!(
                    "{}-{}",
                    object.uid().unwrap_or_default(),
                    started.as_millisecond()
                ),
                handler: background.id.clone(),
                attempt,
                started,
            },
            object: object.clone(),
            cx: cx.clone(),
            memo: self.memo.clone(),
            scope: Scope::new(journal, background.retries, background.result.clone()),
        };
        let called = async {
            let run = (background.run)(self.handlers.clone(), call, self.lifetime.clone());
            cx.about(&*object, run).await
        };
        let result = AssertUnwindSafe(called).catch_unwind().await;
        let result =
            result.unwrap_or_else(|panic| Err(Error::Panicked(panic_message(&*panic).to_owned())));
        let result = match (result, &background.result) {
            (Ok(value), Some(field)) if !value.is_null() => {
                let shown = serde_json::to_value(&*object).unwrap_or_default();
                if shown["status"][field.as_str()] == value {
                    Ok(())
                } else {
                    let status = json!({ (field.as_str()): value });
                    cx.merge_status(&*object, status).await
                }
            }
            (result, _) => result.map(drop),
        };
        (result, cx.is_outdated())
    }

    /// Reports an error in a metric, in the log and in an event. `delay` is the time until the next attempt, if there is one.
    async fn report(&self, object: &H::Resource, error: &Error, delay: Option<Duration>) {
        let id = &self.background().id;
        self.context.shared().handler_errors.count(id);
        let reason = match delay {
            Some(delay) => {
                warn!(retry_in = ?delay, "{error}");
                "HandlerRetries"
            }
            None => {
                warn!("{error}");
                "HandlerFailed"
            }
        };
        let note = format!("{id}: {error}");
        let events = self
            .context
            .limited_event(object, EventType::Warning, reason, note);
        events.await;
    }

    /// Waits for a time, or until the task should stop. Returns whether it should stop.
    async fn sleep_or_stop(&self, delay: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.lifetime.stop.cancelled() => true,
            () = sleep(delay) => false,
        }
    }

    /// Waits until the object has changed after a time, or until the task should stop. Returns whether it has changed.
    async fn wait_for_change(&self, since: Instant) -> bool {
        let mut latest = self.lifetime.latest.clone();
        tokio::select! {
            biased;
            () = self.lifetime.stop.cancelled() => false,
            changed = latest.wait_for(|it| it.changed > since) => changed.is_ok(),
        }
    }

    /// Waits until the object has not changed for a time, or until the task should stop. Returns whether it should stop.
    async fn wait_until_idle(&self, idle: Duration) -> bool {
        loop {
            let changed = self.lifetime.latest.borrow().changed;
            let rest = (changed + idle).saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return self.lifetime.stop.is_cancelled();
            }
            if self.sleep_or_stop(rest).await {
                return true;
            }
        }
    }
}

/// The call of a daemon: a function that runs as long as its object exists.
#[derive(Clone)]
pub struct DaemonCall<K: Object> {
    pub(super) call: Call<K>,
    pub(super) lifetime: Lifetime<K>,
}

impl<K: Object> DaemonCall<K> {
    /// The object as it was seen last.
    pub fn latest(&self) -> Arc<K> {
        self.lifetime.latest.borrow().object.clone()
    }

    /// Returns when the daemon should end: the object is being deleted or is no longer accepted, or the operator ends. A daemon that does
    /// not end within its grace period is aborted.
    pub async fn stopped(&self) {
        self.lifetime.stop.cancelled().await;
    }

    /// Whether the daemon should end.
    pub fn is_stopped(&self) -> bool {
        self.lifetime.stop.is_cancelled()
    }

    /// Waits for a time, or until the daemon should end. Returns whether it should go on.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use operator_runtime::{Result, handlers::DaemonCall};
    /// # struct Mirror;
    /// # impl Mirror { async fn copy(&self, map: &ConfigMap) -> Result<()> { Ok(()) }
    /// async fn mirror(self: Arc<Self>, daemon: DaemonCall<ConfigMap>) -> Result<()> {
    ///     while daemon.sleep(Duration::from_secs(10)).await {
    ///         self.copy(&daemon.latest()).await?;
    ///     }
    ///     Ok(())
    /// }
    /// # }
    /// ```
    pub async fn sleep(&self, time: Duration) -> bool {
        timeout(time, self.stopped()).await.is_err()
    }
}

impl<K: Object> std::ops::Deref for DaemonCall<K> {
    type Target = Call<K>;

    fn deref(&self) -> &Call<K> {
        &self.call
    }
}
