//! The events of a session, as values; `cli/output/dev_log.rs` formats them.

use std::{path::PathBuf, time::Duration};

use jiff::Zoned;
use operator_schema::dev::Event;
use tokio::sync::mpsc;

/// Sends the events of a session, with their times.
#[derive(Clone, Debug)]
pub struct EventSender(mpsc::UnboundedSender<(Zoned, DevEvent)>);

impl EventSender {
    /// Returns the sender, and the receiver of its events.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<(Zoned, DevEvent)>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    pub fn send(&self, event: DevEvent) {
        // without a receiver, the session has ended
        let _unsent = self.0.send((Zoned::now(), event));
    }
}

/// An event that `dev` shows to the developer of an operator.
#[derive(Clone, Debug)]
pub enum DevEvent {
    /// What the API server reports.
    Cluster(Event),
    /// The session will use this context of the user's kubeconfig.
    Context(String),
    /// The build begins.
    Building,
    /// The build succeeded, and took this long.
    Built(Duration),
    /// The build failed, with the reason unless cargo has printed it. A running operator keeps running.
    BuildFailed(String),
    /// The build produced the program that is running already.
    Unchanged,
    /// The operator was started, with this process id.
    Started(u32),
    /// The user has to start the operator, with `environment` (also written to `file`) and without the variables in `unset`, which would
    /// make it use another cluster.
    StartManually {
        environment: Vec<(String, String)>,
        file: PathBuf,
        unset: Vec<String>,
    },
    /// An object is reconciled endlessly; its reconciliations and requests with their rates per second, the most frequent first.
    HotLoop {
        objects: Vec<(String, u32)>,
        requests: Vec<(String, u32)>,
    },
    /// The operator exited by itself, for example with `exit status: 1`.
    Exited(String),
    /// `operator.toml`, a CRD or another file of the project is invalid, with the reason.
    Invalid(String),
    /// The generated code does not match `operator.toml` and the CRDs.
    Stale,
    /// A reconciliation succeeded.
    Reconciled { object: String, took: String },
    /// A line that the operator printed; `level` is empty if it is not a line of its log.
    Log {
        level: String,
        object: String,
        text: String,
    },
}
