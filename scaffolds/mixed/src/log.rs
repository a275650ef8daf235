//! What the handlers have done, in memory, so that tests can see it. Real handlers act instead.

use std::sync::{Mutex, PoisonError};

/// A line for each call.
#[derive(Default)]
pub struct Log(Mutex<Vec<String>>);

impl Log {
    pub fn add(&self, line: impl Into<String>) {
        self.with(|lines| lines.push(line.into()));
    }

    pub fn lines(&self) -> Vec<String> {
        self.with(|lines| lines.clone())
    }

    /// Returns the lines, and forgets them.
    pub fn take(&self) -> Vec<String> {
        self.with(std::mem::take)
    }

    fn with<T>(&self, call: impl FnOnce(&mut Vec<String>) -> T) -> T {
        call(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
