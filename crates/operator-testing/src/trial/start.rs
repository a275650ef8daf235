//! Starts the operator of a trial.

use std::fmt::Display;
use std::future::Future;

use futures::TryFutureExt;
use futures::future::BoxFuture;
use kube::Client;

use crate::{Outcomes, Server, WebhookRegistration};

/// An operator, which completes when it ends.
pub(super) type Running = BoxFuture<'static, Result<(), String>>;

/// A function that starts an operator. It takes a [`Client`], the [`Outcomes`] to which the operator reports, and the
/// [`WebhookRegistration`] with which it registers its webhooks; or only the first, or the first two of these.
///
/// If the operator does not report, a trial cannot check whether its reconciliations succeed.
pub trait Start<Arguments>: Sync {
    /// Whether the operator reports its reconciliations.
    const REPORTS: bool;

    /// Starts the operator. The future completes when the operator ends.
    fn start(&self, client: Client, outcomes: Outcomes, calls: WebhookRegistration) -> Running;
}

impl<F, R, E> Start<(Client, Outcomes, WebhookRegistration)> for F
where
    F: Fn(Client, Outcomes, WebhookRegistration) -> R + Sync,
    E: Display + Send + 'static,
    R: Future<Output = Result<(), E>> + Send + 'static,
{
    const REPORTS: bool = true;

    fn start(&self, client: Client, outcomes: Outcomes, calls: WebhookRegistration) -> Running {
        Box::pin(self(client, outcomes, calls).map_err(|error| format!("{error:#}")))
    }
}

impl<F, R, E> Start<(Client, Outcomes)> for F
where
    F: Fn(Client, Outcomes) -> R + Sync,
    E: Display + Send + 'static,
    R: Future<Output = Result<(), E>> + Send + 'static,
{
    const REPORTS: bool = true;

    fn start(&self, client: Client, outcomes: Outcomes, _calls: WebhookRegistration) -> Running {
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

    fn start(&self, client: Client, _outcomes: Outcomes, _calls: WebhookRegistration) -> Running {
        Box::pin(self(client).map_err(|error| format!("{error:#}")))
    }
}

/// The operator of a trial. It is not generic, so that runs are compiled in this crate and not in each test.
pub(super) struct Operator<'a> {
    start: &'a StartFn<'a>,
    pub reports: bool,
}

type StartFn<'a> = dyn Fn(Client, Outcomes, WebhookRegistration) -> Running + Sync + 'a;

impl Operator<'_> {
    /// Calls `act` with the operator that `start` starts.
    pub fn with<A, T>(start: impl Start<A>, act: impl FnOnce(&Operator<'_>) -> T) -> T {
        act(&Operator {
            reports: reports(&start),
            start: &|client, outcomes, calls| start.start(client, outcomes, calls),
        })
    }

    /// Starts the operator, with a client that makes its requests to `server`.
    pub fn start(&self, client: Client, server: &Server) -> Running {
        self.start_with_webhooks(client, server, server.webhook_calls())
    }

    /// Like [`start`](Self::start), with the registration of its webhooks.
    pub fn start_with_webhooks(
        &self,
        client: Client,
        server: &Server,
        calls: WebhookRegistration,
    ) -> Running {
        (self.start)(client, server.outcomes(), calls)
    }
}

fn reports<A, S: Start<A>>(_: &S) -> bool {
    S::REPORTS
}
