//! The user of a session, who sees what happens and ends it.

use std::pin::Pin;

use jiff::Zoned;
use tokio::sync::mpsc::UnboundedReceiver;

use super::{happening::Happening, loops::Loops};

/// Who hears what happens, and may end the session.
pub struct Listener<F> {
    told: UnboundedReceiver<(Zoned, Happening)>,
    on: F,
    loops: Loops,
    end: Pin<Box<dyn Future<Output = ()>>>,
}

impl<F: FnMut(&Zoned, Happening)> Listener<F> {
    /// It hears Ctrl-C from now on.
    pub fn new(told: UnboundedReceiver<(Zoned, Happening)>, on: F) -> Self {
        let end = Box::pin(end());
        Self {
            told,
            on,
            loops: Loops::default(),
            end,
        }
    }

    /// Does the work, and shows what happens meanwhile; `None` where the user ends the session before it is done.
    pub async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                () = &mut self.end => return None,
                done = &mut work => return Some(done),
                Some((at, happening)) = self.told.recv() => self.hear(&at, happening),
            }
        }
    }

    /// Shows what was told and not shown yet.
    pub fn tell_rest(&mut self) {
        while let Ok((at, happening)) = self.told.try_recv() {
            self.hear(&at, happening);
        }
    }

    fn hear(&mut self, at: &Zoned, happening: Happening) {
        for shown in self.loops.step(at.timestamp(), happening) {
            (self.on)(at, shown);
        }
    }
}

/// Ctrl-C, SIGTERM, or the terminal's end.
async fn end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (terminate, hangup) = (
            signal(SignalKind::terminate()),
            signal(SignalKind::hangup()),
        );
        if let (Ok(mut terminate), Ok(mut hangup)) = (terminate, hangup) {
            tokio::select! {
                _ended = tokio::signal::ctrl_c() => {}
                _ended = terminate.recv() => {}
                _ended = hangup.recv() => {}
            }
            return;
        }
    }
    let _ended = tokio::signal::ctrl_c().await;
}
