//! The line that reports a long operation: a thread that writes it until the operation ends.

#![allow(clippy::disallowed_methods, reason = "the line has the seconds so far")]

use std::{
    io::Write,
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How the line is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// One line with the elapsed seconds, which is cleared at the end.
    Terminal,
    /// A new line every 30 seconds, for logs.
    Log,
}

impl Style {
    /// How long an operation takes before it is reported, and the time between two reports.
    fn pauses(self) -> (Duration, Duration) {
        match self {
            Self::Terminal => (Duration::from_secs(1), Duration::from_secs(1)),
            Self::Log => (Duration::from_secs(10), Duration::from_secs(30)),
        }
    }
}

/// A long operation that is running; it ends when this is dropped.
pub struct Working {
    end: Option<Sender<()>>,
    clock: Option<JoinHandle<()>>,
}

impl Working {
    pub fn begin(what: &'static str, style: Style, out: impl Write + Send + 'static) -> Self {
        Self::paced(what, style, style.pauses(), out)
    }

    fn paced(
        what: &'static str,
        style: Style,
        (first, next): (Duration, Duration),
        mut out: impl Write + Send + 'static,
    ) -> Self {
        let (end, ended) = mpsc::channel::<()>();
        let clock = thread::spawn(move || {
            let begun = Instant::now();
            let mut pause = first;
            let mut is_shown = false;
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let line = format!("{what} ({} s)", begun.elapsed().as_secs());
                let _ = match style {
                    Style::Terminal => write!(out, "\r\x1b[2K{line}").and_then(|()| out.flush()),
                    Style::Log => writeln!(out, "{line}"),
                };
                (pause, is_shown) = (next, true);
            }
            if is_shown && style == Style::Terminal {
                let _ = write!(out, "\r\x1b[2K").and_then(|()| out.flush());
            }
        });
        Self {
            end: Some(end),
            clock: Some(clock),
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(clock) = self.clock.take() {
            let _ = clock.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Written {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    #[test]
    fn long_work_is_reported_and_its_line_is_cleared() {
        const SOON: Duration = Duration::from_millis(1);
        for (style, lines) in [
            (Style::Terminal, "\r\x1b[2Kasking rustc (0 s)"),
            (Style::Log, "asking rustc (0 s)\n"),
        ] {
            let out = Written::default();
            let working = Working::paced("asking rustc", style, (SOON, SOON), out.clone());
            while out.text().matches(lines).count() < 2 {
                thread::sleep(SOON);
            }
            drop(working);
            let text = out.text();
            assert!(text.starts_with(lines), "{text:?}");
            assert_eq!(text.ends_with("\r\x1b[2K"), style == Style::Terminal);
            // nothing is written once it ended
            thread::sleep(20 * SOON);
            assert_eq!(out.text(), text);
        }
    }

    #[test]
    fn quick_work_is_not_reported() {
        let out = Written::default();
        let long = Duration::from_secs(3600);
        drop(Working::paced(
            "",
            Style::Terminal,
            (long, long),
            out.clone(),
        ));
        assert_eq!(out.text(), "");
    }
}
