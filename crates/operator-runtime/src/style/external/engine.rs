//! The engine of the style `external`: an [`External`] as a [`Reconciler`].

use std::{sync::Arc, time::Duration};

use kube::{
    Resource, ResourceExt,
    runtime::{
        events::EventType,
        reflector::{ObjectRef, Store},
    },
};

use super::{
    AroundCalls, DriftPolicy, External, ExternalError, ExternalOptions, Identity, State,
    call::{Calls, ProviderCall},
    create::Located,
    memory::{Hold, Memory, Unrecorded},
    record::{CREATION_STARTED, CREATION_TOKEN, EXTERNAL_ID, Record, SYNCED_HASH, key},
    state::Phase,
};
use crate::{
    Action, ControllerOptions, Error, Result,
    context::{Context, Precondition},
    engine::{Changed, kind::GroupKind},
    stable_hash::stable_hash,
    style::Reconciler,
};

pub(super) struct Engine<E: External> {
    pub provider: Arc<E>,
    pub options: ExternalOptions,
    pub memory: Memory,
    pub calls: Calls,
    controller_options: ControllerOptions<E::Resource>,
}

/// The result of a reconciliation.
pub(super) struct Outcome<O> {
    pub id: Option<String>,
    pub observed: Option<O>,
    pub phase: Phase,
    /// The time until the next observation, if it is shorter than [`ExternalOptions::poll`].
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

    pub fn absent(id: Option<String>, after: Duration) -> Self {
        Self {
            after: Some(after),
            ..Self::of(id, Phase::Absent)
        }
    }
}

impl<E: External> Engine<E> {
    /// Checks the options.
    ///
    /// # Errors
    /// If they reduce the objects.
    pub fn check(provider: &E) -> Result<()> {
        if provider.controller_options().reduction.is_some() {
            return Err(anyhow::anyhow!(
                "the options of the external controller of {} reduce the objects\nhelp: remove `reduce`, because annotations and the spec decide what happens to the thing of an object",
                GroupKind::of::<E::Resource>()
            )
            .into());
        }
        Ok(())
    }

    /// An engine that remembers nothing yet.
    pub fn new(provider: Arc<E>, around: Option<Arc<AroundCalls>>) -> Self {
        let options = provider.options();
        Self {
            options,
            memory: Memory::default(),
            calls: Calls::new(&options, around),
            controller_options: provider.controller_options(),
            provider,
        }
    }

    /// Reserves the name of the external resource for this object until the object is deleted, so that no other object works with the same
    /// external resource.
    pub fn claim(
        &self,
        object: &E::Resource,
        identity: &Identity,
        record: &Record,
        hold: Hold,
        cx: &Context,
    ) -> Result<()> {
        let Identity::Name(name) = identity else {
            return Ok(());
        };
        let name = record.id.as_ref().unwrap_or(name);
        let claimed = self
            .memory
            .claim(name, &uid(object), hold, || object_name(object));
        claimed.map_err(|holder| {
            let (name, operator) = (name.clone(), cx.operator().to_owned());
            ExternalError::NameInUse {
                name,
                holder,
                operator,
            }
            .into()
        })
    }

    /// How certain it is that an object with this record has an external resource.
    pub fn hold(&self, object: &E::Resource, record: &Record) -> Hold {
        let may_have_resource = match self.memory.unrecorded(&uid(object)) {
            _ if record.id.is_some() => true,
            None => record.started.is_some(),
            Some(Unrecorded::Id(_)) => true,
            Some(Unrecorded::Refused) => false,
            Some(Unrecorded::NotCalled(not_called)) => {
                let mut started = record.started.iter();
                started.any(|started| *started != not_called)
            }
        };
        if may_have_resource {
            Hold::Recorded
        } else {
            Hold::Tentative
        }
    }

