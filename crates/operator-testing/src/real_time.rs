//! Holds the simulated clock of a test while something outside of its runtime works.

use std::future::Future;
use std::sync::mpsc::channel;

use tokio::task::spawn_blocking;

/// Waits for something outside of the test's runtime, such as a database, or a server with a thread of its own. A simulated clock, as in the
/// runs of a [`Trial`](crate::Trial), jumps ahead when all tasks of the runtime wait; it stands still while this future is pending.
///
/// Wrap single calls: a future that also waits for the clock, such as a retry after a delay, never ends.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use std::{thread, time::Duration};
/// use tokio::{sync::oneshot, time::timeout};
///
/// let (answer, answered) = oneshot::channel();
/// thread::spawn(move || {
///     thread::sleep(Duration::from_millis(100));
///     answer.send(7)
/// });
/// let answered = operator_testing::real_time(answered);
/// assert_eq!(timeout(Duration::from_secs(5), answered).await, Ok(Ok(7)));
/// # }
/// ```
pub async fn real_time<F: Future>(future: F) -> F::Output {
    // tokio does not advance a paused clock while a blocking task runs
    let (end, ended) = channel::<()>();
    let _held = spawn_blocking(move || ended.recv());
    let output = future.await;
    drop(end);
    output
}
