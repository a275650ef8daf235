//! The engine of the style `external`: an [`External`] as a [`Reconciler`].
//!
//! Invariant: no creation without a write of the object before it, at the version that was read, which records the creation as started.
//! Only a creation that the other system recognises as the same, by its name or token, is repeated without another such write.

use std::{sync::Arc, time::Duration};

use k8s_openapi::jiff::Timestamp;
use kube::{
    Resource, ResourceExt,
    runtime::{
        events::EventType,
        reflector::{ObjectRef, Store},
    },
};
use tokio::time::sleep;
use tracing::warn;

use super::{
    Answer, AroundCalls, Created, DriftPolicy, External, ExternalError, ExternalOptions, Identity,
    State,
    call::{Calls, ProviderCall},
    memory::{Memory, Unrecorded},
    record::{CREATION_STARTED, CREATION_TOKEN, EXTERNAL_ID, Record, SYNCED_HASH, key},
    state::Phase,
};
use crate::{
    Action, ControllerOptions, Error, Result,
    context::{Context, Precondition},
    engine::Changed,
    style::Reconciler,
};

/// How often the id of a new thing is written before the next reconciliation has to do it, and how long to wait in between.
const RECORD_ATTEMPTS: u32 = 4;
const RECORD_DELAY: Duration = Duration::from_millis(250);

pub(super) struct Engine<E> {
    pub provider: E,
    pub options: ExternalOptions,
    pub memory: Memory,
    calls: Calls,
}

/// What a reconciliation has come to.
pub(super) struct Outcome<O> {
    pub id: Option<String>,
    pub observed: Option<O>,
    pub phase: Phase,
    /// When to look again, if earlier than usual.
    pub after: Option<Duration>,
}

impl<O> Outcome<O> {
    pub fn of(id: Option<String>, phase: Phase) -> Self {
        Self {
            id,
            observed: None,
            phase,
            after: None,
        }
    }

    fn absent(id: Option<String>, after: Duration) -> Self {
        Self {
            after: Some(after),
            ..Self::of(id, Phase::Absent)
        }
    }
}

/// Where the thing of an object without a recorded id is.
enum Located {
    Found(String),
    /// There is none, and a creation may begin.
    Nowhere,
    /// There may be one that is not visible yet.
    Unknown(Duration),
}

impl<E: External> Engine<E> {
    pub fn new(provider: E, around: Option<Arc<AroundCalls>>) -> Self {
        let options = provider.options();
        Self {
            provider,
            options,
            memory: Memory::default(),
            calls: Calls::new(&options, around),
        }
    }

    /// Makes the thing as the object asks for.
    async fn sync(
        &self,
        object: &E::Resource,
        record: &Record,
        cx: &Context,
    ) -> Result<Outcome<E::Observed>> {
        let identity = self.identity(object)?;
        let mut record = record.clone();
        if let Some(ended) = self.record_ended(object, &mut record, cx).await? {
            return Ok(ended);
        }
        let id = match record.id.clone() {
            Some(id) => id,
            None => match self.locate(object, &identity, &record, cx).await? {
                Located::Found(id) => {
                    if !self.record_id(object, &id, cx).await? {
                        return Ok(Outcome::absent(Some(id), self.options.poll_pending));
                    }
                    id
                }
                Located::Nowhere => return self.create(object, &identity, &record, cx).await,
                Located::Unknown(after) => return Ok(Outcome::absent(None, after)),
            },
        };
        match self.observe(object, &id, cx).await? {
            Some(observed) => {
                self.memory.present(&uid(object));
                self.compare(object, id, observed, &record, cx).await
            }
            None => self.vanished(object, id, &record, cx).await,
        }
    }

