//! Deletes the external resource of an object that is being deleted, or keeps it, as the deletion policy says.

use std::time::Duration;

use kube::runtime::events::EventType;

use super::{
    Answer, DeletionPolicy, External, ExternalError, Identity,
    engine::{Engine, Outcome, uid, write},
    memory::{Hold, Unrecorded},
    record::{CREATION_STARTED, CREATION_TOKEN, EXTERNAL_ID, Record},
    state::Phase,
};
use crate::{
    Result,
    context::{Context, Precondition},
    error::LONGEST_DELAY,
};

/// The delay of the next attempt, if the object has changed since the watch reported it. Normally, the watch reports it again earlier.
const OUTDATED_DELAY: Duration = Duration::from_secs(1);

/// How far the removal of an external resource is.
enum Removal {
    Done,
    /// It is being deleted, or may still appear.
    Waiting,
    Paused,
    /// The object has changed, or was deleted.
    Outdated,
}

/// The external resource to delete.
enum Target {
    None,
    /// Its id is known.
    Recorded(String),
    /// Its creation was started, and the result is not recorded: it may still appear.
    Started(String),
    /// Like `Started`, but its id is not known either, because no search by tag has found it yet.
    Invisible,
}

impl<E: External> Engine<E> {
    /// Deletes the external resource, as the policy says, and keeps the finalizer until it is gone.
    pub async fn remove(&self, object: &E::Resource, cx: &Context) -> Result<()> {
        let record = Record::of(object, cx.operator());
        let recorded = record.as_ref().ok().and_then(|record| record.id.clone());
        let removal = match record {
            Ok(record) => self.try_remove(object, &record, cx).await,
            Err(error) => Err(error),
        };
        let (phase, delay) = match removal {
            Ok(Removal::Done) => {
                self.memory.forget(&uid(object));
                return Ok(());
            }
            Ok(Removal::Waiting) => (Phase::Deleting, self.options.poll_pending),
            Ok(Removal::Outdated) => {
                cx.delay_cleanup(OUTDATED_DELAY);
                return Ok(());
            }
            Ok(Removal::Paused) => (Phase::Paused, LONGEST_DELAY),
            Err(error) => (Phase::Failed(error), Duration::ZERO),
        };
        let mut outcome = Outcome::of(recorded, phase);
        let reported = self.report(object, &mut outcome, cx).await;
        if let Phase::Failed(error) = outcome.phase {
            return Err(error);
        }
        cx.delay_cleanup(delay);
        reported
    }

    async fn try_remove(
        &self,
        object: &E::Resource,
        record: &Record,
        cx: &Context,
    ) -> Result<Removal> {
        if record.is_paused {
            return Ok(Removal::Paused);
        }
        // A deletion cannot be undone, and the policy or the id may have changed since the watch has reported the object.
        if !cx.is_unchanged(object).await? {
            return Ok(Removal::Outdated);
        }
        if self.provider.deletion_policy(object)? == DeletionPolicy::Retain {
            if let Some(id) = &record.id {
                let note = format!("{id} stays, as the deletion policy says");
                cx.event(object, EventType::Normal, "Retained", note).await;
            }
            return Ok(Removal::Done);
        }
        // If another object has a record of the external resource too, a person decides to which one it belongs.
        let hold = self.hold(object, record);
        if hold == Hold::Recorded
            && let Ok(identity) = self.identity(object)
        {
            self.claim(object, &identity, record, hold, cx)?;
        }
        let (id, is_recorded) = match self.target(object, record, cx).await? {
            Target::None => return self.remove_record(object, record, cx).await,
            Target::Invisible => return self.remove_record_after_grace(object, record, cx).await,
            Target::Recorded(id) => (id, true),
            Target::Started(id) => (id, false),
        };
        // also if it cannot be observed: an external resource that was created a moment ago may not be visible yet
        self.delete(object, &id, cx).await?;
        if self.observe(object, &id, cx).await?.is_some() {
            self.memory.present(&uid(object));
            return Ok(Removal::Waiting);
        }
        if !is_recorded {
            return self.remove_record_after_grace(object, record, cx).await;
        }
        let note = format!("deleted {id}");
        cx.event(object, EventType::Normal, "Deleted", note).await;
        self.remove_record(object, record, cx).await
    }

    /// Removes the record once the external resource was absent for the grace period.
    async fn remove_record_after_grace(
        &self,
        object: &E::Resource,
        record: &Record,
        cx: &Context,
    ) -> Result<Removal> {
        match self.memory.absent(&uid(object), self.options.grace) {
            Some(_) => Ok(Removal::Waiting),
            None => self.remove_record(object, record, cx).await,
        }
    }

    /// Removes the record before another object may use the name. If the finalizer is then not removed, the next attempt deletes nothing.
    async fn remove_record(
        &self,
        object: &E::Resource,
        record: &Record,
        cx: &Context,
    ) -> Result<Removal> {
        if record.id.is_none() && record.started.is_none() {
            return Ok(Removal::Done);
        }
        let removed = [EXTERNAL_ID, CREATION_STARTED, CREATION_TOKEN].map(|name| (name, None));
        let written = write(object, removed.to_vec(), Precondition::Version, cx).await?;
        Ok(if written {
            Removal::Done
        } else {
            Removal::Outdated
        })
    }

    /// Finds out what to delete.
    async fn target(&self, object: &E::Resource, record: &Record, cx: &Context) -> Result<Target> {
        let uid = uid(object);
        if let Some(id) = &record.id {
            return Ok(Target::Recorded(id.clone()));
        }
        match self.memory.unrecorded(&uid) {
            Some(Unrecorded::Id(id)) => return Ok(Target::Recorded(id)),
            Some(Unrecorded::Refused) => return Ok(Target::None),
            Some(Unrecorded::NotCalled(started)) if record.started.as_ref() == Some(&started) => {
                return Ok(Target::None);
            }
            Some(Unrecorded::NotCalled(_)) | None => {}
        }
        let identity = match self.identity(object) {
            // without an identity, nothing was created
            Err(_) if record.started.is_none() => return Ok(Target::None),
            identity => identity?,
        };
        // An external resource with the tag of the object is its own, whatever is recorded.
        if identity == Identity::Lookup
            && let Some(id) = self.find(object, cx).await?
        {
            return Ok(Target::Started(id));
        }
        let Some(started) = &record.started else {
            return Ok(Target::None);
        };
        match (&identity, &record.token) {
            (Identity::Name(name), _) => Ok(Target::Started(name.clone())),
            (Identity::Lookup, _) => Ok(Target::Invisible),
            // the same call again returns the id of what it has created
            (Identity::Token, Some(token)) => {
                match self.call_create(object, &identity, token, cx).await? {
                    Answer::Id(id) => {
                        self.record_id(object, &id, cx).await?;
                        Ok(Target::Recorded(id))
                    }
                    // The refusal of a repetition says nothing about the call before.
                    Answer::Refused(error) => {
                        self.memory.set_unrecorded(&uid, None);
                        Err(error)
                    }
                }
            }
            (Identity::Token, None) | (Identity::Assigned, _) => {
                let (started, operator) = (started.clone(), cx.operator().to_owned());
                Err(ExternalError::CreationUncertain { started, operator }.into())
            }
        }
    }
}
