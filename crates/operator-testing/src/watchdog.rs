//! Terminates a test whose operator blocks the thread of the test's runtime. A timeout of that runtime could not do this, because it needs
//! the thread.
//!
//! It ends the whole process, because the blocked thread cannot be stopped.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often the watchdog checks the runtime, in real time.
const INTERVAL: Duration = Duration::from_secs(1);

/// For how many intervals the runtime may not respond. Code that runs for so long without an await blocks all other tasks, including the
/// renewal of the lease and `/healthz`. Intervals are counted instead of the time, because a debugger or a suspended machine stops this
/// thread too, which counts as one interval.
const PATIENCE: usize = 30;

/// The exit code of a failed test.
const FAILED: i32 = 101;

/// Watches the current runtime until it ends.
pub(crate) fn watch() {
    // A thread asks the runtime and measures the time, because a paused clock of the runtime jumps while all tasks wait, and stands still
    // while one is always busy.
    let (ask, mut asked) = tokio::sync::mpsc::unbounded_channel::<()>();
    let (answer, answers) = channel();
    tokio::spawn(async move { while asked.recv().await.is_some() && answer.send(()).is_ok() {} });
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let watched = move || {
        while ask.send(()).is_ok() {
            let mut intervals = std::iter::repeat_with(|| answers.recv_timeout(INTERVAL));
            let answer = intervals
                .by_ref()
                .take(PATIENCE)
                .find(|it| *it != Err(RecvTimeoutError::Timeout));
            match answer {
                Some(Ok(())) => {}
                Some(Err(_)) => return,
                None => end(&test),
            }
            // waits for the rest of the interval, but notices the end of the runtime at once
            if intervals.next() == Some(Err(RecvTimeoutError::Disconnected)) {
                return;
            }
        }
    };
    let started = std::thread::Builder::new()
        .name("watchdog".into())
        .spawn(watched);
    drop(started.expect("a thread starts"));
}

fn end(test: &str) -> ! {
    let message = format!(
        "\n{test}: its thread has been blocked for {PATIENCE} s, by the operator or by the test itself, and no other task can run\n\
         help: use an asynchronous call (tokio::time::sleep, an async client), or tokio::task::spawn_blocking\n"
    );
    // not `eprintln!`: the test harness captures it, and `exit` would lose it
    let _unwritten = std::io::stderr().write_all(message.as_bytes());
    std::process::exit(FAILED);
}