    /// Records the result of a creation that could not be recorded before. Returns an outcome if that has failed again.
    async fn record_ended(
        &self,
        object: &E::Resource,
        record: &mut Record,
        cx: &Context,
    ) -> Result<Option<Outcome<E::Observed>>> {
        let uid = uid(object);
        let written = match self.memory.unrecorded(&uid) {
            None => return Ok(None),
            // a person was faster
            Some(_) if record.id.is_some() => true,
            Some(Unrecorded::Id(id)) => {
                let written = self.record_id(object, &id, cx).await?;
                record.id = Some(id);
                written
            }
            Some(Unrecorded::Refused) => {
                (record.started, record.token) = (None, None);
                self.record_refusal(object, cx).await?
            }
            Some(Unrecorded::NotCalled(started)) if record.started.as_ref() == Some(&started) => {
                (record.started, record.token) = (None, None);
                return Ok(None);
            }
            // the write may still arrive, or be in the cache later
            Some(Unrecorded::NotCalled(_)) if record.started.is_none() => return Ok(None),
            // another process was faster
            Some(Unrecorded::NotCalled(_)) => true,
        };
        if written {
            self.memory.set_unrecorded(&uid, None);
            return Ok(None);
        }
        Ok(Some(Outcome::absent(
            record.id.clone(),
            self.options.poll_pending,
        )))
    }

    /// Looks for the thing of an object that has no recorded id.
    async fn locate(
        &self,
        object: &E::Resource,
        identity: &Identity,
        record: &Record,
        cx: &Context,
    ) -> Result<Located> {
        let operator = cx.operator().to_owned();
        match (identity, &record.started) {
            (Identity::Name(name), started) => {
                let observed = self.observe(object, name, cx).await?;
                match (observed, started) {
                    (None, _) => Ok(Located::Nowhere),
                    (Some(_), Some(_)) => Ok(Located::Found(name.clone())),
                    (Some(_), None) => {
                        let name = name.clone();
                        Err(ExternalError::Exists { name, operator }.into())
                    }
                }
            }
            (Identity::Lookup, started) => match self.find(object, cx).await? {
                Some(id) => Ok(Located::Found(id)),
                None if started.is_none() => Ok(Located::Nowhere),
                None => match self.memory.absent(&uid(object), self.options.grace) {
                    Some(rest) => Ok(Located::Unknown(rest)),
                    None => Ok(Located::Nowhere),
                },
            },
            (Identity::Assigned, Some(started)) => {
                let started = started.clone();
                Err(ExternalError::CreationUncertain { started, operator }.into())
            }
            (Identity::Token, _) | (Identity::Assigned, None) => Ok(Located::Nowhere),
        }
    }

    /// The one thing that carries the tag of the object.
    pub async fn find(&self, object: &E::Resource, cx: &Context) -> Result<Option<String>> {
        let tag = uid(object);
        let found = self.provider.find(object, &tag, cx);
        let call = call(object, "find");
        let mut ids = self
            .calls
            .call(call, found, |ids| ids.first().cloned())
            .await?;
        if ids.len() > 1 {
            let operator = cx.operator().to_owned();
            return Err(ExternalError::Ambiguous { ids, operator }.into());
        }
        let id = ids.pop();
        match &id {
            Some(id) if is_empty(id) => Err(empty("an id that `find` returned")),
            _ => Ok(id),
        }
    }

