//! [`Handlers`] as a [`Reconciler`]: detects the causes, and calls the handlers.

use std::{
    collections::{BTreeMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::FutureExt;
use k8s_openapi::jiff::Timestamp;
use kube::{Resource, ResourceExt, runtime::events::EventType};
use serde_json::{Value, json};
use tracing::{debug, warn};

use super::{
    Handlers,
    background::{Background, Tasks},
    call::{About, Call},
    cause::Cause,
    difference::Path,
    essence::essence,
    event::Events,
    handled::{self, FieldChange, Handled},
    journal::{Due, Ended, Journal, now, outdated},
    memo::Memory,
    place::{Entry, Place},
    progress::{Outcome, Progress, Record, failure, text},
    registry::{FieldValue, Handler, Invocation, On, Registry},
    report::report,
    subhandler::Scope,
};
use crate::{
    Action, ControllerOptions, Error, ObjectRef, Result,
    context::Context,
    engine::{
        decode::read,
        kind::{GroupKind, is_builtin},
        objects::Backoff,
    },
    error::panic_message,
    lock::lock,
    style::{CacheChange, Cached, Reconciler},
};

/// All annotations of an object together have at most 256 KiB
/// (<https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/>).
const ALL_ANNOTATIONS: usize = 256 << 10;

/// How much of it stays free, for the progress and for later annotations of others.
const RESERVE: usize = 16 << 10;

/// How often it is checked whether the timers and daemons of an object have ended.
const ENDING_DELAY: Duration = Duration::from_millis(200);

pub(super) struct Engine<H: Handlers> {
    handlers: Arc<H>,
    registry: Registry<H>,
    background: Arc<Vec<Background<H>>>,
    tasks: Tasks<H>,
    events: Events<H>,
    /// The prefix of the operator's annotations.
    operator: String,
    place: Place,
    backoff: Backoff,
    memory: Memory,
    /// The objects of the first list that no handler has accepted yet, if there are resume handlers.
    listed: Mutex<HashSet<ObjectRef<H::Resource>>>,
    options: ControllerOptions<H::Resource>,
}

/// A handler, the cause for which it is called, and the journal of this cause.
type ToCall<'a, H> = (&'a Handler<H>, Cause, Arc<Journal>);

/// An object whose handlers are called, and what has changed in it.
struct Work<'a, H: Handlers> {
    engine: &'a Engine<H>,
    object: Arc<H::Resource>,
    cx: &'a Context,
    uid: String,
    /// What was handled last, and the object then; `None` if that is not known.
    handled: Option<Handled>,
    old: Option<Arc<H::Resource>>,
    changes: Arc<[Path]>,
    /// The id of the cause; see [`Call::id`].
    id: String,
}

impl<H: Handlers> Engine<H> {
    /// Checks the options and the registered handlers.
    ///
    /// # Errors
    /// If the options reduce the objects, or a handler is registered wrongly.
    pub fn check(handlers: &H, is_named: bool) -> Result<()> {
        let kind = GroupKind::of::<H::Resource>();
        let mut registry = Registry::new(&kind);
        handlers.register(&mut registry);
        // CRDs may have the group of a built-in kind, but only controllers of kinds of others have a name
        let is_builtin = is_named && is_builtin(&kind.group);
        registry
            .check(is_builtin)
            .map_err(|problem| anyhow::anyhow!("the handlers of {kind} cannot work: {problem}"))?;
        if handlers.options().reduction.is_some() {
            return Err(anyhow::anyhow!(
                "the options of the handlers of {kind} reduce the objects\nhelp: remove `reduce`, because what is not in the cache cannot be compared"
            )
            .into());
        }
        Ok(())
    }

    /// An engine that remembers nothing yet.
    pub fn new(
        handlers: Arc<H>,
        operator: &str,
        controller: Option<&str>,
        backoff: Backoff,
    ) -> Self {
        let mut registry = Registry::new(&GroupKind::of::<H::Resource>());
        handlers.register(&mut registry);
        for index in &registry.indexes {
            index.clear();
        }
        let options = handlers.options();
        let place = Place::of(operator, controller, registry.status_field.as_deref());
        Self {
            events: Events::new(handlers.clone(), std::mem::take(&mut registry.events)),
            handlers,
            background: Arc::new(std::mem::take(&mut registry.background)),
            registry,
            tasks: Tasks::new(backoff),
            operator: operator.to_owned(),
            place,
            backoff,
            memory: Memory::default(),
            listed: Mutex::default(),
            options,
        }
    }

