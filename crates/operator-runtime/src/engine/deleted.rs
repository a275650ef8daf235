//! Notifies a reconciler of deleted objects. A notice that fails is logged and not repeated.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::{FutureExt, StreamExt, stream};
use kube::runtime::reflector::ObjectRef;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info_span, warn};

use crate::{
    context::{Context, display_key},
    engine::{identity::Identity, reconciliation::Reconciliations},
    error::{Error, panic_message},
    style::Reconciler,
};

/// Notifies the reconciler of deleted objects, until the request to stop; then it waits for the notices that are being delivered.
pub(crate) async fn notify_all<R: Reconciler>(
    shared: &Reconciliations<R>,
    stop: CancellationToken,
) {
    let stopped = async {
        stop.cancelled().await;
        shared.locks.close();
    };
    let deleted = stream::unfold((), async |()| Some((shared.locks.deleted().await, ())));
    // The locks limit the concurrency.
    let delivered = deleted.take_until(Box::pin(stopped));
    let delivered = delivered.for_each_concurrent(None, async |(guard, object)| {
        shared.notify(object).await;
        drop(guard);
    });
    delivered.await;
}

impl<R: Reconciler> Reconciliations<R> {
    /// Calls [`Reconciler::deleted`].
    async fn notify(&self, object: Arc<R::Resource>) {
        let Identity { name, kind, .. } = &self.controller_context.identity;
        let key = ObjectRef::from_obj(&*object);
        let span = info_span!("deleted", %kind, controller = name, object = display_key(&key));
        let cx = Context::new(self.controller_context.clone(), &*object, false);
        let called = AssertUnwindSafe(async {
            let notice = self.reconciler.deleted(object.clone(), &cx);
            cx.about(&*object, notice).await
        });
        let called = called.catch_unwind().instrument(span.clone()).await;
        let error = match called {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(panic) => {
                self.metrics.reconciles.panics.inc();
                Error::Panicked(panic_message(&*panic).to_owned())
            }
        };
        span.in_scope(|| warn!("{error}; there is no other notice"));
    }
}