    /// Records that a creation is started, makes the call, and records its result.
    async fn create(
        &self,
        object: &E::Resource,
        identity: &Identity,
        record: &Record,
        cx: &Context,
    ) -> Result<Outcome<E::Observed>> {
        let token = match (identity, &record.started, &record.token) {
            (Identity::Token, Some(_), Some(token)) => token.clone(),
            _ => format!("{}-{}", uid(object), Timestamp::now().as_millisecond()),
        };
        let is_repetition = match identity {
            Identity::Name(_) => record.started.is_some(),
            Identity::Token => record.started.is_some() && record.token.is_some(),
            Identity::Lookup | Identity::Assigned => false,
        };
        if !is_repetition {
            let started = match self.memory.unrecorded(&uid(object)) {
                Some(Unrecorded::NotCalled(started)) => started,
                _ => Timestamp::now().to_string(),
            };
            let unrecorded = Unrecorded::NotCalled(started.clone());
            self.memory.set_unrecorded(&uid(object), Some(unrecorded));
            let mut annotations = [(CREATION_STARTED, Some(started))].to_vec();
            if *identity == Identity::Token {
                annotations.push((CREATION_TOKEN, Some(token.clone())));
            }
            // The thing is created from this spec, whether or not it is seen before the spec changes.
            if self.provider.drift_policy(object)? == DriftPolicy::Report {
                annotations.push((SYNCED_HASH, Some(spec_hash(object)?)));
            }
            if !write(object, annotations, Precondition::Version, cx).await? {
                return Ok(Outcome::absent(None, self.options.poll_pending));
            }
        }
        self.memory.present(&uid(object));
        self.memory.set_unrecorded(&uid(object), None);
        let id = match self.call_create(object, identity, &token, cx).await? {
            Answer::Id(id) => id,
            Answer::Refused(error) => {
                // The refusal of a repetition says nothing about the call before.
                if is_repetition || self.record_refusal(object, cx).await? {
                    self.memory.set_unrecorded(&uid(object), None);
                }
                return Err(error);
            }
        };
        let note = format!("created {id}");
        if !self.record_id(object, &id, cx).await? {
            return Ok(Outcome::absent(Some(id), self.options.poll_pending));
        }
        self.memory.set_unrecorded(&uid(object), None);
        cx.event(object, EventType::Normal, "Created", note).await;
        match self.observe(object, &id, cx).await? {
            Some(observed) => {
                let phase = self.phase(object, &observed)?;
                Ok(self.seen(id, observed, phase))
            }
            None => {
                self.memory.absent(&uid(object), self.options.grace);
                let after = self.options.poll_pending.min(self.options.grace);
                Ok(Outcome::absent(Some(id), after))
            }
        }
    }

    /// Calls `create`, and remembers its answer until it is recorded.
    pub async fn call_create(
        &self,
        object: &E::Resource,
        identity: &Identity,
        token: &str,
        cx: &Context,
    ) -> Result<Answer> {
        let uid = uid(object);
        let key = match identity {
            Identity::Name(name) => name,
            Identity::Lookup => &uid,
            Identity::Token | Identity::Assigned => token,
        };
        let created = self.provider.create(object, key, cx);
        let created_id = |created: &Created| match &created.0 {
            Answer::Id(id) => Some(id.clone()),
            Answer::Refused(_) => None,
        };
        let call = call(object, "create");
        let Created(answer) = self.calls.call(call, created, created_id).await?;
        if matches!(&answer, Answer::Id(id) if is_empty(id)) {
            return Err(empty("the id that `create` returned"));
        }
        self.memory
            .set_unrecorded(&uid, Some(Unrecorded::of(&answer)));
        Ok(answer)
    }

    /// Compares a thing with its object, and updates it if it differs.
    async fn compare(
        &self,
        object: &E::Resource,
        id: String,
        observed: E::Observed,
        record: &Record,
        cx: &Context,
    ) -> Result<Outcome<E::Observed>> {
        let policy = self.provider.drift_policy(object)?;
        let difference = self.provider.difference(object, &observed)?;
        let hash = (policy == DriftPolicy::Report)
            .then(|| spec_hash(object))
            .transpose()?;
        let has_changed = match (&hash, &record.synced_hash) {
            (Some(hash), Some(synced)) => hash != synced,
            // it was imported, or the policy is new: what is there is not overwritten
            (Some(_), None) => false,
            (None, _) => true,
        };
        let is_recorded = hash.is_none() || hash == record.synced_hash;
        let Some(difference) = difference else {
            if !is_recorded {
                self.record_hash(object, cx).await?;
            }
            return Ok(self.seen(id, observed, Phase::Synced));
        };
        if !has_changed {
            if !is_recorded {
                self.record_hash(object, cx).await?;
            }
            let type_ = EventType::Warning;
            cx.event(object, type_, "Drifted", difference.clone()).await;
            return Ok(self.seen(id, observed, Phase::Differs("Drifted", difference)));
        }
        let updated = self.provider.update(object, &id, &observed, cx);
        let (call, about) = (call(object, "update"), id.clone());
        let updated = self.calls.call(call, updated, move |()| Some(about));
        if let Err(error) = updated.await {
            return Ok(self.seen(id, observed, Phase::Failed(error)));
        }
        if !is_recorded {
            self.record_hash(object, cx).await?;
        }
        let note = format!("updated {id}: {difference}");
        cx.event(object, EventType::Normal, "Updated", note).await;
        match self.observe(object, &id, cx).await? {
            Some(observed) => {
                let phase = self.phase(object, &observed)?;
                Ok(self.seen(id, observed, phase))
            }
            None => Ok(Outcome::absent(Some(id), self.options.poll_pending)),
        }
    }

