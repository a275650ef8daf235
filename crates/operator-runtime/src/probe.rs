//! The probes that the program adds to `/healthz` and `/readyz`.

use std::{future::Future, panic::AssertUnwindSafe, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::timeout;

use crate::{Error, Result, error::panic_message};

/// How long a probe may take: a kubelet waits for one second by default.
const PROBE_TIMEOUT: Duration = Duration::from_millis(900);

/// The probes of the program.
#[derive(Default)]
pub(crate) struct Probes {
    pub liveness: Vec<Probe>,
    pub readiness: Vec<Probe>,
}

pub(crate) struct Probe {
    name: String,
    run: Box<dyn Fn() -> BoxFuture<'static, Result<()>> + Send + Sync>,
}

impl Probe {
    pub fn new<F>(name: String, run: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        Self {
            name,
            run: Box::new(move || run().boxed()),
        }
    }

    /// Calls the function. Returns its name and error; `None` if it succeeds.
    async fn problem(&self) -> Option<String> {
        let called = AssertUnwindSafe(async { (self.run)().await }).catch_unwind();
        let error = match timeout(PROBE_TIMEOUT, called).await {
            Ok(Ok(Ok(()))) => return None,
            Ok(Ok(Err(error))) => error,
            Ok(Err(panic)) => Error::Panicked(panic_message(&*panic).to_owned()),
            Err(_) => anyhow::anyhow!("no answer in time").into(),
        };
        Some(format!("{}: {error}", self.name))
    }
}

/// Calls all probes concurrently. Returns their errors, a line for each; `None` if all succeed.
pub(crate) async fn problems(probes: &[Probe]) -> Option<String> {
    let running: FuturesUnordered<_> = probes.iter().map(Probe::problem).collect();
    let found: Vec<Option<String>> = running.collect().await;
    let mut found: Vec<String> = found.into_iter().flatten().collect();
    found.sort();
    (!found.is_empty()).then(|| found.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(
        name: &str,
        run: impl Fn() -> BoxFuture<'static, Result<()>> + Send + Sync + 'static,
    ) -> Probe {
        Probe::new(name.into(), run)
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_panics_or_takes_too_long_is_a_problem() {
        let probes = [
            probe("fine", || async { Ok(()) }.boxed()),
            probe("queue", || {
                async { Err(anyhow::anyhow!("500 wait").into()) }.boxed()
            }),
            probe("panics", || async { panic!("oh") }.boxed()),
            probe("slow", || std::future::pending().boxed()),
        ];
        assert_eq!(
            problems(&probes).await.as_deref(),
            Some("panics: panicked: oh\nqueue: 500 wait\nslow: no answer in time")
        );
        assert_eq!(problems(&probes[..1]).await, None);
    }
}
