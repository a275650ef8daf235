//! The events of a session, as values; `command/dev_log.rs` formats them.

use std::{path::PathBuf, time::Duration};

use jiff::Zoned;
use operator_testing::Request;
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

    /// Whether the session has ended.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// An event that `dev` shows to the developer of an operator.
#[derive(Clone, Debug)]
pub enum DevEvent {
    /// The API server is ready.
    Serving {
        /// `https://HOST:PORT`.
        url: String,
        /// The context of the user's kubeconfig; `None` for the server in memory.
        context: Option<String>,
        /// The kubeconfig for kubectl, which is valid while the session runs.
        kubeconfig: Option<PathBuf>,
    },
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
        environment: Vec<(&'static str, String)>,
        file: PathBuf,
        unset: Vec<&'static str>,
    },
    /// An object is reconciled endlessly; its reconciliations and requests with their rates per second, the most frequent first.
    HotLoop {
        objects: Vec<(String, u32)>,
        requests: Vec<(String, u32)>,
    },
    /// The operator exited by itself, for example with `exit status: 1`.
    Exited(String),
    /// The objects of this file were applied.
    Applied(String),
    /// The objects of a file were not applied: the file, and the reason.
    ApplyFailed(String, String),
    /// A Deployment of the operator with this name is on the cluster; whether its operator is to pause.
    AlreadyDeployed { name: String, pauses: bool },
    /// Fixtures and samples are applied when the operator serves its webhooks.
    SamplesWait,
    /// The user's cluster calls the webhooks of the operator at this URL, or cannot call them.
    ForeignWebhooks(Option<String>),
    /// The user's cluster calls the operator at this URL to convert the objects of these CRDs, or cannot call it, so that nothing converts
    /// them.
    ForeignConversions {
        url: Option<String>,
        crds: Vec<String>,
    },
    /// `operator.toml`, a CRD or another file of the project is invalid, with the reason.
    Invalid(String),
    /// The generated code does not match `operator.toml` and the CRDs.
    Stale,
    /// A request of the operator; `refusal` is the server's message if it was refused.
    Request {
        request: Request,
        refusal: Option<String>,
    },
    /// An object changed.
    Object { object: String, change: Change },
    /// The objects of a kind can't be watched: the kind, and the reason.
    WatchFailed(String, String),
    /// A Kubernetes event; `kind` is its type, `Normal` or `Warning`.
    Event {
        object: String,
        kind: String,
        text: String,
    },
    /// A reconciliation succeeded.
    Reconciled { object: String, took: String },
    /// A line that the operator printed; `level` is empty if it is not a line of its log.
    Log {
        level: String,
        object: String,
        text: String,
    },
}

/// A change of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Created,
    /// The fields that changed, for example `spec.replicas 1 → 2`.
    Fields(Vec<String>),
    /// A condition has another status, reason or message.
    Condition {
        kind: String,
        status: String,
        reason: String,
        message: String,
    },
    /// The object is being deleted, and waits for these finalizers.
    Deleting(Vec<String>),
    Deleted,
}
