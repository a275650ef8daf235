//! The log of a test.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use tracing::{level_filters::LevelFilter, subscriber::DefaultGuard};

/// What is logged on this thread, at all levels.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub fn capture() -> (Self, DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::TRACE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    /// What the operator logged.
    pub fn own(&self) -> String {
        let text = self.text();
        text.lines()
            .filter(|line| line.contains("operator_runtime"))
            .flat_map(|line| [line, "\n"])
            .collect()
    }

    pub fn text(&self) -> String {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8(text.clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
