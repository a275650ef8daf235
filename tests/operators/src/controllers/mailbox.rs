//! Manages a mailbox of a mail server for each [`Mailbox`], which is found by its tag.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use operator_runtime::{Context, Created, External, Identity, Result, Setup, State, Status};
use serde_json::{Value, json};

use crate::{api::mailbox::v1::Mailbox, variant::Variant};

/// The mail server, in memory: specs and tags by their ids.
#[derive(Default)]
pub struct Remote(Mutex<BTreeMap<String, Value>>);

impl Remote {
    pub fn copies(&self) -> MutexGuard<'_, BTreeMap<String, Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub async fn setup(setup: Setup) -> Result<MailboxProvider> {
    Ok(MailboxProvider {
        variant: *setup.get::<Variant>().expect("the operator provides it"),
        remote: setup.shared(),
    })
}

pub struct MailboxProvider {
    variant: Variant,
    remote: Arc<Remote>,
}

impl External for MailboxProvider {
    type Resource = Mailbox;
    type Observed = Value;
    const FINALIZER: &'static str = "web.example.com/operators";

    fn identity(&self, _: &Mailbox) -> Result<Identity> {
        Ok(Identity::Lookup)
    }

    async fn find(&self, _: &Mailbox, tag: &str, _: &Context) -> Result<Vec<String>> {
        let copies = self.remote.copies();
        let found = copies.iter().filter(|(_, copy)| copy["tag"] == tag);
        Ok(found.map(|(id, _)| id.clone()).collect())
    }

    async fn observe(&self, _: &Mailbox, id: &str, _: &Context) -> Result<Option<Value>> {
        Ok(self.remote.copies().get(id).cloned())
    }

    async fn create(&self, mailbox: &Mailbox, tag: &str, _: &Context) -> Result<Created> {
        let mut copies = self.remote.copies();
        let mut ids = (1..).map(|number| format!("box-{number}"));
        let id = ids.find(|id| !copies.contains_key(id));
        let id = id.unwrap_or_default();
        copies.insert(id.clone(), json!({ "spec": mailbox.spec, "tag": tag }));
        Ok(Created::id(id))
    }

    async fn update(&self, mailbox: &Mailbox, id: &str, _: &Value, _: &Context) -> Result<()> {
        let (spec, tag) = (json!(mailbox.spec), &mailbox.metadata.uid);
        let mut copies = self.remote.copies();
        let copy = copies.entry(id.to_owned()).or_default();
        match (self.variant, copy) {
            // the mistake: the tag is no part of what is written
            (Variant::UpdateDropsTheTag, copy) => *copy = json!({ "spec": spec }),
            (Variant::UpdatesFields, Value::Object(fields)) => {
                fields.insert("spec".into(), spec);
            }
            (_, copy) => *copy = json!({ "spec": spec, "tag": tag }),
        }
        Ok(())
    }

    async fn delete(&self, _: &Mailbox, id: &str, _: &Context) -> Result<()> {
        self.remote.copies().remove(id);
        Ok(())
    }

    fn difference(&self, mailbox: &Mailbox, copy: &Value) -> Result<Option<String>> {
        let is_equal = copy["spec"] == json!(mailbox.spec);
        Ok((!is_equal).then(|| format!("it is {copy}")))
    }

    fn status(&self, mailbox: &Mailbox, state: &State<Value>) -> Result<Status<Mailbox>> {
        let mut status = mailbox.status.clone().unwrap_or_default();
        let conditions = status.conditions.get_or_insert_default();
        state.set_conditions(conditions, mailbox.metadata.generation)?;
        Ok(Status::new(status))
    }
}
