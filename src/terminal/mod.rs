//! Standard output and standard error: the only module that prints.

mod working;

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

use anstream::AutoStream;
use working::{Style, Working};

use crate::{
    diagnostic::{Report, hint, is_unprintable},
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
    /// Prints the result of a command to standard output. On a terminal, control characters are escaped, because the text may come from a
    /// file of somebody else. A closed pipe (`| head`) is not an error.
    pub fn print(&self, text: &str) -> Result<(), DiskError> {
        self.clear_working();
        let mut out = io::stdout().lock();
        let text = if out.is_terminal() {
            visible(text)
        } else {
            text.into()
        };
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
                Err(DiskError::Output(source))
            }
            _ => Ok(()),
        }
    }

    /// Prints a line of a `dev` session to standard output, without colors if it is not a terminal.
    pub fn show(&self, line: &str) {
        self.clear_working();
        let mut out = AutoStream::auto(io::stdout().lock());
        // a closed pipe does not end the session, only the user does
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

    /// Prints diagnostics to standard error, and one hint after the last. `anstream` removes colors if standard error is not
    /// a terminal, or if the user disables them (`NO_COLOR`).
    pub fn report(&self, reports: &[Report]) {
        self.clear_working();
        let color_choice = AutoStream::choice(&io::stderr());
        // standard error has no buffer, and `AutoStream` writes small pieces when it removes colors
        let mut text = AutoStream::new(vec![], color_choice);
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
    /// elsewhere a plain line after ten. The report ends with the next operation, or as soon as anything else is printed.
    pub fn working(&self, what: &'static str) {
        let style = if self.progress {
            Style::Terminal
        } else {
            Style::Log
        };
        self.clear_working();
        *self.lock() = Some(Working::begin(what, style, io::stderr()));
    }

    /// Reports that another command works in the same place.
    pub fn waiting(&self) {
        self.working("waiting for another command in this folder");
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

/// Escapes the characters that a terminal would interpret, such as those that move the cursor or reverse the direction of text.
fn visible(text: &str) -> Cow<'_, str> {
    let is_interpreted = |c: char| is_unprintable(c) && !matches!(c, '\n' | '\t');
    if !text.contains(is_interpreted) {
        return text.into();
    }
    let mut shown = String::new();
    for character in text.chars() {
        if is_interpreted(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_a_terminal_would_interpret_are_escaped() {
        let text = "+a\tb\u{e9}\n";
        assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        let shown = visible("-x\u{1b}[2K\r\u{9b}1m\u{202e}y\n");
        assert_eq!(shown, "-x\\u{1b}[2K\\u{d}\\u{9b}1m\\u{202e}y\n");
    }
}
