//! The arguments of handlers.

use std::{ops::Deref, sync::Arc, time::Duration};

use k8s_openapi::jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{cause::Cause, difference::Path, journal::now, memo::Memo, subhandler::Scope};
use crate::{Context, Result, style::Object};

/// A call of a handler.
#[derive(Clone)]
pub struct Call<K: Object> {
    pub(super) object: Arc<K>,
    pub(super) cx: Context,
    pub(super) about: About,
    pub(super) memo: Memo,
    pub(super) scope: Scope,
}

/// Identifies a call.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub cause: Cause,
    /// The id of the cause.
    pub id: String,
    pub handler: String,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    pub started: Timestamp,
}

impl<K: Object> Call<K> {
    /// The object, which is at least as new as the last write of this operator.
    pub fn object(&self) -> &Arc<K> {
        &self.object
    }

    /// The context: children, status, events, the client.
    pub fn cx(&self) -> &Context {
        &self.cx
    }

    /// Why the handler is called.
    pub fn cause(&self) -> Cause {
        self.about.cause
    }

    /// The id of the cause, which all handlers and all their attempts for the cause share, also after a restart. Another cause has another
    /// id. Use it in the client token of a request that must not take effect twice.
    pub fn id(&self) -> &str {
        &self.about.id
    }

    /// The id of the handler.
    pub fn handler(&self) -> &str {
        &self.about.handler
    }

    /// The number of this attempt, from 1. An attempt that a crash interrupted does not count.
    pub fn attempt(&self) -> u32 {
        self.about.attempt
    }

    /// When the first attempt began.
    pub fn started(&self) -> Timestamp {
        self.about.started
    }

    /// The time since the first attempt began.
    pub fn runtime(&self) -> Duration {
        let since = now().duration_since(self.about.started);
        since.try_into().unwrap_or_default()
    }

    /// A value in memory for this object, which all of its handlers share; the first call creates it. It is dropped when the object was
    /// deleted, and lost when the operator ends.
    ///
    /// ```
    /// # use std::sync::atomic::{AtomicU32, Ordering};
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use operator_runtime::{Result, handlers::Call};
    /// # async fn seen(call: Call<ConfigMap>) -> Result<()> {
    /// let count = call.memo::<AtomicU32>().fetch_add(1, Ordering::Relaxed);
    /// # Ok(()) }
    /// ```
    pub fn memo<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.memo.get()
    }

    /// Calls a sub-handler, unless it has ended for this cause: its progress is recorded like that of a handler, so that it is retried
    /// alone. Returns whether it has ended, with success or not. What it returns is written to the status: see
    /// [`result`](super::HandlerOptions::result).
    ///
    /// The id is unique within the handler. A handler with sub-handlers calls all of them in each attempt, in the same order, and waits for
    /// those that have not ended: it is called again when the next of them is due.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use operator_runtime::{Result, handlers::Call};
    /// # struct Copies;
    /// # impl Copies { async fn copy(&self, key: &str) -> Result<()> { Ok(()) }
    /// async fn each(self: Arc<Self>, call: Call<ConfigMap>) -> Result<()> {
    ///     for key in call.object().data.iter().flatten().map(|(key, _)| key) {
    ///         call.sub_handler(key, async |_call| self.copy(key).await).await?;
    ///     }
    ///     Ok(())
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the progress cannot be written.
    pub async fn sub_handler<R, F>(&self, id: &str, handler: F) -> Result<bool>
    where
        R: Serialize,
        F: AsyncFnOnce(Self) -> Result<R>,
    {
        self.scope.clone().call(self, id, handler).await
    }
}

/// The call of a handler after a change.
#[derive(Clone)]
pub struct Update<K: Object> {
    pub(super) call: Call<K>,
    pub(super) old: Option<Arc<K>>,
    pub(super) changes: Arc<[Path]>,
}

impl<K: Object> Update<K> {
    /// The object as it was handled last, with its spec, labels and annotations only. `None` if that is not known: the object is too large
    /// to be recorded, it has sensitive values, or it no longer matches its type.
    pub fn old(&self) -> Option<&Arc<K>> {
        self.old.as_ref()
    }

    /// The paths in which the object differs from what was handled last, sorted. If that was recorded as hashes, they are less deep.
    pub fn changes(&self) -> &[Path] {
        &self.changes
    }

    /// Whether the field at a path such as `spec.size`, or a part of it, has changed.
    pub fn has_changed(&self, path: &str) -> bool {
        self.changes.iter().any(|change| {
            change.is_within(path) || Path::from(path.to_owned()).is_within(change.as_str())
        })
    }
}

impl<K: Object> Deref for Update<K> {
    type Target = Call<K>;

    fn deref(&self) -> &Call<K> {
        &self.call
    }
}

/// The call of a handler of a field.
#[derive(Clone)]
pub struct FieldUpdate<K: Object, T> {
    pub(super) call: Call<K>,
    pub(super) old: Option<T>,
    pub(super) new: T,
}

impl<K: Object, T> FieldUpdate<K, T> {
    /// The value that was handled last; `None` for a new object, and if it is not known: the object is too large to be recorded, it has
    /// sensitive values, or the operator did not have the handler then and the value is not in the spec, the labels or the annotations.
    pub fn old(&self) -> Option<&T> {
        self.old.as_ref()
    }

    /// The current value.
    #[expect(
        clippy::new_ret_no_self,
        reason = "the new value, as opposed to the old one"
    )]
    pub fn new(&self) -> &T {
        &self.new
    }
}

impl<K: Object, T> Deref for FieldUpdate<K, T> {
    type Target = Call<K>;

    fn deref(&self) -> &Call<K> {
        &self.call
    }
}

/// What a handler returns, as JSON.
pub(super) async fn value<R: Serialize>(result: impl Future<Output = Result<R>>) -> Result<Value> {
    Ok(serde_json::to_value(result.await?)?)
}
