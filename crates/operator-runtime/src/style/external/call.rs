//! The calls of a provider: limited in rate and time, paused while the other system is throttling, and open to faults that tests inject.

use std::{future::Future, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use tokio::time::timeout;

use super::{ExternalError, ExternalOptions, limit::Limit};
use crate::{Error, Result};

/// A call of a provider, as [`AroundCalls`] sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderCall {
    /// The kind and group of the object, for example `Bucket.example.com`.
    pub kind: String,
    /// The namespace of the object; `None` for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
    /// The method of [`External`](super::External).
    pub method: &'static str,
}

impl ProviderCall {
    /// The object, for example `Bucket.example.com default/a`.
    pub fn object(&self) -> String {
        let Self { kind, name, .. } = self;
        match &self.namespace {
            Some(namespace) => format!("{kind} {namespace}/{name}"),
            None => format!("{kind} {name}"),
        }
    }
}

type Around = dyn for<'a> Fn(
        ProviderCall,
        BoxFuture<'a, Result<Option<String>>>,
    ) -> BoxFuture<'a, Result<Option<String>>>
    + Send
    + Sync;

/// A function around each call of `find`, `observe`, `create`, `update` and `delete` of a provider, to inject faults in a test. Pass it to
/// [`Operator::provide`](crate::Operator::provide).
///
/// The function gets the call and the future that makes it, which returns the id of the external resource. If the function returns an
/// error, the call has failed, whether or not the future was run to its end.
///
/// ```
/// # use operator_runtime::{AroundCalls, Operator};
/// # fn example(operator: Operator) -> Operator {
/// // every deletion fails after its effect
/// operator.provide(AroundCalls::new(|call, effect| Box::pin(async move {
///     let id = effect.await?;
///     match call.method {
///         "delete" => Err(anyhow::anyhow!("the answer is lost").into()),
///         _ => Ok(id),
///     }
/// })))
/// # }
/// ```
pub struct AroundCalls(Box<Around>);

impl AroundCalls {
    /// Creates it from a function.
    pub fn new(
        around: impl for<'a> Fn(
            ProviderCall,
            BoxFuture<'a, Result<Option<String>>>,
        ) -> BoxFuture<'a, Result<Option<String>>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Box::new(around))
    }
}

/// Makes the calls of a controller's provider.
pub(super) struct Calls {
    limit: Limit,
    timeout: std::time::Duration,
    around: Option<Arc<AroundCalls>>,
}

impl Calls {
    pub fn new(options: &ExternalOptions, around: Option<Arc<AroundCalls>>) -> Self {
        Self {
            limit: Limit::new(options),
            timeout: options.timeout,
            around,
        }
    }

    /// Fails during a long pause.
    pub fn check(&self) -> Result<()> {
        self.limit.check().map_err(paused)
    }

    /// Waits until a call may begin. Fails during a long pause.
    pub async fn begin(&self) -> Result<()> {
        self.limit.wait().await.map_err(paused)
    }

    /// Waits, and makes a call. `id` reads the id of the external resource from its result.
    pub async fn call<T: Send>(
        &self,
        call: ProviderCall,
        effect: impl Future<Output = Result<T>> + Send,
        id: impl FnOnce(&T) -> Option<String> + Send,
    ) -> Result<T> {
        self.begin().await?;
        self.make(call, effect, id).await
    }

    /// Makes a call that has [begun](Self::begin).
    pub async fn make<T: Send>(
        &self,
        call: ProviderCall,
        effect: impl Future<Output = Result<T>> + Send,
        id: impl FnOnce(&T) -> Option<String> + Send,
    ) -> Result<T> {
        let method = call.method;
        let mut result = None;
        let answered = async {
            let Some(around) = &self.around else {
                return effect.await;
            };
            let effect = async {
                let value = effect.await?;
                let id = id(&value);
                result = Some(value);
                Ok(id)
            };
            (around.0)(call, effect.boxed()).await?;
            result.ok_or_else(|| anyhow::anyhow!("the call of `{method}` was not made").into())
        };
        let timed = timeout(self.timeout, answered).await;
        let answer = timed.unwrap_or_else(|_| {
            let after = self.timeout;
            Err(ExternalError::TimedOut { method, after }.into())
        });
        if let Err(error @ Error::Throttled { .. }) = &answer {
            self.limit.pause(error.delay().unwrap_or_default());
        }
        answer
    }
}

/// The error of a call that was not made.
fn paused(rest: std::time::Duration) -> Error {
    Error::throttled(
        rest,
        anyhow::anyhow!("the other system limits the rate of its requests"),
    )
}
