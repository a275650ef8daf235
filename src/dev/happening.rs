//! What a session tells, as values; `command` has the words.

use std::{path::PathBuf, time::Duration};

use jiff::Zoned;
use operator_testing::Request;
use tokio::sync::mpsc;

/// Where the parts of a session tell what they notice, and when.
#[derive(Clone, Debug)]
pub struct Tell(mpsc::UnboundedSender<(Zoned, Happening)>);

impl Tell {
    /// With the end at which it is told.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<(Zoned, Happening)>) {
        let (sender, told) = mpsc::unbounded_channel();
        (Self(sender), told)
    }

    pub fn tell(&self, happening: Happening) {
        // the session has ended if nobody listens
        let _unheard = self.0.send((Zoned::now(), happening));
    }

    /// Whether the session has ended.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// Something that a person who develops an operator wants to see.
#[derive(Clone, Debug)]
pub enum Happening {
    /// The API server answers.
    Serving {
        /// `https://HOST:PORT`.
        url: String,
        /// The context of the user's kubeconfig; `None` for the server in memory.
        context: Option<String>,
        /// For kubectl, beside the session.
        kubeconfig: Option<PathBuf>,
    },
    /// Cargo begins.
    Building,
    /// Cargo has made the operator.
    Built(Duration),
    /// Cargo could not, and why, where it has not told that itself; what runs goes on.
    NotBuilt(String),
    /// What cargo has made is what runs.
    Unchanged,
    /// A new process of the operator.
    Started(u32),
    /// The user is to start it, with this environment, which is in a file too; and without what would lead it elsewhere.
    Unstarted {
        environment: Vec<(&'static str, String)>,
        file: PathBuf,
        unset: Vec<&'static str>,
    },
    /// The same reconciliations and requests come again and again; how often a second, the most frequent first.
    Loop {
        objects: Vec<(String, u32)>,
        requests: Vec<(String, u32)>,
    },
    /// The operator ended by itself, as in `exit status: 1`.
    Ended(String),
    /// A file of the project went onto the server.
    Applied(String),
    /// A file of the project could not: the file, and why.
    Refused(String, String),
    /// An operator of that name is deployed on the cluster.
    Rival(String),
    /// The state or a spec can't be used, and why.
    Wrong(String),
    /// The specs or the state of the project are not what the code was generated from.
    Stale,
    /// The operator asked; with the server's words where it refused.
    Asked {
        request: Request,
        refusal: Option<String>,
    },
    /// An object is another than it was.
    Object { object: String, change: Change },
    /// The objects of a kind can't be followed, and why.
    Unseen(String, String),
    /// A line of an event, with its type (`Normal`, `Warning`).
    Event {
        object: String,
        kind: String,
        text: String,
    },
    /// A reconciliation that ended well.
    Reconciled { object: String, took: String },
    /// A line of the operator's log; the level is empty for what is no log.
    Logged {
        level: String,
        object: String,
        text: String,
    },
}

/// What became of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Created,
    /// Its fields, as in `spec.replicas 1 → 2`.
    Fields(Vec<String>),
    /// A condition has another status, reason or message.
    Condition {
        kind: String,
        status: String,
        reason: String,
        message: String,
    },
    /// It waits for these finalizers.
    Deleting(Vec<String>),
    Deleted,
}
