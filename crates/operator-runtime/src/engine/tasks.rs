//! The background tasks beside the reconciliations that make requests: timers, daemons, and handlers of events.

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The tasks of one term as the leader. Clones share the tasks.
#[derive(Clone, Default)]
pub(crate) struct BackgroundTasks {
    tracker: TaskTracker,
    abort: CancellationToken,
}

impl BackgroundTasks {
    /// Adds a task, which the returned future runs until [`abort`](Self::abort).
    pub fn track<F: Future<Output = ()>>(&self, task: F) -> impl Future<Output = ()> + use<F> {
        let abort = self.abort.clone();
        self.tracker.track_future(async move {
            tokio::select! {
                biased;
                () = abort.cancelled() => {}
                () = task => {}
            }
        })
    }

    /// Aborts the tasks, each at its next `await`, and waits until none runs.
    pub async fn abort(&self) {
        self.abort.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}
