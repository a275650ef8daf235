//! Standard output and standard error: the only module that prints.

mod working;

use std::{
    io::{self, IsTerminal, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

use anstream::AutoStream;
use working::{Style, Working};

use crate::{
    diagnostic::{Report, hint},
    disk::DiskError,
};

/// The standard output and standard error of a command.
pub struct Terminal {
    progress: bool,
    /// The running operation that is shown if it takes long.
    working: Mutex<Option<Working>>,
}

impl Default for Terminal {
    fn default() -> Self {
        Self {
            progress: io::stderr().is_terminal(),
            working: Mutex::default(),
        }
    }
}

impl Terminal {
    /// Prints the result of a command to standard output. A closed pipe (`| head`) is not an error.
    pub fn print(&self, text: &str) -> Result<(), DiskError> {
        self.clear_working();
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
                Err(DiskError::Output(source))
            }
            _ => Ok(()),
        }
    }

    /// Prints a line of a session to standard output, without colours if it is not a terminal.
    pub fn show(&self, line: &str) {
        self.clear_working();
        let mut out = AutoStream::auto(io::stdout().lock());
        // the session is ended by the user, not by a pipe that is closed
        let _ = writeln!(out, "{line}");
    }

    /// Prints a status line to standard error.
    pub fn status(&self, line: &str) {
        self.clear_working();
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    /// Prints several status lines to standard error.
    pub fn status_lines(&self, lines: &str) {
        self.clear_working();
        let _ = io::stderr().lock().write_all(lines.as_bytes());
    }

    /// Prints diagnostics to standard error, each with a hint that is printed only once. `anstream` removes colors if standard error is not
    /// a terminal, or if the user disables them (`NO_COLOR`).
    pub fn report(&self, reports: &[Report]) {
        self.clear_working();
        let colours = AutoStream::choice(&io::stderr());
        // standard error has no buffer, and colours are taken away piece by piece
        let mut text = AutoStream::new(vec![], colours);
        for report in reports {
            let _ = writeln!(text, "{}\n", report.rendered());
        }
        if let Some(hint) = hint(reports) {
            let _ = writeln!(text, "{hint}");
        }
        let _ = io::stderr().lock().write_all(&text.into_inner());
    }

    /// Shows the progress of a long command, on a terminal only.
    pub fn progress(&self, line: &str) {
        self.clear_working();
        if self.progress {
            let _ = write!(io::stderr().lock(), "\r\x1b[2K{line}");
        }
    }

    /// Reports on standard error that `what` is running, once it takes long: on a terminal a line with the elapsed time after a second,
    /// elsewhere a plain line after ten. It ends with the next step, or with whatever else is written.
    pub fn working(&self, what: &'static str) {
        let style = match self.progress {
            true => Style::Terminal,
            false => Style::Log,
        };
        self.clear_working();
        *self.lock() = Some(Working::begin(what, style, io::stderr()));
    }

    /// Ends the report of a running operation.
    fn clear_working(&self) {
        drop(self.lock().take());
    }

    fn lock(&self) -> MutexGuard<'_, Option<Working>> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clears the line of `progress`.
    pub fn end_progress(&self) {
        self.clear_working();
        if self.progress {
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        }
    }
}
