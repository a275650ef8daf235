//! The creation of an external resource: looks for one that exists already, records that the creation is started, makes the call, and
//! records its result.
//!
//! Invariant: no creation without a write of the object before it, at the version that was read, which records the creation as started.
//! Only a creation that the other system recognizes as the same, by its name or token, is repeated without another such write.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::runtime::events::EventType;
use tokio::time::sleep;
use tracing::warn;

use super::{
    Answer, Created, DriftPolicy, External, ExternalError, Identity,
    engine::{Engine, Outcome, empty_identity, is_empty, provider_call, spec_hash, uid, write},
    memory::{Hold, Unrecorded},
    record::{CREATION_STARTED, CREATION_TOKEN, EXTERNAL_ID, Record, SYNCED_HASH},
};
use crate::{
    Result,
    context::{Context, Precondition},
};

/// How often it is tried to write the id of a new external resource, before the next reconciliation has to do it.
const RECORD_ATTEMPTS: u32 = 4;

/// The delay after the first of these attempts; it grows with each.
const RECORD_DELAY: Duration = Duration::from_millis(250);

/// The result of looking for the external resource of an object without a recorded id.
pub(super) enum Located {
    Found(String),
    /// There is none, and a creation may begin.
    Nowhere,
    /// There may be one that is not visible yet; look again after this time.
    Unknown(Duration),
}

impl<E: External> Engine<E> {
    /// Records the result of a creation that could not be recorded before. Returns an outcome if the object does not exist any more.
    pub async fn record_pending(
        &self,
        object: &E::Resource,
        record: &mut Record,
        cx: &Context,
    ) -> Result<Option<Outcome<E::Observed>>> {
        let uid = uid(object);
        let written = match self.memory.unrecorded(&uid) {
            None => return Ok(None),
            // a person has set the annotation meanwhile
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
            // the write may have succeeded, and not be in the cache yet
            Some(Unrecorded::NotCalled(_)) if record.started.is_none() => return Ok(None),
            // another process has recorded a start meanwhile
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

    /// Looks for the external resource of an object that has no recorded id.
    pub async fn locate(
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
                        self.memory.release(&uid(object));
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

    /// Finds the only external resource that carries the tag of the object.
    pub async fn find(&self, object: &E::Resource, cx: &Context) -> Result<Option<String>> {
        let tag = uid(object);
        let found = self.provider.find(object, &tag, cx);
        let call = provider_call(object, "find");
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
            Some(id) if is_empty(id) => Err(empty_identity("an id that `find` returned")),
            _ => Ok(id),
        }
    }

    /// Records that a creation is started, makes the call, and records its result.
    pub async fn create(
        &self,
        object: &E::Resource,
        identity: &Identity,
        record: &Record,
        cx: &Context,
    ) -> Result<Outcome<E::Observed>> {
        // before the creation is recorded
        self.calls.check()?;
        // While this object was looking for an external resource, another object that has a record may have claimed the name.
        self.claim(object, identity, record, Hold::Recorded, cx)?;
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
            // Recorded now, because the external resource is created from this spec, and the spec may change before the external resource
            // is observed.
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
        let call = provider_call(object, "create");
        let Created(answer) = match self.calls.begin().await {
            Ok(()) => self.calls.make(call, created, created_id).await?,
            // no call, and so nothing was created
            Err(error) => Created::refused(error),
        };
        if matches!(&answer, Answer::Id(id) if is_empty(id)) {
            return Err(empty_identity("the id that `create` returned"));
        }
        self.memory
            .set_unrecorded(&uid, Some(Unrecorded::of(&answer)));
        Ok(answer)
    }

    /// Records the id of the external resource, even if the object has changed meanwhile. Returns whether the object exists.
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

    /// Removes the record of a creation that the other system has refused. Returns whether the object exists.
    pub async fn record_refusal(&self, object: &E::Resource, cx: &Context) -> Result<bool> {
        let removed = [CREATION_STARTED, CREATION_TOKEN].map(|name| (name, None));
        write(object, removed.to_vec(), Precondition::Uid, cx).await
    }
}
