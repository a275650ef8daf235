//! Detects panics of the operator, which its runtime catches, by a panic hook that records their locations.

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    /// The first panic on this thread, which runs the operator.
    static FIRST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Discards earlier panics of this thread, and records the next one, which is still printed.
pub(super) fn watch() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let path = panic.location().map(ToString::to_string);
            let payload = panic.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(|text| &**text));
            let report = format!(
                "panicked at {}: {}",
                path.unwrap_or_default(),
                text.unwrap_or("no message")
            );
            // fails while the thread ends; then nothing calls `take` any more
            let _unrecorded = FIRST.try_with(|first| {
                first.borrow_mut().get_or_insert(report);
            });
            previous_hook(panic);
        }));
    });
    let _earlier = take();
}

/// The first panic since the last call.
pub(super) fn take() -> Option<String> {
    FIRST.with(|first| first.borrow_mut().take())
}
