//! The sub-handlers of a handler.

use std::{
    collections::HashSet,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use futures::FutureExt;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    call::{About, Call, value},
    journal::{Due, Ended, Journal, outdated},
    report::report,
};
use crate::{
    Context, Error, Result, engine::decode::read, error::panic_message, lock::lock,
    retries::Retries, style::Object,
};

/// The sub-handlers of one call of a handler.
#[derive(Clone)]
pub(super) struct Scope {
    /// Where their progress is recorded.
    pub journal: Arc<Journal>,
    /// The retries of the handler, which apply to each sub-handler.
    pub retries: Retries,
    /// The field of the status that gets what the handler and its sub-handlers return.
    result: Option<String>,
    /// The time until the next sub-handler is due, if one has not ended.
    waits: Arc<Mutex<Option<Duration>>>,
    /// The ids of the sub-handlers that were called.
    called: Arc<Mutex<HashSet<String>>>,
}

impl Scope {
    pub fn new(journal: Arc<Journal>, retries: Retries, result: Option<String>) -> Self {
        Self {
            journal,
            retries,
            result,
            waits: Arc::default(),
            called: Arc::default(),
        }
    }

    /// The time until the handler has to be called again for its sub-handlers.
    pub fn waits(&self) -> Option<Duration> {
        *lock(&self.waits)
    }

    fn called(&self) -> MutexGuard<'_, HashSet<String>> {
        lock(&self.called)
    }

    fn wait(&self, delay: Duration) {
        let mut waits = lock(&self.waits);
        *waits = Some(waits.map_or(delay, |earlier| earlier.min(delay)));
    }

    /// Calls a sub-handler if it is due. Returns whether it has ended.
    pub async fn call<K, R, F>(self, parent: &Call<K>, id: &str, handler: F) -> Result<bool>
    where
        K: Object,
        R: Serialize,
        F: AsyncFnOnce(Call<K>) -> Result<R>,
    {
        let id = format!("{}/{id}", parent.about.handler);
        if !self.called().insert(id.clone()) {
            let problem = anyhow::anyhow!(
                "two sub-handlers of one call have the id {id:?}, so the second one would never be called"
            );
            return Err(Error::permanent(problem));
        }
        let (attempt, started) = match self.journal.begin(&id, self.retries) {
            Due::Now { number, started } => (number, started),
            Due::Later(delay) => {
                self.wait(delay);
                return Ok(false);
            }
            Due::Ended => return Ok(true),
            Due::TimedOut(message) => {
                let error = anyhow::anyhow!("its time is over; the last error: {message}").into();
                let of = (parent.about.cause, id.as_str());
                report(&parent.cx, &*parent.object, of, &error, Ended::Failed).await;
                return Ok(true);
            }
        };
        let inner = Self::new(self.journal.clone(), self.retries, self.result.clone());
        let cx = parent.cx.part();
        let newest = cx.written().as_ref().and_then(|it| read::<K>(it).ok());
        let call = Call {
            // an earlier sub-handler may have written the object
            object: newest.map_or_else(|| parent.object.clone(), Arc::from),
            cx: cx.clone(),
            about: About {
                handler: id.clone(),
                attempt,
                started,
                ..parent.about.clone()
            },
            scope: inner.clone(),
            ..parent.clone()
        };
        let called = AssertUnwindSafe(value(handler(call))).catch_unwind().await;
        let result =
            called.unwrap_or_else(|panic| Err(Error::Panicked(panic_message(&*panic).to_owned())));
        let result = match result {
            Ok(value) if inner.waits().is_none() => {
                self.deliver(&id, value, (&*parent.object, &cx)).await
            }
            result => result.map(drop),
        };
        let result = match result {
            Ok(()) if cx.is_outdated() => {
                self.journal.set_returned(&id);
                Err(outdated())
            }
            result => result,
        };
        let mut has_ended = true;
        match (result, inner.waits()) {
            (Ok(()), Some(delay)) => {
                self.journal.wait(&id, delay);
                self.wait(delay);
                has_ended = false;
            }
            (result, _) => {
                let result = result.as_ref().copied();
                let ended = self.journal.end(&id, result, self.retries);
                if let Err(error) = result {
                    let of = (parent.about.cause, id.as_str());
                    report(&parent.cx, &*parent.object, of, error, ended).await;
                }
                if let Ended::Retries(delay) = ended {
                    self.wait(delay);
                    has_ended = false;
                }
            }
        }
        if !self.journal.write(&*parent.object, &parent.cx).await? {
            return Err(Error::temporary(
                Duration::ZERO,
                anyhow::anyhow!("the object was deleted"),
            ));
        }
        Ok(has_ended)
    }

    /// Writes what a sub-handler has returned to the status.
    async fn deliver<K: Object>(
        &self,
        id: &str,
        value: Value,
        (object, cx): (&K, &Context),
    ) -> Result<()> {
        if value.is_null() {
            return Ok(());
        }
        let (handler, key) = id.split_once('/').unwrap_or(("", id));
        let Some(field) = &self.result else {
            let problem = anyhow::anyhow!(
                "the sub-handler {id:?} returns a value that goes nowhere\nhelp: name a map of the status with `result` of the handler {handler:?}, or return `()`"
            );
            return Err(Error::permanent(problem));
        };
        cx.merge_status(object, json!({ (field.as_str()): { (key): value } }))
            .await
    }
}
