//! The handlers of a controller, as they are registered.

use std::{any::TypeId, collections::HashSet, future::Future, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    Handlers,
    background::{Background, DaemonCall, RunBackground, Schedule},
    call::{Call, FieldUpdate, Update, value},
    cause::Cause,
    difference::Path,
    event::{EventHandler, WatchEvent},
    filter::Filter,
    index::{AnyIndex, FilledIndex, Index},
    secret::Redaction,
};
use crate::{
    Result, context::drop_nulls, engine::kind::GroupKind, retries::Retries, style::Object,
};

fn returns_value<R: 'static>() -> bool {
    TypeId::of::<R>() != TypeId::of::<()>()
}

/// How long a timer or daemon may take to end, by default.
const GRACE: Duration = Duration::from_secs(10);

/// Collects the handlers of a controller.
///
/// Each handler has an id that is unique in its controller, and by which its progress is recorded on the objects. If a later version of the
/// operator registers a handler with another id, it is a new handler, and the progress of the old one is dropped.
pub struct Registry<H: Handlers> {
    pub(super) handlers: Vec<Handler<H>>,
    pub(super) background: Vec<Background<H>>,
    pub(super) events: Vec<EventHandler<H>>,
    pub(super) indexes: Vec<Box<dyn AnyIndex<H::Resource>>>,
    pub(super) redaction: Redaction,
    /// The field of the status that contains the records.
    pub(super) status_field: Option<String>,
}

/// A registered handler.
pub(super) struct Handler<H: Handlers> {
    pub id: String,
    pub on: On<H::Resource>,
    pub filter: Filter<H::Resource>,
    pub retries: Retries,
    pub run: Run<H>,
    /// Whether it returns a value.
    pub has_result: bool,
    /// The field of the status that gets the value.
    pub result: Option<String>,
}

impl<H: Handlers> Handler<H> {
    /// Whether it is called for a cause, for some objects.
    pub fn is_of(&self, cause: Cause) -> bool {
        match self.on {
            On::Causes(ref on) => on.contains(&cause),
            On::Field(_) => matches!(cause, Cause::Create | Cause::Update),
        }
    }
}

/// Calls a handler.
pub(super) type Run<H> = Box<
    dyn Fn(Arc<H>, Invocation<<H as Handlers>::Resource>) -> BoxFuture<'static, Result<Value>>
        + Send
        + Sync,
>;

/// What a handler is called for.
pub(super) enum On<K> {
    Causes(Vec<Cause>),
    /// A field, which this reads from an object.
    Field(FieldValue<K>),
}

/// The value of a field, as JSON.
pub(super) type FieldValue<K> = Box<dyn Fn(&K) -> serde_json::Result<Value> + Send + Sync>;

/// A call, with what has changed of the object.
pub(super) struct Invocation<K: Object> {
    pub call: Call<K>,
    pub old: Option<Arc<K>>,
    pub changes: Arc<[Path]>,
    /// For a handler of a field: the value that was handled last, if it is known.
    pub old_value: Option<Value>,
}

/// The options of a handler.
pub struct HandlerOptions<'a, K> {
    filter: &'a mut Filter<K>,
    retries: &'a mut Retries,
    result: &'a mut Option<String>,
}

/// The options of a handler of events.
pub struct EventOptions<'a, K>(&'a mut Filter<K>);

/// The options of a timer.
pub struct TimerOptions<'a, K>(BackgroundOptions<'a, K>);

/// The options of a daemon.
pub struct DaemonOptions<'a, K>(BackgroundOptions<'a, K>);

/// The options that timers and daemons have in common.
struct BackgroundOptions<'a, K> {
    schedule: &'a mut Schedule,
    handler: HandlerOptions<'a, K>,
}

impl<H: Handlers> Registry<H> {
    pub(super) fn new(kind: &GroupKind) -> Self {
        Self {
            handlers: vec![],
            background: vec![],
            events: vec![],
            indexes: vec![],
            redaction: Redaction::of(kind),
            status_field: None,
        }
    }