    /// The record of this state of an object, in a size that fits its place.
    fn recorded(
        &self,
        object: &H::Resource,
        essence: &Value,
        uid: &str,
    ) -> serde_json::Result<Handled> {
        let redaction = &self.registry.redaction;
        let values = self
            .fields()
            .map(|(id, value)| Ok((id.to_owned(), value(object)?)));
        let values = values.collect::<serde_json::Result<_>>()?;
        let available = if self.place.uses_annotations() {
            let ours = self.place.annotation(Entry::Handled);
            let others: usize = object
                .annotations()
                .iter()
                .filter(|(name, _)| **name != ours)
                .map(|(name, value)| name.len() + value.len())
                .sum();
            // it may be recorded twice: as handled, and as the target of the progress
            ALL_ANNOTATIONS.saturating_sub(others + RESERVE) / 2
        } else {
            handled::MAX_SIZE
        };
        Ok(Handled::of(
            essence,
            // fields may have sensitive values that the essence lacks
            redaction.applies_to(&serde_json::to_value(object)?),
            values,
            |value| redaction.hash(uid, value),
            available.min(handled::MAX_SIZE),
        ))
    }

    /// The fields that have handlers, by the ids of these.
    fn fields(&self) -> impl Iterator<Item = (&str, &FieldValue<H::Resource>)> {
        self.registry.handlers.iter().filter_map(|it| match &it.on {
            On::Field(value) => Some((it.id.as_str(), value)),
            On::Causes(_) => None,
        })
    }

    /// Compares the field of a handler with what was handled last.
    fn field(
        &self,
        object: &H::Resource,
        handled: &Handled,
        (handler, value): (&str, &FieldValue<H::Resource>),
    ) -> serde_json::Result<FieldChange> {
        let now = value(object)?;
        let redaction = &self.registry.redaction;
        let uid = object.uid().unwrap_or_default();
        let hash = |value: &Value| redaction.hash(&uid, value);
        if let Some(change) = handled.field(handler, &now, hash) {
            return Ok(change);
        }
        // the operator did not have the handler then: only a change that the essence shows is known
        let essence = essence(object, &self.operator, redaction)?;
        let decoded = |essence| self.decoded(object, essence);
        let then = handled.readable().and_then(decoded);
        let (Some(then), Some(bare)) = (then, decoded(&essence)) else {
            return Ok(FieldChange {
                // what does not fit the type any more is another value
                has_changed: handled.readable().is_some(),
                old: None,
            });
        };
        let (then, bare) = (value(&then)?, value(&bare)?);
        Ok(FieldChange {
            has_changed: then != bare,
            // otherwise the value also depends on what the essence lacks
            old: (bare == now).then_some(then),
        })
    }

