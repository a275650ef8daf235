//! The sub-handlers of a handler.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::FutureExt;
use tracing::warn;

use super::{
    call::{About, Call},
    journal::{Ended, Journal, Turn},
};
use crate::{Error, Result, error::panic_message, retries::Retries, style::Object};

/// Where the sub-handlers of a handler record their progress.
#[derive(Clone)]
pub(super) struct Scope {
    pub journal: Arc<Journal>,
    /// Those of the handler.
    pub retries: Retries,
    /// The time until the next sub-handler is due, if one has not ended.
    waits: Arc<Mutex<Option<Duration>>>,
}

impl Scope {
    pub fn new(journal: Arc<Journal>, retries: Retries) -> Self {
        Self {
            journal,
            retries,
            waits: Arc::default(),
        }
    }

    /// The time until the handler has to be called again for its sub-handlers.
    pub fn waits(&self) -> Option<Duration> {
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, delay: Duration) {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        *waits = Some(waits.map_or(delay, |earlier| earlier.min(delay)));
    }

    pub async fn call<K, F>(self, parent: &Call<K>, id: &str, handler: F) -> Result<bool>
    where
        K: Object,
        F: AsyncFnOnce(Call<K>) -> Result<()>,
    {
        let id = format!("{}/{id}", parent.about.handler);
        let (attempt, started) = match self.journal.begin(&id, self.retries) {
            Turn::Attempt { number, started } => (number, started),
            Turn::Later(delay) => {
                self.wait(delay);
                return Ok(false);
            }
            Turn::Ended => return Ok(true),
            Turn::TimedOut(message) => {
                warn!(handler = id, "its time is over; the last error: {message}");
                return Ok(true);
            }
        };
        let inner = Self::new(self.journal.clone(), self.retries);
        let call = Call {
            about: About {
                handler: id.clone(),
                attempt,
                started,
                ..parent.about.clone()
            },
            scope: inner.clone(),
            ..parent.clone()
        };
        let called = AssertUnwindSafe(handler(call)).catch_unwind().await;
        let result =
            called.unwrap_or_else(|panic| Err(Error::Panicked(panic_message(&*panic).to_owned())));
        let mut has_ended = true;
        match (result, inner.waits()) {
            (Ok(()), Some(delay)) => {
                self.journal.wait(&id, delay);
                self.wait(delay);
                has_ended = false;
            }
            (result, _) => match self
                .journal
                .end(&id, result.as_ref().copied(), self.retries)
            {
                Ended::Succeeded => {}
                Ended::Failed => {
                    if let Err(error) = &result {
                        warn!(handler = id, "{error}; it is not called again");
                    }
                }
                Ended::Retries(delay) => {
                    if let Err(error) = &result {
                        warn!(handler = id, retry_in = ?delay, "{error}");
                    }
                    self.wait(delay);
                    has_ended = false;
                }
            },
        }
        if !self.journal.write(&*parent.object, &parent.cx).await? {
            return Err(Error::temporary(
                Duration::ZERO,
                anyhow::anyhow!("the object was deleted"),
            ));
        }
        Ok(has_ended)
    }
}
