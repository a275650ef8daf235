//! The protocol between `cargo operator dev` and the API server of a session: JSON lines.
//!
//! The server is a program of the project. It reads [`Instruction`]s from its standard input, [`Instruction::Start`] first, and ends when
//! the input ends. It writes a [`Greeting`] and then [`Message`]s to its standard output.
//!
//! The types are here because both sides depend on this crate, and only one of them needs an API server.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the protocol, which is raised by an incompatible change.
pub const VERSION: u32 = 1;

/// The folder of the samples, each a file with one object.
pub const SAMPLES: &str = "manifests/samples";

/// The folder of the objects that samples refer to.
pub const FIXTURES: &str = "tests/fixtures";

/// The first line that the server writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// [`VERSION`] of the server.
    pub dev: u32,
}

/// An instruction to the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Instruction {
    /// Serve this project.
    Start(Box<Start>),
    /// The project has changed.
    Project(Box<Project>),
    /// These files of the project have changed, by their paths from its root.
    Changed(Vec<String>),
}

/// The first instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Start {
    /// The absolute path of the project.
    pub root: PathBuf,
    /// The folder for kubeconfigs and certificates.
    pub folder: PathBuf,
    /// What to serve.
    pub project: Project,
    /// How to serve it.
    pub options: Options,
}

/// The parts of a project that the server needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// The name of the operator.
    pub name: String,
    /// The paths of the CRDs, relative to the root.
    pub crds: Vec<String>,
    /// The kinds to watch, starting with those of the project.
    pub kinds: Vec<Resource>,
    /// The number of the first of `kinds` that belong to the project.
    pub own: usize,
    /// The namespaces that the operator watches; empty for all namespaces.
    pub namespaces: Vec<String>,
    /// The names of the CRDs whose objects the operator converts.
    pub converted: Vec<String>,
    /// `spec.conversion` of these CRDs in the manifests.
    pub conversion: Value,
    /// Whether the operator serves webhooks.
    pub has_webhooks: bool,
    /// Whether the certificates of the webhooks are mounted files, which the operator does not create.
    pub mounts_certificates: bool,
}

/// A kind, by its names in URLs and objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The plural.
    pub plural: String,
}

/// The user's options for the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Options {
    /// Whether to use the user's cluster instead of a server in memory.
    pub cluster: bool,
    /// The context of the user's kubeconfig when the session began; `None` if it is not known.
    pub context: Option<String>,
    /// Whether an operator that is deployed on the user's cluster pauses during the session.
    pub take_over: bool,
    /// The URL under which the user's cluster reaches the webhooks.
    pub webhook_url: Option<String>,
    /// Whether to apply the samples of the project.
    pub samples: bool,
    /// Files and folders with further objects to apply.
    pub apply: Vec<PathBuf>,
}

/// A line that the server writes after the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Message {
    /// Something for the developer to see.
    Event(Event),
    /// The server has carried out an instruction; this is the environment for the operator.
    Done(Environment),
    /// The server cannot start, and ends.
    Failed {
        /// The reason.
        why: String,
        /// What the user can do.
        help: String,
    },
}

/// The environment variables with which the operator connects to the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// The names and values of the variables to set.
    pub set: Vec<(String, String)>,
    /// The variables to remove, because they would make the operator connect to another server.
    pub unset: Vec<String>,
}

/// An event that the server reports to the developer of an operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// The API server is ready.
    Serving {
        /// `https://HOST:PORT`.
        url: String,
        /// The context of the user's kubeconfig; `None` for the server in memory.
        context: Option<String>,
        /// The kubeconfig for kubectl, which is valid while the session runs.
        kubeconfig: Option<PathBuf>,
    },
    /// The objects of this file were applied.
    Applied(String),
    /// The objects of a file were not applied: the file, and the reason.
    ApplyFailed(String, String),
    /// A Deployment of the operator is on the cluster.
    AlreadyDeployed {
        /// Its name.
        name: String,
        /// Whether its operator pauses during the session.
        pauses: bool,
    },
    /// Fixtures and samples are not applied before the operator serves its webhooks.
    SamplesWait,
    /// The user's cluster calls the webhooks of the operator at this URL, or cannot call them.
    ForeignWebhooks(Option<String>),
    /// The user's cluster calls the operator to convert objects, or cannot call it, so that nothing converts them.
    ForeignConversions {
        /// Where it calls the operator.
        url: Option<String>,
        /// The CRDs of the objects.
        crds: Vec<String>,
    },
    /// A file of the session cannot be written, with the reason.
    Invalid(String),
    /// A request of the operator.
    Request(Request),
    /// An object changed.
    Object {
        /// The object, as `Deployment default/web`.
        object: String,
        /// Its change.
        change: Change,
    },
    /// The objects of a kind cannot be watched: the kind, and the reason.
    WatchFailed(String, String),
    /// A Kubernetes event.
    Event {
        /// The object that it is about, as `Deployment default/web`.
        object: String,
        /// Its type, `Normal` or `Warning`.
        kind: String,
        /// Its reason and its message.
        text: String,
    },
}

/// A request of the operator, and its response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The request, as `patch memcacheds/status default/sample`.
    pub text: String,
    /// Its verb in RBAC rules.
    pub verb: String,
    /// The HTTP status code of the response.
    pub code: u16,
    /// What to add to `operator.toml` so that the operator may make the request.
    pub permission: String,
    /// The server's message, if it was refused.
    pub refusal: Option<String>,
}

/// A change of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// It is new.
    Created,
    /// The fields that changed, for example `spec.replicas 1 → 2`.
    Fields(Vec<String>),
    /// A condition has another status, reason or message.
    Condition {
        /// Its type.
        kind: String,
        /// `True`, `False` or `Unknown`.
        status: String,
        /// May be empty.
        reason: String,
        /// May be empty.
        message: String,
    },
    /// The object is being deleted, and waits for these finalizers.
    Deleting(Vec<String>),
    /// It was deleted.
    Deleted,
}
