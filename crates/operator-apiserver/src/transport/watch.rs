//! The response to a watch: a stream of lines.

use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, stream};
use serde_json::Value;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::service::ApiServer;
use super::view::View;
use crate::model::{Failure, Result};
use crate::read::watch::{self, Subscription};
use crate::store::Conversions;

/// The signals for watches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tick {
    /// The newest version of the store.
    pub version: u64,
    /// Incremented to end all watches.
    pub epoch: u64,
}

/// The stream of a watch, which ends after the timeout.
pub(crate) fn lines(
    subscription: Box<Subscription>,
    server: ApiServer,
    view: View,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let ticks = server.ticks();
    let epoch = ticks.borrow().epoch;
    let deadline = Instant::now() + subscription.timeout;
    let watch = Watch {
        is_over: subscription.is_refused,
        bookmark: next_bookmark(deadline).filter(|_| subscription.bookmarks),
        subscription,
        server,
        view,
        ticks,
        epoch,
        deadline,
    };
    stream::unfold(watch, |mut watch| async move {
        let lines = watch.next().await?;
        Some((lines, watch))
    })
}

/// A running watch.
struct Watch {
    subscription: Box<Subscription>,
    server: ApiServer,
    view: View,
    ticks: Receiver<Tick>,
    epoch: u64,
    deadline: Instant,
    /// The time of the next bookmark, if bookmarks are requested.
    bookmark: Option<Instant>,
    is_over: bool,
}

/// A bookmark is sent each minute, and two seconds before the end.
fn next_bookmark(deadline: Instant) -> Option<Instant> {
    let now = Instant::now();
    let last = deadline
        .checked_sub(Duration::from_secs(2))
        .filter(|last| *last > now)?;
    Some(last.min(now + Duration::from_secs(60)))
}

/// Waits until a time; forever without one.
async fn wait_until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

impl Watch {
    /// Waits for the next lines of the stream; `None` at its end.
    async fn next(&mut self) -> Option<Bytes> {
        let first = std::mem::take(&mut self.subscription.first);
        if !first.is_empty() {
            return Some(self.write(first));
        }
        loop {
            #[cfg(feature = "workloads")]
            let due = self.server.advance();
            #[cfg(not(feature = "workloads"))]
            let due = None;
            if self.is_over || self.ticks.borrow_and_update().epoch != self.epoch {
                return None;
            }
            let lines = match self.pending_events().await {
                Ok((lines, may_go_on)) => {
                    self.is_over = !may_go_on;
                    lines
                }
                // An object cannot be converted: the client must list again.
                Err(failure) => {
                    self.is_over = true;
                    vec![Failure::expired(failure.message).to_event()]
                }
            };
            if !lines.is_empty() {
                return Some(self.write(lines));
            }
            if self.is_over {
                return None;
            }
            tokio::select! {
                changed = self.ticks.changed() => changed.ok()?,
                () = wait_until(due) => {}
                () = sleep_until(self.bookmark.unwrap_or(self.deadline)) => {
                    self.bookmark?;
                    self.bookmark = next_bookmark(self.deadline);
                    let bookmark = self.subscription.bookmark(self.subscription.version, None);
                    return Some(self.write(vec![bookmark]));
                }
            }
        }
    }

    /// The events that were not sent yet, and whether the watch may continue. It is over if conversions take longer than its timeout.
    async fn pending_events(&mut self) -> Result<(Vec<Value>, bool)> {
        let mut conversions = Conversions::awaited();
        loop {
            let subscription = &mut self.subscription;
            let (events, missing) = self.server.look(&mut conversions, |state| {
                (
                    watch::pending_events(state, subscription),
                    state.store.version(),
                )
            });
            let Some(missing) = missing else {
                let (events, newest) = events;
                subscription.version = subscription.version.max(newest);
                return events;
            };
            let answered = Box::pin(missing.answer(&mut conversions));
            if timeout_at(self.deadline, answered).await.is_err() {
                return Ok((Vec::new(), false));
            }
        }
    }

    fn write(&mut self, lines: Vec<Value>) -> Bytes {
        let mut text = String::new();
        for mut line in lines {
            let object = line["object"].take();
            line["object"] = self.view.show_next(object);
            text += &format!("{line}\n");
        }
        text.into()
    }
}