    /// Calls a handler for each object that the operator has not handled before, even if the object is older than the operator.
    pub fn create<R, F>(
        &mut self,
        id: &str,
        handler: impl Fn(Arc<H>, Call<H::Resource>) -> F + Send + Sync + 'static,
    ) -> HandlerOptions<'_, H::Resource>
    where
        R: Serialize + 'static,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        self.cause(Cause::Create, id, handler)
    }

    /// Calls a handler once for each object that had been handled before the operator was started. For objects that
    /// changed meanwhile, the update handlers are called as well.
    pub fn resume<R, F>(
        &mut self,
        id: &str,
        handler: impl Fn(Arc<H>, Call<H::Resource>) -> F + Send + Sync + 'static,
    ) -> HandlerOptions<'_, H::Resource>
    where
        R: Serialize + 'static,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        self.cause(Cause::Resume, id, handler)
    }

    /// Calls a handler for each object that is being deleted. It keeps the object with the [finalizer](Handlers::FINALIZER) until it has
    /// ended.
    pub fn delete<R, F>(
        &mut self,
        id: &str,
        handler: impl Fn(Arc<H>, Call<H::Resource>) -> F + Send + Sync + 'static,
    ) -> HandlerOptions<'_, H::Resource>
    where
        R: Serialize + 'static,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        self.cause(Cause::Delete, id, handler)
    }

    /// Calls a handler after an object was deleted, with its last known state. That is best-effort: nothing keeps the object, an error is
    /// only logged, and a deletion while the operator is down is missed. For work that must be done, use [`delete`](Self::delete).
    pub fn deleted<R, F>(
        &mut self,
        id: &str,
        handler: impl Fn(Arc<H>, Call<H::Resource>) -> F + Send + Sync + 'static,
    ) -> HandlerOptions<'_, H::Resource>
    where
        R: Serialize + 'static,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        self.cause(Cause::Deleted, id, handler)
    }

    /// Calls a handler for several causes of [`Create`](Cause::Create), [`Update`](Cause::Update), [`Delete`](Cause::Delete) and
    /// [`Resume`](Cause::Resume). Each of them begins with the first attempt, and [`Call::cause`] returns it. An object that has changed while
    /// the operator was down calls the handler once, for the update.
    ///
    /// For a new object, [`Update::old`] is `None`.
    pub fn any_of<R, F>(
        &mut self,
        causes: impl IntoIterator<Item = Cause>,
        id: &str,
        handler: impl Fn(Arc<H>, Update<H::Resource>) -> F + Send + Sync + 'static,
    ) -> HandlerOptions<'_, H::Resource>
    where
        R: Serialize + 'static,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        let run = move |handlers, invocation: Invocation<H::Resource>| {
            let Invocation {
                call, old, changes, ..
            } = invocation;
            let update = Update { call, old, changes };
            value(handler(handlers, update)).boxed()
        };
        let causes = causes.into_iter().collect();
        self.add::<R>(id, On::Causes(causes), Box::new(run))
    }

    /// Calls a handler for each object whose spec, labels or annotations differ from what was handled last.
    pub fn update<R, F>(
        &mut self,
        id: &str,
        handler: impl Fn(Arc<H>, Update<H::Resource>) -> F + Send + Sync + 'static,
    ) -> HandlerOptions<'_, H::Resource>
    where
        R: Serialize + 'static,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        self.any_of([Cause::Update], id, handler)
    }

    /// Calls a handler when a value differs from what was handled last, and for new objects that have it. The value is what `field` returns,
    /// for example `|volume| volume.spec.size` or `|volume| volume.status.as_ref()?.phase.clone()`: if the schema loses the field, the code
    /// does not compile. It must depend on the object alone.
    ///
    /// If the handler itself changes the value, it is called for this change, too.
    pub fn field<T, R, F>(
        &mut self,
        id: &str,
        field: impl Fn(&H::Resource) -> T + Send + Sync + 'static,
        handler: impl Fn(Arc<H>, FieldUpdate<H::Resource, T>) -> F + Send + Sync + 'static,
    ) -> HandlerOptions<'_, H::Resource>
    where
        T: Serialize + DeserializeOwned + 'static,
        R: Serialize + 'static,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        let field = Arc::new(field);
        let accessor = field.clone();
        let run = move |handlers, invocation: Invocation<H::Resource>| {
            let Invocation {
                call, old_value, ..
            } = invocation;
            let old = old_value.and_then(|old| serde_json::from_value(old).ok());
            let new = field(&call.object);
            let update = FieldUpdate { call, old, new };
            value(handler(handlers, update)).boxed()
        };
        let of_object = move |object: &H::Resource| {
            let mut value = serde_json::to_value(accessor(object))?;
            drop_nulls(&mut value);
            Ok(value)
        };
        self.add::<R>(id, On::Field(Box::new(of_object)), Box::new(run))
    }

    /// Calls a handler for each object at an interval, with the object as it was seen last. A tick that fails is retried like a handler;
    /// when it has failed for good, the next one comes at the interval.
    ///
    /// Without an interval, but with [`idle`](TimerOptions::idle), it is called once after the object was idle for that time, and once more
    /// after each later change. With neither, it is called once for an object, and again after a restart.
    pub fn timer<R, F>(
        &mut self,
        id: &str,
        interval: impl Into<Option<Duration>>,
        handler: impl Fn(Arc<H>, Call<H::Resource>) -> F + Send + Sync + 'static,
    ) -> TimerOptions<'_, H::Resource>
    where
        R: Serialize + 'static,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        let run = move |handlers, call, _| value(handler(handlers, call)).boxed();
        let of = (Cause::Timer, interval.into());
        TimerOptions(self.add_background::<R>(id, of, Box::new(run)))
    }

    /// Calls a function for each object; the function runs as long as the object exists. If it returns an error, it is called again, like a
    /// handler; if it returns without one, it has ended, and is called again only if its filters reject the object and accept it again, or
    /// after a restart.
    ///
    /// Such a function is the place for a watch of something outside of the cluster. It must end when [`DaemonCall::stopped`] returns: the
    /// delete handlers of the object are called after that.
    pub fn daemon<F>(
        &mut self,
        id: &str,
        handler: impl Fn(Arc<H>, DaemonCall<H::Resource>) -> F + Send + Sync + 'static,
    ) -> DaemonOptions<'_, H::Resource>
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let run = move |handlers, call, lifetime| {
            let daemon = DaemonCall { call, lifetime };
            value(handler(handlers, daemon)).boxed()
        };
        DaemonOptions(self.add_background::<()>(id, (Cause::Daemon, None), Box::new(run)))
    }

    fn add_background<R: 'static>(
        &mut self,
        id: &str,
        (cause, interval): (Cause, Option<Duration>),
        run: RunBackground<H>,
    ) -> BackgroundOptions<'_, H::Resource> {
        let index = self.background.len();
        self.background.push(Background {
            id: id.to_owned(),
            cause,
            filter: Filter::default(),
            retries: Retries::default(),
            schedule: Schedule {
                interval,
                idle: None,
                delay: Duration::ZERO,
                is_sharp: false,
                grace: GRACE,
            },
            run,
            has_result: returns_value::<R>(),
            result: None,
        });
        let background = &mut self.background[index];
        BackgroundOptions {
            schedule: &mut background.schedule,
            handler: HandlerOptions {
                filter: &mut background.filter,
                retries: &mut background.retries,
                result: &mut background.result,
            },
        }
    }

    /// Calls a handler for each event of the watch, also for changes of the status and for objects that are being deleted. Nothing is
    /// recorded: an error is only logged, and events while the operator is down are missed. The events of one object are handled in their
    /// order.
    pub fn event<F>(
        &mut self,
        id: &str,
        handler: impl Fn(Arc<H>, WatchEvent<H::Resource>) -> F + Send + Sync + 'static,
    ) -> EventOptions<'_, H::Resource>
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let index = self.events.len();
        self.events.push(EventHandler {
            id: id.to_owned(),
            filter: Filter::default(),
            run: Box::new(move |handlers, event| handler(handlers, event).boxed()),
        });
        EventOptions(&mut self.events[index].filter)
    }

    /// Fills an index with the entries that a function returns for each object, each with its key.
    pub fn index<Q, V, I>(
        &mut self,
        index: &Index<Q, V>,
        entries: impl Fn(&H::Resource) -> I + Send + Sync + 'static,
    ) where
        Q: Ord + Clone + Send + Sync + 'static,
        V: Clone + Send + Sync + 'static,
        I: IntoIterator<Item = (Q, V)> + 'static,
    {
        let index = index.clone();
        self.indexes.push(Box::new(FilledIndex { index, entries }));
    }

    /// Marks the values at a path such as `spec.token` as sensitive: only keyed hashes of them are recorded on the object, so that handlers
    /// learn that they have changed, but not what they were. A path through a list applies to all its items. The data of Secrets
    /// are always sensitive.
    pub fn sensitive(&mut self, path: &str) {
        self.redaction.add(path);
    }

    /// Records in a field of the status what was handled and how far the handlers are, instead of in annotations. The schema must have the
    /// field `status.<field>`, of the type object, with `additionalProperties: {type: string}`, and the Rust type as well. Otherwise, an
    /// event reports that, and annotations are used. Records that are in annotations are read, and move with the next write. Two operators
    /// need different fields.
    pub fn progress_in_status(&mut self, field: &str) {
        self.status_field = Some(field.to_owned());
    }

    fn cause<R, F>(
        &mut self,
        cause: Cause,
        id: &str,
        handler: impl Fn(Arc<H>, Call<H::Resource>) -> F + Send + Sync + 'static,
    ) -> HandlerOptions<'_, H::Resource>
    where
        R: Serialize + 'static,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        let run = move |handlers, invocation: Invocation<H::Resource>| {
            value(handler(handlers, invocation.call)).boxed()
        };
        self.add::<R>(id, On::Causes(vec![cause]), Box::new(run))
    }

    fn add<R: 'static>(
        &mut self,
        id: &str,
        on: On<H::Resource>,
        run: Run<H>,
    ) -> HandlerOptions<'_, H::Resource> {
        let index = self.handlers.len();
        self.handlers.push(Handler {
            id: id.to_owned(),
            on,
            filter: Filter::default(),
            retries: Retries::default(),
            run,
            has_result: returns_value::<R>(),
            result: None,
        });
        let handler = &mut self.handlers[index];
        HandlerOptions {
            filter: &mut handler.filter,
            retries: &mut handler.retries,
            result: &mut handler.result,
        }
    }

    /// Checks the registrations for a kind that is built into Kubernetes, or for another one.
    ///
    /// # Errors
    /// The first problem, with the id of the handler and a cure.
    pub(super) fn check(&self, is_builtin: bool) -> Result<(), String> {
        let mut ids = HashSet::new();
        let handlers = self.handlers.iter().map(|it| (&it.id, Some(&it.on)));
        let background = self.background.iter().map(|it| (&it.id, None));
        let events = self.events.iter().map(|it| (&it.id, None));
        for (id, on) in handlers.chain(background).chain(events) {
            let is_name = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
            if id.is_empty() || !id.chars().all(is_name) {
                return Err(format!(
                    "{id:?} is not an id of a handler\nhelp: use letters, digits, `-`, `_` and `.`"
                ));
            }
            if !ids.insert(id) {
                return Err(format!(
                    "two handlers have the id {id:?}\nhelp: give one of them another id; one that is deployed keeps its id"
                ));
            }
            let causes = match on {
                Some(On::Causes(causes)) => causes.as_slice(),
                _ => &[],
            };
            let is_handled = |cause: &Cause| match cause {
                Cause::Create | Cause::Update | Cause::Delete | Cause::Resume => true,
                Cause::Deleted => causes.len() == 1,
                Cause::Timer | Cause::Daemon => false,
            };
            if let Some(cause) = causes.iter().find(|it| !is_handled(it)) {
                return Err(format!(
                    "the handler {id:?} cannot be called for the cause {cause} among others\nhelp: register it with `{cause}`, by another id"
                ));
            }
            if causes.contains(&Cause::Delete) && H::FINALIZER.is_none() {
                return Err(format!(
                    "the delete handler {id:?} needs a finalizer, without which the object would be gone before it is called\nhelp: set `FINALIZER` of the handlers"
                ));
            }
        }
        let handlers = self.handlers.iter();
        let handlers = handlers.map(|it| (&it.id, it.has_result, &it.result));
        let background = self.background.iter();
        let background = background.map(|it| (&it.id, it.has_result, &it.result));
        let mut all = handlers.chain(background);
        if is_builtin && let Some((id, _, Some(field))) = all.clone().find(|it| it.2.is_some()) {
            return Err(format!(
                "the handler {id:?} writes its result to status.{field}, but the status of a built-in kind has no fields of others\nhelp: return `()`, and write the value to an annotation, or to an object of a kind of your own"
            ));
        }
        if let Some(field) = self.status_field.as_ref().filter(|_| is_builtin) {
            return Err(format!(
                "the progress cannot be in status.{field}, because the status of a built-in kind has no fields of others\nhelp: remove `progress_in_status`; the progress is then in annotations"
            ));
        }
        if let Some((id, ..)) = all.find(|(_, has_result, field)| *has_result && field.is_none()) {
            return Err(format!(
                "the handler {id:?} returns a value that goes nowhere\nhelp: name the field of the status with `result`, or return `()`"
            ));
        }
        let mut timers = self.background.iter();
        if let Some(timer) = timers.find(|it| it.schedule.interval == Some(Duration::ZERO)) {
            return Err(format!(
                "the timer {:?} has the interval 0\nhelp: choose an interval, or none and `idle`",
                timer.id
            ));
        }
        Ok(())
    }
}

