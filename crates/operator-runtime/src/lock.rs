//! The one way to lock a value.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value, also after its holder has panicked: a panic fails only the reconciliation in which it occurs.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
