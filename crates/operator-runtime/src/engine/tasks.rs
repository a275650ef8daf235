//! What runs beside the controllers and makes requests: timers, daemons, and handlers of events.

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The tasks of one term as the leader. Clones are about the same tasks.
#[derive(Clone, Default)]
pub(crate) struct BackgroundTasks {
    tracker: TaskTracker,
    abort: CancellationToken,
}

impl BackgroundTasks {
    /// Makes a task one of these.
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

    /// Aborts the tasks, and waits until none runs: one that does not wait for anything goes on until it does.
    pub async fn abort(&self) {
        self.abort.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}