impl<K: Object> HandlerOptions<'_, K> {
    /// Calls the handler at most `limit` times for one cause.
    pub fn attempts(self, limit: u32) -> Self {
        self.retries.limit = Some(limit.max(1));
        self
    }

    /// Does not call the handler again once this time has passed since its first attempt. An attempt is not interrupted.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.retries.timeout = Some(timeout);
        self
    }

    /// Sets the delay after an error that is neither permanent nor has a delay of its own, instead of a delay that grows with each
    /// attempt.
    pub fn backoff(self, backoff: Duration) -> Self {
        self.retries.backoff = Some(backoff);
        self
    }

    /// Writes what the handler returns to this field of the status, such as `endpoint`, when it has succeeded. `None` and `()` are not
    /// written. What a [sub-handler](Call::sub_handler) returns becomes an entry of the field, with the id of the sub-handler as its key. The
    /// schema of the status must have the field, or the API server drops it, which is reported in an event. If a crash comes between the
    /// write and the record of the success, the handler is called again.
    pub fn result(self, field: &str) -> Self {
        *self.result = Some(field.to_owned());
        self
    }

    /// Calls the handler only for changes for which this returns `true`. It gets the object as it was handled last, if that is known, and
    /// the current object.
    pub fn when_changed(
        self,
        predicate: impl Fn(Option<&K>, &K) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.filter.when_changed.push(Arc::new(predicate));
        self
    }
}

