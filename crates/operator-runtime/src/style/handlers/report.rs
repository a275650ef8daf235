//! Reports the errors of handlers: in the log, in events of their objects, and in a metric.

use kube::runtime::events::EventType;
use tracing::warn;

use super::{cause::Cause, journal::Ended};
use crate::{Context, Error, style::Object};

/// Reports that a call has failed.
pub(super) async fn report<K: Object>(
    cx: &Context,
    object: &K,
    (cause, handler): (Cause, &str),
    error: &Error,
    ended: Ended,
) {
    cx.shared().handler_errors.count(handler);
    let reason = match ended {
        Ended::Succeeded => return,
        Ended::Retries(delay) => {
            warn!(handler, %cause, retry_in = ?delay, "{error}");
            "HandlerRetries"
        }
        Ended::Failed => {
            warn!(handler, %cause, "{error}; it is not called again");
            "HandlerFailed"
        }
    };
    let note = format!("{cause} handler {handler}: {error}");
    let type_ = EventType::Warning;
    cx.limited_event(object, type_, reason, note).await;
}