    /// The phase after a creation or an update.
    fn phase(&self, object: &E::Resource, observed: &E::Observed) -> Result<Phase> {
        Ok(match self.provider.difference(object, observed)? {
            None => Phase::Synced,
            Some(difference) => Phase::Differs("Updating", difference),
        })
    }

    fn seen(&self, id: String, observed: E::Observed, phase: Phase) -> Outcome<E::Observed> {
        let is_pending =
            matches!(phase, Phase::Differs("Updating", _)) || !self.provider.is_ready(&observed);
        Outcome {
            id: Some(id),
            observed: Some(observed),
            phase,
            after: is_pending.then_some(self.options.poll_pending),
        }
    }

    /// The recorded thing is absent. If that lasts, its record is removed, so that the next reconciliation creates another one.
    async fn vanished(
        &self,
        object: &E::Resource,
        id: String,
        record: &Record,
        cx: &Context,
    ) -> Result<Outcome<E::Observed>> {
        if record.started.is_none() && record.id.is_some() {
            let operator = cx.operator().to_owned();
            return Err(ExternalError::NothingToImport { id, operator }.into());
        }
        if let Some(rest) = self.memory.absent(&uid(object), self.options.grace) {
            return Ok(Outcome::absent(
                Some(id),
                rest.min(self.options.poll_pending),
            ));
        }
        let removed = [EXTERNAL_ID, CREATION_STARTED, CREATION_TOKEN].map(|name| (name, None));
        if write(object, removed.to_vec(), Precondition::Version, cx).await? {
            let note = format!("{id} does not exist any more");
            cx.event(object, EventType::Warning, "Vanished", note).await;
        }
        Ok(Outcome::absent(None, Duration::ZERO))
    }

    pub fn identity(&self, object: &E::Resource) -> Result<Identity> {
        match self.provider.identity(object)? {
            Identity::Name(name) if is_empty(&name) => Err(empty("the name of the thing")),
            identity => Ok(identity),
        }
    }

    pub async fn observe(
        &self,
        object: &E::Resource,
        id: &str,
        cx: &Context,
    ) -> Result<Option<E::Observed>> {
        let observed = self.provider.observe(object, id, cx);
        let call = call(object, "observe");
        let found = |it: &Option<E::Observed>| it.as_ref().map(|_| id.to_owned());
        self.calls.call(call, observed, found).await
    }

    pub async fn delete(&self, object: &E::Resource, id: &str, cx: &Context) -> Result<()> {
        let deleted = self.provider.delete(object, id, cx);
        let call = call(object, "delete");
        self.calls
            .call(call, deleted, |()| Some(id.to_owned()))
            .await
    }