/// Implements the filters that all options share.
macro_rules! filters {
    ($options:ident, $($filter:tt)+) => {
        impl<K: Object> $options<'_, K> {
            /// Calls the handler only for objects with this label.
            pub fn label(self, name: &str, value: &str) -> Self {
                let label = (name.to_owned(), Some(value.to_owned()));
                self.$($filter)+.labels.push(label);
                self
            }

            /// Calls the handler only for objects that have a label of this name.
            pub fn has_label(self, name: &str) -> Self {
                self.$($filter)+.labels.push((name.to_owned(), None));
                self
            }

            /// Calls the handler only for objects with this annotation.
            pub fn annotation(self, name: &str, value: &str) -> Self {
                let annotation = (name.to_owned(), Some(value.to_owned()));
                self.$($filter)+.annotations.push(annotation);
                self
            }

            /// Calls the handler only for objects that have an annotation of this name.
            pub fn has_annotation(self, name: &str) -> Self {
                self.$($filter)+.annotations.push((name.to_owned(), None));
                self
            }

            /// Calls the handler only for objects for which this returns `true`. It must depend on the object alone.
            pub fn when(self, predicate: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self {
                self.$($filter)+.when.push(Arc::new(predicate));
                self
            }
        }
    };
}

filters!(HandlerOptions, filter);
filters!(EventOptions, 0);
filters!(TimerOptions, 0.handler.filter);
filters!(DaemonOptions, 0.handler.filter);

