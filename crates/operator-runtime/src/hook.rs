//! The functions that an operator calls once: before its controllers begin, and after they have ended.

use std::{
    fmt,
    future::Future,
    hash::{BuildHasher, RandomState},
    panic::AssertUnwindSafe,
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use tokio::time::{Instant, sleep, timeout_at};
use tracing::{info, warn};

use crate::{
    Error, Result,
    error::{Fatal, panic_message},
    retries::Retries,
    setup::Setup,
};

type Run = dyn Fn(Setup) -> BoxFuture<'static, Result<()>> + Send + Sync;

/// A function that is called when the operator starts or stops, for [`Operator::on_start`](crate::Operator::on_start) and
/// [`Operator::on_stop`](crate::Operator::on_stop).
///
/// It is called until it succeeds, returns a [permanent error](Error::permanent), or has no attempts left. The delay between two attempts
/// is that of a [temporary error](Error::temporary), or grows like that of a failing object.
///
/// ```
/// use std::time::Duration;
///
/// use operator_runtime::{Hook, Operator, Result, Setup};
///
/// async fn log_in(setup: Setup) -> Result<()> {
///     println!("{} logs in", setup.operator());
///     Ok(())
/// }
///
/// # fn example(operator: Operator) -> Operator {
/// operator.on_start(Hook::new("log-in", log_in).attempts(5).backoff(Duration::from_secs(2)))
/// # }
/// ```
pub struct Hook {
    name: String,
    run: Box<Run>,
    retries: Retries,
}

impl Hook {
    /// Creates a hook with a name for logs and errors. The function gets a [`Setup`] with the client, the settings and the values of the
    /// operator.
    pub fn new<F>(name: impl Into<String>, run: impl Fn(Setup) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        Self {
            name: name.into(),
            run: Box::new(move |setup| run(setup).boxed()),
            retries: Retries::default(),
        }
    }

    /// Calls the function at most this number of times.
    #[must_use]
    pub fn attempts(mut self, limit: u32) -> Self {
        self.retries.limit = Some(limit.max(1));
        self
    }

    /// Does not call the function again when this time has passed since the first attempt. An attempt is not interrupted.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.retries.timeout = Some(timeout);
        self
    }

    /// Waits this long after an error that is neither permanent nor has a delay of its own.
    #[must_use]
    pub fn backoff(mut self, backoff: Duration) -> Self {
        self.retries.backoff = Some(backoff);
        self
    }

    fn failed(&self, error: impl Into<Error>) -> Fatal {
        Fatal::Hook {
            name: self.name.clone(),
            error: Box::new(error.into()),
        }
    }

    /// Calls the function until it has ended.
    ///
    /// # Errors
    /// If it has failed for good.
    pub(crate) async fn run(&self, setup: &Setup) -> Result<(), Fatal> {
        let (begun, random) = (Instant::now(), RandomState::new());
        let backoff = setup.settings().backoff();
        for attempts in 0.. {
            let called = async { (self.run)(setup.clone()).await };
            let called = AssertUnwindSafe(called).catch_unwind().await;
            let result = called
                .unwrap_or_else(|panic| Err(Error::Panicked(panic_message(&*panic).to_owned())));
            let Err(error) = result else {
                info!(hook = self.name, "the hook has succeeded");
                break;
            };
            let jitter = random.hash_one(attempts) as f64 / u64::MAX as f64;
            let growing = backoff.delay(attempts, jitter);
            let elapsed = begun.elapsed();
            let Some(delay) = self.retries.delay(&error, attempts, elapsed, growing) else {
                return Err(self.failed(error));
            };
            warn!(hook = self.name, retry_in = ?delay, "{error}");
            sleep(delay).await;
        }
        Ok(())
    }
}

/// Calls the hooks, the last one first. Returns the first error.
pub(crate) async fn stop_with(
    hooks: &[Hook],
    setup: &Setup,
    deadline: Instant,
) -> Result<(), Fatal> {
    let mut all = Ok(());
    for (index, hook) in hooks.iter().enumerate().rev() {
        let now = Instant::now();
        // an equal share of the remaining time
        let left = deadline.saturating_duration_since(now) / (index as u32 + 1);
        let called = timeout_at(now + left, hook.run(setup)).await;
        let called =
            called.unwrap_or_else(|_| Err(hook.failed(anyhow::anyhow!("no time is left"))));
        if let Err(error) = &called {
            warn!("{error}");
        }
        all = all.and(called);
    }
    all
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
