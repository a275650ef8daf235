//! Shows the events of a session to the user, until the user ends it.

use std::pin::Pin;

use jiff::Zoned;
use tokio::sync::mpsc::UnboundedReceiver;

use super::{event::DevEvent, hot_loop::HotLoops};

/// Receives the events of a session, and the signals that end it.
pub struct Listener<F> {
    events: UnboundedReceiver<(Zoned, DevEvent)>,
    show: F,
    hot_loops: HotLoops,
    end: Pin<Box<dyn Future<Output = ()>>>,
}

impl<F: FnMut(&Zoned, DevEvent)> Listener<F> {
    /// Handles Ctrl-C from now on.
    pub fn new(events: UnboundedReceiver<(Zoned, DevEvent)>, show: F) -> Self {
        let end = Box::pin(end());
        Self {
            events,
            show,
            hot_loops: HotLoops::default(),
            end,
        }
    }

    /// Waits for `work`, and meanwhile shows events. Returns `None` if the user ends the session first.
    pub async fn run_until_interrupted<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                () = &mut self.end => return None,
                done = &mut work => return Some(done),
                Some((at, event)) = self.events.recv() => self.receive(&at, event),
            }
        }
    }

    /// Shows the pending events.
    pub fn drain(&mut self) {
        while let Ok((at, event)) = self.events.try_recv() {
            self.receive(&at, event);
        }
    }

    fn receive(&mut self, at: &Zoned, event: DevEvent) {
        for shown in self.hot_loops.filter(at.timestamp(), event) {
            (self.show)(at, shown);
        }
    }
}

/// Waits for Ctrl-C, SIGTERM or SIGHUP.
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
