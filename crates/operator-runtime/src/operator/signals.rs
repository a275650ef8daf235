//! What stops the process: signals, and the end of the process that started it.

use std::convert::Infallible;
#[cfg(unix)]
use std::time::Duration;

#[cfg(unix)]
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
#[cfg(unix)]
use tracing::info;
use tracing::warn;

/// Requests a shutdown when the process is not a child of `parent` any more.
#[cfg(unix)]
pub async fn end_with(parent: u32, stop: CancellationToken) -> Infallible {
    while std::os::unix::process::parent_id() == parent {
        sleep(Duration::from_millis(500)).await;
    }
    info!("the process that started the operator has ended");
    stop.cancel();
    std::future::pending().await
}

/// The first signal requests a shutdown, the second an immediate stop.
pub async fn signals(stop: CancellationToken, interrupted: CancellationToken) -> Infallible {
    let mut next = Signals::new();
    next.recv().await;
    stop.cancel();
    next.recv().await;
    interrupted.cancel();
    std::future::pending().await
}

#[cfg(unix)]
struct Signals {
    terminate: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let terminate = signal(SignalKind::terminate());
        let terminate = terminate.inspect_err(|error| warn!("SIGTERM is not handled: {error}"));
        Self {
            terminate: terminate.ok(),
        }
    }

    async fn recv(&mut self) {
        let terminate = async {
            match &mut self.terminate {
                Some(terminate) => terminate.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = terminate => {}
            () = interrupt() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Self
    }

    async fn recv(&mut self) {
        interrupt().await;
    }
}

/// Waits for SIGINT or Ctrl-C; forever if it cannot be handled.
async fn interrupt() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        warn!("SIGINT is not handled: {error}");
        std::future::pending::<()>().await;
    }
}