    /// Records the id of the thing, whatever else has changed of the object. Returns whether the object exists.
    pub async fn record_id(&self, object: &E::Resource, id: &str, cx: &Context) -> Result<bool> {
        for attempt in 1.. {
            let annotations = vec![(EXTERNAL_ID, Some(id.to_owned()))];
            match write(object, annotations, Precondition::Uid, cx).await {
                Ok(written) => {
                    if !written {
                        warn!(
                            id,
                            "the object was deleted before the id of its thing could be recorded"
                        );
                    }
                    return Ok(written);
                }
                Err(_) if attempt < RECORD_ATTEMPTS => sleep(RECORD_DELAY * attempt).await,
                Err(error) => return Err(error),
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Records that nothing was created.
    pub async fn record_refusal(&self, object: &E::Resource, cx: &Context) -> Result<bool> {
        let removed = [CREATION_STARTED, CREATION_TOKEN].map(|name| (name, None));
        write(object, removed.to_vec(), Precondition::Uid, cx).await
    }

    async fn record_hash(&self, object: &E::Resource, cx: &Context) -> Result<bool> {
        let hash = Some(spec_hash(object)?);
        write(object, vec![(SYNCED_HASH, hash)], Precondition::Uid, cx).await
    }

    /// Writes the status after a reconciliation or a cleanup.
    pub async fn report(
        &self,
        object: &E::Resource,
        outcome: &mut Outcome<E::Observed>,
        cx: &Context,
    ) -> Result<()> {
        let observed = outcome.observed.take();
        let is_ready = observed.as_ref().map(|it| self.provider.is_ready(it));
        let state = State {
            id: outcome.id.clone(),
            observed,
            synced: outcome.phase.synced(),
            ready: outcome.phase.ready(is_ready),
        };
        match self.provider.status(object, &state)?.into_value() {
            Some(status) => cx.update_status(object, &status?).await,
            None => Ok(()),
        }
    }
}

impl<E: External> Reconciler for Engine<E> {
    type Resource = E::Resource;
    const FINALIZER: Option<&'static str> = Some(E::FINALIZER);

    async fn reconcile(&self, object: Arc<E::Resource>, cx: &Context) -> Result<Action> {
        let record = Record::of(&*object, cx.operator());
        let recorded = record.as_ref().ok().and_then(|record| record.id.clone());
        let result = match record {
            Ok(record) if record.is_paused => Ok(Outcome::of(recorded.clone(), Phase::Paused)),
            Ok(record) => self.sync(&object, &record, cx).await,
            Err(error) => Err(error),
        };
        if cx.is_gone() || cx.is_outdated() {
            result?;
            return Ok(Action::await_change());
        }
        let failed = |error| Outcome::of(recorded, Phase::Failed(error));
        let mut outcome = result.unwrap_or_else(failed);
        let reported = self.report(&object, &mut outcome, cx).await;
        match outcome.phase {
            // the next attempt reports it again
            Phase::Failed(error) => Err(error),
            Phase::Paused => reported.map(|()| Action::await_change()),
            _ => {
                let after = outcome.after.unwrap_or(self.options.poll);
                reported.map(|()| Action::requeue(after))
            }
        }
    }

    fn options(&self) -> ControllerOptions<E::Resource> {
        self.provider.controller_options()
    }

    async fn cleanup(&self, object: Arc<E::Resource>, cx: &Context) -> Result<()> {
        self.remove(&object, cx).await
    }

    fn parents(
        &self,
        changed: &Changed,
        cache: &Store<E::Resource>,
    ) -> Vec<ObjectRef<E::Resource>> {
        self.provider.parents(changed, cache)
    }
}

/// Writes annotations, by their names without the operator's prefix.
async fn write<K>(
    object: &K,
    annotations: Vec<(&str, Option<String>)>,
    precondition: Precondition,
    cx: &Context,
) -> Result<bool>
where
    K: Resource<DynamicType = ()> + serde::Serialize,
{
    let annotations = annotations.into_iter();
    let annotations = annotations.map(|(name, value)| (key(cx.operator(), name), value));
    cx.annotate(object, annotations.collect(), precondition)
        .await
}

pub(super) fn uid(object: &impl Resource) -> String {
    object.meta().uid.clone().unwrap_or_default()
}

fn is_empty(id: &str) -> bool {
    id.trim().is_empty()
}

fn empty(what: &'static str) -> Error {
    let help = "the provider must return what the other system calls it".to_owned();
    ExternalError::EmptyIdentity { what, help }.into()
}

fn call<K: Resource<DynamicType = ()>>(object: &K, method: &'static str) -> ProviderCall {
    ProviderCall {
        kind: format!("{}.{}", K::kind(&()), K::group(&())),
        namespace: object.namespace(),
        name: object.name_any(),
        method,
    }
}

/// A hash of the spec, the same in every process.
fn spec_hash(object: &impl serde::Serialize) -> Result<String> {
    let object = serde_json::to_value(object)?;
    let spec = object["spec"].to_string();
    // FNV-1a
    let hash = spec.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Ok(format!("{hash:016x}"))
}
