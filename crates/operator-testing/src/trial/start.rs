//! Starts the operator of a trial.

use std::fmt::Display;
use std::future::Future;

use futures::TryFutureExt;
use futures::future::BoxFuture;
use kube::Client;

use crate::outcome::Outcomes;

/// A function that starts an operator. It takes a [`Client`] and the [`Outcomes`] to which the operator reports, or only a client.
///
/// If the operator does not report, a trial cannot check whether its reconciliations succeed.
pub trait Start<Arguments>: Sync {
    /// Whether the operator reports its reconciliations.
    const REPORTS: bool;

    /// Starts the operator. The future completes when the operator ends.
    fn start(&self, client: Client, outcomes: Outcomes) -> BoxFuture<'static, Result<(), String>>;
}

impl<F, R, E> Start<(Client, Outcomes)> for F
where
    F: Fn(Client, Outcomes) -> R + Sync,
    E: Display + Send + 'static,
    R: Future<Output = Result<(), E>> + Send + 'static,
{
    const REPORTS: bool = true;

    fn start(&self, client: Client, outcomes: Outcomes) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(self(client, outcomes).map_err(|error| format!("{error:#}")))
    }
}

impl<F, R, E> Start<(Client,)> for F
where
    F: Fn(Client) -> R + Sync,
    E: Display + Send + 'static,
    R: Future<Output = Result<(), E>> + Send + 'static,
{
    const REPORTS: bool = false;

    fn start(&self, client: Client, _outcomes: Outcomes) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(self(client).map_err(|error| format!("{error:#}")))
    }
}

/// The operator of a trial. It is not generic, so that runs are compiled in this crate and not in each test.
pub(super) struct Operator<'a> {
    start: &'a Starting<'a>,
    pub reports: bool,
}

type Starting<'a> = dyn Fn(Client, Outcomes) -> BoxFuture<'static, Result<(), String>> + Sync + 'a;

impl Operator<'_> {
    /// Calls `act` with the operator that `start` starts.
    pub fn with<A>(start: impl Start<A>, act: impl FnOnce(&Operator<'_>)) {
        act(&Operator {
            reports: reports(&start),
            start: &|client, outcomes| start.start(client, outcomes),
        });
    }

    pub fn start(
        &self,
        client: Client,
        outcomes: Outcomes,
    ) -> BoxFuture<'static, Result<(), String>> {
        (self.start)(client, outcomes)
    }
}

fn reports<A, S: Start<A>>(_: &S) -> bool {
    S::REPORTS
}