/// Implements the options that timers and daemons share with handlers.
macro_rules! like_a_handler {
    ($options:ident) => {
        impl<'a, K: Object> $options<'a, K> {
            fn with(
                self,
                change: impl FnOnce(HandlerOptions<'a, K>) -> HandlerOptions<'a, K>,
            ) -> Self {
                let BackgroundOptions { schedule, handler } = self.0;
                let handler = change(handler);
                Self(BackgroundOptions { schedule, handler })
            }

            /// Waits for this time before the first call for an object.
            pub fn delay(self, delay: Duration) -> Self {
                self.0.schedule.delay = delay;
                self
            }

            /// Like [`HandlerOptions::attempts`].
            pub fn attempts(self, limit: u32) -> Self {
                self.with(|it| it.attempts(limit))
            }

            /// Like [`HandlerOptions::timeout`].
            pub fn timeout(self, timeout: Duration) -> Self {
                self.with(|it| it.timeout(timeout))
            }

            /// Like [`HandlerOptions::backoff`].
            pub fn backoff(self, backoff: Duration) -> Self {
                self.with(|it| it.backoff(backoff))
            }
        }
    };
}

like_a_handler!(TimerOptions);
like_a_handler!(DaemonOptions);

impl<K: Object> TimerOptions<'_, K> {
    /// Ticks only when the spec, labels and annotations of the object have not changed for this time.
    pub fn idle(self, idle: Duration) -> Self {
        self.0.schedule.idle = Some(idle);
        self
    }

    /// Like [`HandlerOptions::result`].
    pub fn result(self, field: &str) -> Self {
        self.with(|it| it.result(field))
    }

    /// Counts the interval from the beginning of a tick to the beginning of the next one, instead of from its end. A tick that takes longer
    /// skips the ones that it covers.
    pub fn sharp(self) -> Self {
        self.0.schedule.is_sharp = true;
        self
    }
}

impl<K: Object> DaemonOptions<'_, K> {
    /// Sets how long the daemon may take to end when it should stop, instead of 10 seconds. After that it is aborted.
    pub fn grace(self, grace: Duration) -> Self {
        self.0.schedule.grace = grace;
        self
    }
}