    /// Whether the object differs from what was handled last.
    fn has_changed(
        &self,
        object: &H::Resource,
        essence: &Value,
        handled: &Handled,
    ) -> serde_json::Result<bool> {
        if !handled.changes(essence).is_empty() {
            return Ok(true);
        }
        for field in self.fields() {
            if self.field(object, handled, field)?.has_changed {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The object with this essence; `None` if that does not fit the type any more.
    fn decoded(&self, object: &H::Resource, essence: &Value) -> Option<Arc<H::Resource>> {
        let mut old = essence.clone();
        let fields = old.as_object_mut()?;
        fields.insert("apiVersion".into(), H::Resource::api_version(&()).into());
        fields.insert("kind".into(), H::Resource::kind(&()).into());
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        let metadata = metadata.as_object_mut()?;
        metadata.insert("name".into(), object.name_any().into());
        for (name, value) in [("namespace", object.namespace()), ("uid", object.uid())] {
            metadata.extend(value.map(|value| (name.to_owned(), value.into())));
        }
        read(&old).ok().map(Arc::from)
    }

    /// Whether a handler accepts the object for whose calls it matters what was handled before. As long as none does, what happens to the
    /// object is not handled; once one does, it has changed since it was handled last.
    fn is_accepted(&self, object: &H::Resource) -> bool {
        let mut handlers = self.registry.handlers.iter();
        handlers.any(|it| !it.is_of(Cause::Deleted) && it.filter.accepts(object))
    }

    /// Removes an object from `listed`. Returns whether it was there: it existed when the operator started, and is accepted for the first
    /// time.
    fn take_listed(&self, object: &H::Resource) -> bool {
        let mut listed = lock(&self.listed);
        !listed.is_empty() && listed.remove(&ObjectRef::from_obj(object))
    }

    fn has_handler(&self, cause: Cause) -> bool {
        self.registry.handlers.iter().any(|it| it.is_of(cause))
    }
}

impl<'a, H: Handlers> Work<'a, H> {
    /// Records that all handlers of a cause have ended: writes what they have handled, and removes the progress.
    async fn conclude(
        &mut self,
        handled: Option<&Handled>,
        journal: &Journal,
        next: Option<Duration>,
    ) -> Result<Action> {
        let mut changes = BTreeMap::from([(Entry::Progress, None)]);
        if let Some(handled) = handled {
            let failed = journal.progress().failed();
            let outcome = Outcome { handled, failed };
            changes.insert(Entry::Handled, Some(text(&outcome, &self.uid)?));
        }
        let engine = self.engine;
        if !engine.place.write(&*self.object, self.cx, changes).await? || !self.renew()? {
            return Ok(Action::await_change());
        }
        let newest = essence(&*self.object, &engine.operator, &engine.registry.redaction)?;
        let has_changed = match handled {
            Some(handled) => engine.has_changed(&self.object, &newest, handled)?,
            None => false,
        };
        Ok(match (has_changed, next) {
            (true, _) => Action::requeue(Duration::ZERO),
            (false, Some(next)) => Action::requeue(next),
            (false, None) => Action::await_change(),
        })
    }

    /// Compares the field of a handler with what was handled last. If that is not known, it has changed.
    fn field(&self, id: &str, value: &FieldValue<H::Resource>) -> Result<FieldChange> {
        let Some(handled) = &self.handled else {
            return Ok(FieldChange {
                has_changed: true,
                old: None,
            });
        };
        Ok(self.engine.field(&self.object, handled, (id, value))?)
    }

    /// Whether a handler is called for a cause of this object.
    fn is_for(&self, handler: &Handler<H>, cause: Cause) -> Result<bool> {
        let is_meant = match (&handler.on, cause) {
            // a change of a field that the essence lacks is for its handler alone
            (On::Causes(_), Cause::Update) if self.changes.is_empty() => false,
            (On::Causes(_), cause) => handler.is_of(cause),
            (On::Field(value), Cause::Create) => !value(&self.object)?.is_null(),
            (On::Field(value), Cause::Update) => self.field(&handler.id, value)?.has_changed,
            (On::Field(_), _) => false,
        };
        Ok(is_meant
            && handler.filter.accepts(&self.object)
            && handler
                .filter
                .accepts_change(self.old.as_deref(), &self.object))
    }

    /// Calls a handler. A panic is returned as an error.
    async fn call(
        &self,
        handler: &Handler<H>,
        journal: &Arc<Journal>,
        (cause, attempt, started): (Cause, u32, Timestamp),
    ) -> (Result<Value>, Scope) {
        let engine = self.engine;
        let scope = Scope::new(journal.clone(), handler.retries, handler.result.clone());
        let old_value = match &handler.on {
            On::Field(value) => match self.field(&handler.id, value) {
                Ok(change) => change.old,
                Err(error) => return (Err(error), scope),
            },
            On::Causes(_) => None,
        };
        let call = Call {
            object: self.object.clone(),
            cx: self.cx.clone(),
            about: About {
                cause,
                id: self.id.clone(),
                handler: handler.id.clone(),
                attempt,
                started,
            },
            memo: engine.memory.with(&self.uid, |known| known.memo.clone()),
            scope: scope.clone(),
        };
        let invocation = Invocation {
            call,
            old: self.old.clone(),
            changes: self.changes.clone(),
            old_value,
        };
        debug!(handler = handler.id, %cause, attempt, "calling");
        let called = async { (handler.run)(engine.handlers.clone(), invocation).await };
        let called = AssertUnwindSafe(called).catch_unwind().await;
        let result =
            called.unwrap_or_else(|panic| Err(Error::Panicked(panic_message(&*panic).to_owned())));
        (result, scope)
    }

    /// The handlers to call for a change and for a resume. If the change `begins`, one that is not for it is skipped until the change has
    /// been handled.
    fn due(
        &self,
        change: Option<(Cause, Arc<Journal>)>,
        resume: Option<Arc<Journal>>,
        skipped: &[String],
        begins: bool,
    ) -> Result<Vec<ToCall<'a, H>>> {
        let mut due = vec![];
        for handler in &self.engine.registry.handlers {
            if let Some((cause, journal)) = &change
                && handler.is_of(*cause)
                && !skipped.contains(&handler.id)
            {
                if self.is_for(handler, *cause)? {
                    due.push((handler, *cause, journal.clone()));
                    // one of several causes is called for the change alone
                    continue;
                }
                if begins {
                    journal.progress().skipped.push(handler.id.clone());
                }
            }
            if let Some(resume) = &resume
                && self.is_for(handler, Cause::Resume)?
            {
                due.push((handler, Cause::Resume, resume.clone()));
            }
        }
        Ok(due)
    }

    /// Calls the handlers whose next attempt is due, in order.
    async fn run(&mut self, handlers: &[ToCall<'a, H>]) -> Result<Pass> {
        let mut next: Option<Duration> = None;
        for (position, (handler, cause, journal)) in handlers.iter().enumerate() {
            let (attempt, started) = match journal.begin(&handler.id, handler.retries) {
                Due::Now { number, started } => (number, started),
                Due::Later(delay) => {
                    next = earliest(next, delay);
                    continue;
                }
                Due::Ended => continue,
                Due::TimedOut(message) => {
                    let error = anyhow::anyhow!("its time is over; the last error: {message}");
                    let error = error.into();
                    let of = (*cause, handler.id.as_str());
                    report(self.cx, &*self.object, of, &error, Ended::Failed).await;
                    if !journal.write(&*self.object, self.cx).await? || !self.renew()? {
                        return Ok(Pass::Gone);
                    }
                    continue;
                }
            };
            // a conflict of an earlier handler's write says nothing about this one
            self.cx.set_outdated(false);
            let (result, scope) = self
                .call(handler, journal, (*cause, attempt, started))
                .await;
            if self.cx.is_gone() {
                return Ok(Pass::Gone);
            }
            let result = match (result, &handler.result) {
                (Ok(value), Some(field)) if !value.is_null() && scope.waits().is_none() => {
                    let status = json!({ (field.as_str()): value });
                    self.cx.merge_status(&*self.object, status).await
                }
                (result, _) => result.map(drop),
            };
            let result = match result {
                Ok(()) if self.cx.is_outdated() => {
                    journal.set_returned(&handler.id);
                    Err(outdated())
                }
                result => result,
            };
            let ended = match (&result, scope.waits()) {
                (Ok(()), Some(delay)) => {
                    journal.wait(&handler.id, delay);
                    Ended::Retries(delay)
                }
                (result, _) => {
                    let result = result.as_ref().copied();
                    let ended = journal.end(&handler.id, result, handler.retries);
                    if let Err(error) = result {
                        let of = (*cause, handler.id.as_str());
                        report(self.cx, &*self.object, of, error, ended).await;
                    }
                    ended
                }
            };
            if let Ended::Retries(delay) = ended {
                next = earliest(next, delay);
            }
            let mut later = handlers[position + 1..].iter();
            let is_last = next.is_none() && later.all(|(it, _, of)| of.has_ended(&it.id));
            if is_last {
                // the caller records that all have ended: `reconcile` by `conclude`, `cleanup` by the removal of the finalizer
                break;
            }
            if !journal.write(&*self.object, self.cx).await? {
                return Ok(Pass::Gone);
            }
            if !self.renew()? {
                return Ok(Pass::Gone);
            }
        }
        Ok(Pass::Next(next))
    }

    /// Replaces the object by the one that our last write returned. Returns `false` if its deletion has begun since.
    fn renew(&mut self) -> Result<bool> {
        let written = self.cx.written().clone();
        if let Some(written) = written {
            let is_deleted = |it: &H::Resource| it.meta().deletion_timestamp.is_some();
            let was_deleted = is_deleted(&self.object);
            let newest: Box<H::Resource> =
                read(&written).map_err(serde_path_to_error::Error::into_inner)?;
            self.object = Arc::from(newest);
            return Ok(was_deleted || !is_deleted(&self.object));
        }
        Ok(true)
    }
}

fn earliest(next: Option<Duration>, delay: Duration) -> Option<Duration> {
    Some(next.map_or(delay, |next| next.min(delay)))
}

/// The result of the calls of a reconciliation.
enum Pass {
    /// The object was deleted, or its deletion has begun: its watch reports that.
    Gone,
    /// The time until the next handler is due; `None` if all have ended.
    Next(Option<Duration>),
}

/// Reports the records that cannot be read, whose content is therefore lost.
async fn warn_of_lost(problems: &[String], object: &impl Resource<DynamicType = ()>, cx: &Context) {
    for problem in problems {
        warn!("{problem}");
        let (type_, note) = (EventType::Warning, problem.clone());
        cx.limited_event(object, type_, "ProgressLost", note).await;
    }
}

impl<H: Handlers> Reconciler for Engine<H> {
    type Resource = H::Resource;
    const FINALIZER: Option<&'static str> = H::FINALIZER;

    fn needs_finalizer(&self, object: &H::Resource) -> bool {
        let mut handlers = self.registry.handlers.iter();
        handlers.any(|it| it.is_of(Cause::Delete) && it.filter.accepts(object))
    }

    async fn reconcile(&self, object: Arc<H::Resource>, cx: &Context) -> Result<Action> {
        let uid = object.uid().unwrap_or_default();
        let essence = essence(&*object, &self.operator, &self.registry.redaction)?;
        let memo = self.memory.with(&uid, |known| known.memo.clone());
        let background = (&self.handlers, &self.background);
        self.tasks.sync(background, &object, &essence, memo, cx);
        if !self.is_accepted(&object) {
            return Ok(Action::await_change());
        }
        let record = Record::of(&*object, &self.place)?;
        warn_of_lost(&record.problems, &*object, cx).await;
        let has_changed = match &record.handled {
            Some(handled) => self.has_changed(&object, &essence, handled)?,
            None => true,
        };
        let is_cleanup = |it: &Progress| it.cause == Cause::Delete;
        let progress = record.progress.clone().filter(|it| !is_cleanup(it));
        // handlers were called for a change, but the object is as it was before
        let is_reverted = !has_changed && progress.as_ref().is_some_and(Progress::has_target);
        let cause = match &progress {
            Some(progress) => Some(progress.cause),
            None if record.is_known => has_changed.then_some(Cause::Update),
            None => Some(Cause::Create),
        };
        if self.take_listed(&object)
            && cause != Some(Cause::Create)
            && self.has_handler(Cause::Resume)
        {
            let journal = Journal::new(Progress::new(Cause::Resume), None, self.backoff);
            self.memory.with(&uid, |known| known.resume = Some(journal));
        }
        let resume = self.memory.with(&uid, |known| known.resume.clone());
        if let (None, Some((id, message))) = (cause, record.failed.first_key_value()) {
            // a handler failed for good, and the object has not changed since: it still counts as failed
            cx.fail(Error::permanent(failure(id, message)));
        }
        if cause.is_none() && resume.is_none() {
            return Ok(Action::await_change());
        }
        let changes = match &record.handled {
            Some(handled) => handled.changes(&essence),
            None => vec![Path::from(String::new())],
        };
        let old = record.handled.as_ref().and_then(Handled::readable);
        let old = old.and_then(|old| self.decoded(&object, old));
        let mut progress =
            progress.unwrap_or_else(|| Progress::new(cause.unwrap_or(Cause::Resume)));
        let begins = !progress.has_target();
        let skipped = progress.skipped.clone();
        let target = match progress.target.take() {
            Some(target) => target,
            None => self.recorded(&object, &essence, &uid)?,
        };
        progress.target = Some(target.clone());
        let id = match progress.cause {
            Cause::Update => handled::hash(&json!([uid, record.handled, target])),
            cause => handled::hash(&json!([uid, cause])),
        };
        let journal = Journal::new(progress, Some(self.place.clone()), self.backoff);
        let mut work = Work {
            engine: self,
            object,
            cx,
            uid,
            handled: record.handled,
            old,
            changes: changes.into(),
            id,
        };
        let change = cause.filter(|_| !is_reverted);
        let change = change.map(|cause| (cause, journal.clone()));
        let due = work.due(change, resume, &skipped, begins)?;
        let next = match work.run(&due).await? {
            Pass::Gone => return Ok(Action::await_change()),
            Pass::Next(next) => next,
        };
        let mut errors = due.iter().filter_map(|(_, _, of)| of.progress().error());
        if let Some(error) = errors.next() {
            cx.fail(error);
        }
        let has_ended = |of: Cause| {
            due.iter()
                .filter(|(_, cause, _)| *cause == of)
                .all(|(handler, _, journal)| journal.has_ended(&handler.id))
        };
        if has_ended(Cause::Resume) {
            self.memory.with(&work.uid, |known| known.resume = None);
        }
        let Some(cause) = cause.filter(|cause| has_ended(*cause)) else {
            return Ok(next.map_or_else(Action::await_change, Action::requeue));
        };
        debug!(%cause, "handled");
        // If the change was reverted before any handler returned, no handler has seen the target.
        let handled = Some(target).filter(|_| !is_reverted || journal.progress().has_seen());
        work.conclude(handled.as_ref(), &journal, next).await
    }

    async fn cleanup(&self, object: Arc<H::Resource>, cx: &Context) -> Result<()> {
        let uid = object.uid().unwrap_or_default();
        if !self.tasks.end(&uid) {
            cx.delay_cleanup(ENDING_DELAY);
            return Ok(());
        }
        let id = handled::hash(&json!([uid, Cause::Delete]));
        let journal = match self.memory.with(&uid, |known| known.cleanup.clone()) {
            Some(journal) => journal,
            None => {
                let progress = Record::of(&*object, &self.place)?.progress;
                let progress = progress
                    .filter(|it| it.cause == Cause::Delete)
                    .unwrap_or_else(|| Progress::new(Cause::Delete));
                Journal::new(progress, Some(self.place.clone()), self.backoff)
            }
        };
        self.memory
            .with(&uid, |known| known.cleanup = Some(journal.clone()));
        let mut work = Work {
            engine: self,
            object,
            cx,
            uid,
            handled: None,
            old: None,
            changes: Arc::default(),
            id,
        };
        let mut due = vec![];
        for handler in &self.registry.handlers {
            if work.is_for(handler, Cause::Delete)? {
                due.push((handler, Cause::Delete, journal.clone()));
            }
        }
        let pass = work.run(&due).await?;
        if let Some(error) = journal.progress().error() {
            cx.fail(error);
        }
        match pass {
            Pass::Gone | Pass::Next(None) => {}
            Pass::Next(Some(delay)) => cx.delay_cleanup(delay),
        }
        Ok(())
    }

    async fn deleted(&self, object: Arc<H::Resource>, cx: &Context) -> Result<()> {
        let uid = object.uid().unwrap_or_default();
        self.tasks.forget(&uid);
        let journal = Journal::new(Progress::new(Cause::Deleted), None, self.backoff);
        let work = Work {
            engine: self,
            object,
            cx,
            handled: None,
            old: None,
            changes: Arc::default(),
            id: handled::hash(&json!([uid, Cause::Deleted])),
            uid,
        };
        for handler in &self.registry.handlers {
            if work.is_for(handler, Cause::Deleted)? {
                let call = (Cause::Deleted, 1, now());
                let (result, _) = work.call(handler, &journal, call).await;
                if let Err(error) = result {
                    cx.shared().handler_errors.count(&handler.id);
                    warn!(
                        handler = handler.id,
                        "{error}; the handler is not called again"
                    );
                }
            }
        }
        self.memory.forget(&work.uid);
        Ok(())
    }

    async fn stopped(&self) {
        futures::join!(self.tasks.stop(), self.events.stop());
    }

    fn cached(&self, change: Cached<'_, H::Resource>) {
        let Cached {
            what,
            store,
            context,
        } = change;
        let (keys, is_list) = match what {
            CacheChange::Listed(keys) => (keys, true),
            CacheChange::Changed(keys) => (keys, false),
            CacheChange::Removed(key, last) => {
                lock(&self.listed).remove(key);
                for index in &self.registry.indexes {
                    index.replace(key, None);
                }
                return self.events.push_deleted(key, last, context);
            }
        };
        for object in keys.iter().filter_map(|key| store.get(key)) {
            let key = ObjectRef::from_obj(&*object);
            for index in &self.registry.indexes {
                let replace = AssertUnwindSafe(|| index.replace(&key, Some(&*object)));
                if let Err(panic) = catch_unwind(replace) {
                    warn!(object = %key, "the function of an index panicked: {}", panic_message(&*panic));
                    index.replace(&key, None);
                }
            }
            if object.meta().deletion_timestamp.is_some() {
                // without a finalizer, `cleanup` is not called: the tasks would run until the object is gone
                self.tasks.end(&object.uid().unwrap_or_default());
            }
            self.events.push(is_list, object, context);
        }
        if is_list {
            for index in &self.registry.indexes {
                index.complete();
            }
            if self.has_handler(Cause::Resume) {
                let mut listed = lock(&self.listed);
                listed.extend(keys.iter().cloned());
            }
        }
    }

    fn options(&self) -> ControllerOptions<H::Resource> {
        self.options.clone()
    }
}