    /// Creates or updates the external resource, so that it is as the object asks for.
    async fn sync(
        &self,
        object: &E::Resource,
        record: &Record,
        cx: &Context,
    ) -> Result<Outcome<E::Observed>> {
        let identity = self.identity(object)?;
        let mut record = record.clone();
        if let Some(outcome) = self.record_pending(object, &mut record, cx).await? {
            return Ok(outcome);
        }
        let hold = self.hold(object, &record);
        self.claim(object, &identity, &record, hold, cx)?;
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

    /// Compares an external resource with its object, and updates it if it differs.
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
            // it was imported, or the policy is new: its current state is not overwritten
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
        let (call, about) = (provider_call(object, "update"), id.clone());
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
    pub fn phase(&self, object: &E::Resource, observed: &E::Observed) -> Result<Phase> {
        Ok(match self.provider.difference(object, observed)? {
            None => Phase::Synced,
            Some(difference) => Phase::Differs("Updating", difference),
        })
    }

    /// The outcome for an external resource that was observed.
    pub fn seen(&self, id: String, observed: E::Observed, phase: Phase) -> Outcome<E::Observed> {
        let is_pending =
            matches!(phase, Phase::Differs("Updating", _)) || !self.provider.is_ready(&observed);
        Outcome {
            id: Some(id),
            observed: Some(observed),
            phase,
            after: is_pending.then_some(self.options.poll_pending),
        }
    }

    /// Handles the absence of a recorded external resource. Once it was absent for the grace period, removes the record, so that the next
    /// reconciliation creates another external resource.
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
            Identity::Name(name) if is_empty(&name) => Err(empty_identity("the name of the thing")),
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
        let call = provider_call(object, "observe");
        let found = |it: &Option<E::Observed>| it.as_ref().map(|_| id.to_owned());
        self.calls.call(call, observed, found).await
    }

    pub async fn delete(&self, object: &E::Resource, id: &str, cx: &Context) -> Result<()> {
        let deleted = self.provider.delete(object, id, cx);
        let call = provider_call(object, "delete");
        self.calls
            .call(call, deleted, |()| Some(id.to_owned()))
            .await
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
        let is_tolerated = |error: &Error| {
            let until_next = error.delay().unwrap_or_default();
            let unobserved = || self.memory.unobserved(&uid(&*object)) + until_next;
            error.resolves_itself() && recorded.is_some() && unobserved() < self.options.unobserved
        };
        let mut outcome = match result {
            Ok(outcome) => {
                self.memory.observed(&uid(&*object));
                outcome
            }
            // the conditions stay as they are
            Err(error) if is_tolerated(&error) => return Err(error),
            Err(error) => Outcome::of(recorded, Phase::Failed(error)),
        };
        let reported = self.report(&object, &mut outcome, cx).await;
        match outcome.phase {
            // if the status was not written, the next attempt does it
            Phase::Failed(error) => Err(error),
            Phase::Paused => reported.map(|()| Action::await_change()),
            _ => {
                let after = outcome.after.unwrap_or(self.options.poll);
                reported.map(|()| Action::requeue(after))
            }
        }
    }

    fn options(&self) -> ControllerOptions<E::Resource> {
        self.controller_options.clone()
    }

    async fn cleanup(&self, object: Arc<E::Resource>, cx: &Context) -> Result<()> {
        self.remove(&object, cx).await
    }

    /// Releases the name of an object that was deleted, or is no longer selected.
    async fn deleted(&self, object: Arc<E::Resource>, _cx: &Context) -> Result<()> {
        self.memory.release(&uid(&*object));
        Ok(())
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
pub(super) async fn write<K>(
    object: &K,
    annotations: Vec<(&str, Option<String>)>,
    precondition: Precondition,
    cx: &Context,
) -> Result<bool>
where
    K: Resource<DynamicType = ()> + serde::Serialize,
{
    let annotations = annotations
        .into_iter()
        .map(|(name, value)| (key(cx.operator(), name), value));
    cx.annotate(object, annotations.collect(), precondition)
        .await
}

pub(super) fn uid(object: &impl Resource) -> String {
    object.meta().uid.clone().unwrap_or_default()
}

pub(super) fn is_empty(id: &str) -> bool {
    id.trim().is_empty()
}

pub(super) fn empty_identity(what: &'static str) -> Error {
    let help = "the provider must return what the other system calls it".to_owned();
    ExternalError::EmptyIdentity { what, help }.into()
}

pub(super) fn provider_call<K: Resource<DynamicType = ()>>(
    object: &K,
    method: &'static str,
) -> ProviderCall {
    ProviderCall {
        kind: format!("{}.{}", K::kind(&()), K::group(&())),
        namespace: object.namespace(),
        name: object.name_any(),
        method,
    }
}

fn object_name<K: Resource<DynamicType = ()>>(object: &K) -> String {
    provider_call(object, "").object()
}

/// The hash of the spec.
pub(super) fn spec_hash(object: &impl serde::Serialize) -> Result<String> {
    let object = serde_json::to_value(object)?;
    Ok(stable_hash(&object["spec"].to_string()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_hash_of_a_spec_is_the_same_in_every_release() {
        let object = serde_json::json!({"metadata": {"name": "a"}, "spec": {"size": 3}});
        assert_eq!(super::spec_hash(&object).unwrap(), "1c10a863827b88b1");
    }
}
