//! Why a reconciliation did not reach the desired state, and what that means for the next one.

use std::{fmt, net::SocketAddr, time::Duration};

/// Why a reconciliation did not reach the desired state.
///
/// Errors are tried again with a delay that grows for each object, except those that
/// [are permanent](Error::is_permanent): these wait until the object changes, or a child of it, or a watched object for which
/// [`parents`](crate::Reconciler::parents) gives it.
///
/// Any error that `anyhow` takes becomes one with `?`; [`Error::temporary`] and [`Error::permanent`] say when to try again:
///
/// ```
/// use std::time::Duration;
/// use operator_runtime::{Error, Result};
///
/// fn check(size: i32, is_busy: bool) -> Result<()> {
///     if size % 2 == 1 {
///         return Err(Error::permanent(anyhow::anyhow!("spec.size is odd")));
///     }
///     if is_busy {
///         return Err(Error::temporary(Duration::from_secs(30), anyhow::anyhow!("a backup is running")));
///     }
///     Ok(())
/// }
///
/// assert!(check(1, false).is_err_and(|error| error.is_permanent()));
/// assert!(check(2, true).is_err_and(|error| !error.is_permanent()));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The API server refused a request, or could not be asked.
    #[error("{}", client_message(.0))]
    Kube(#[source] kube::Error),

    /// A value could not be turned into JSON or back.
    #[error("{0}")]
    Json(#[from] serde_json::Error),

    /// Trying again is of no use until a change calls the reconciler.
    #[error("{}", chain_message(&**.0))]
    Permanent(#[source] anyhow::Error),

    /// Try again after this delay, whatever the backoff would say.
    #[error("{}", chain_message(&**source))]
    Temporary {
        /// How long to wait.
        delay: Duration,
        /// What is in the way.
        source: anyhow::Error,
    },

    /// The controller does not declare that it owns this kind, so it is neither watched nor permitted.
    #[error(
        "{kind} is not declared as a child of {owner}\nhelp: in operator.toml, under the kind {owner}, set\n    owns = [{owns}]\nand run `cargo operator regenerate`"
    )]
    Undeclared {
        /// The kind of the child, as `apps/v1/Deployment`.
        kind: String,
        /// The kind that the controller reconciles.
        owner: String,
        /// The kinds to declare, as they stand in `operator.toml`.
        owns: String,
    },

    /// An object of this name exists, and this owner does not control it.
    #[error("{kind} {name} exists already and is controlled by {}\nhelp: {help}", .holder.as_deref().unwrap_or("nobody"))]
    Taken {
        /// The kind of the child, as `apps/v1/Deployment`.
        kind: String,
        /// The name of the child.
        name: String,
        /// Kind, group and name of the controller_context owner, as `Memcached.cache.example.com a`, if it has one.
        holder: Option<String>,
        /// What mends it.
        help: &'static str,
    },

    /// This owner cannot own the child; see
    /// [owners and dependents](https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/).
    #[error(
        "{kind} {name} cannot be owned by {owner}: an owner in a namespace owns only objects of that namespace"
    )]
    Unownable {
        /// The kind of the child, as `apps/v1/Deployment`.
        kind: String,
        /// The name of the child.
        name: String,
        /// Kind and name of the owner.
        owner: String,
    },

    /// The reconciler panicked; the controller goes on.
    #[error("panicked: {0}")]
    Panicked(String),

    /// Any other.
    #[error("{}", chain_message(&**.0))]
    Other(#[from] anyhow::Error),
}

/// The result of the runtime's functions and of reconcilers.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error that only a change can resolve: of the object, of a child, or of a watched object for which
    /// [`parents`](crate::Reconciler::parents) gives it.
    pub fn permanent(source: impl Into<anyhow::Error>) -> Self {
        Self::Permanent(source.into())
    }

    /// An error that goes away by itself; the next try is after `delay`.
    pub fn temporary(delay: Duration, source: impl Into<anyhow::Error>) -> Self {
        Self::Temporary {
            delay,
            source: source.into(),
        }
    }

    /// Whether trying again without a change is of no use.
    pub fn is_permanent(&self) -> bool {
        matches!(
            self,
            Self::Permanent(_) | Self::Undeclared { .. } | Self::Unownable { .. }
        )
    }

    /// The reason of the event that reports it on the object after so many failures in a row, if one does. An error that
    /// may be gone with the next try is reported when it is not.
    pub(crate) fn reason(&self, failures: u32) -> Option<&'static str> {
        match self {
            Self::Permanent(_) => Some("PermanentError"),
            Self::Undeclared { .. } => Some("UndeclaredChild"),
            Self::Unownable { .. } => Some("UnownableChild"),
            Self::Taken { .. } => Some("ChildTaken"),
            Self::Panicked(_) => Some("Panicked"),
            Self::Kube(_) | Self::Json(_) | Self::Temporary { .. } | Self::Other(_) => {
                (failures > 1 && !self.is_unreachable()).then_some("ReconcileError")
            }
        }
    }

    /// Whether the API server could not be asked, so that it could not be given an event either.
    fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Kube(kube::Error::HyperError(_) | kube::Error::Service(_))
        )
    }

    /// The metrics' label.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Panicked(_) => "panic",
            error if error.is_permanent() => "permanent_error",
            _ => "error",
        }
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Kube(error)
    }
}

/// Why the operator could not start, or had to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fatal {
    /// Neither in a cluster nor with a usable kubeconfig.
    #[error("no usable cluster configuration: {}", chain_message(.0))]
    NoCluster(Box<kube::config::InferConfigError>),
    /// The configuration does not give a client.
    #[error("cannot make a client: {}", client_message(.0))]
    Client(Box<kube::Error>),
    /// The log filter does not parse.
    #[error("the log filter {filter:?} is not valid: {reason}")]
    LogFilter {
        /// As given.
        filter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The lease must outlive the time in which a leader tries to renew it, and that more than one try.
    #[error(
        "the lease's duration ({duration:?}) must be longer than the renew deadline ({deadline:?}), and that longer than the retry period ({period:?})"
    )]
    LeaseTimes {
        /// `--lease-duration`
        duration: Duration,
        /// `--renew-deadline`
        deadline: Duration,
        /// `--retry-period`
        period: Duration,
    },
    /// The address of health and metrics cannot be used.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// `--http-address`
        address: std::net::SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// A kind can have but one controller, whatever its versions.
    #[error("two controllers are registered for {kind}")]
    TwoControllers {
        /// The kind and its group, as `Memcached.cache.example.com`.
        kind: String,
    },
    /// A controller's setup failed.
    #[error("cannot set up a controller: {0}")]
    Setup(Box<Error>),
    /// The lease went to another replica, or could not be renewed in time.
    #[error("lost the lease {lease}: {reason}")]
    LeaseLost {
        /// Its name.
        lease: String,
        /// How.
        reason: String,
    },
    /// A task of the runtime ended that should not.
    #[error("a task ended early: {0}")]
    Task(String),
    /// A second signal asked to stop at once.
    #[error("stopped by a second signal, before work in flight was done")]
    Interrupted,
}

/// Whether a request failed because its object, or the subresource of a custom object, is not there. That there is no such kind is a
/// 404 as well, but one that names no object.
pub(crate) fn is_gone(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let details = status.details.as_ref();
    status.code == 404 && details.is_some_and(|details| !details.name.is_empty())
}

/// What a client error says, without the `Status` that kube prints along with the message.
pub(crate) fn client_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status_message(status),
        error => chain_message(error),
    }
}

/// The message of an error and of its sources, each once.
pub(crate) fn chain_message(error: &(dyn std::error::Error + 'static)) -> String {
    let chain = std::iter::successors(Some(error), |error| match error.downcast_ref() {
        // Its source is the `Status` that it has printed.
        Some(kube::Error::Api(_)) => None,
        _ => error.source(),
    });
    chain.fold(String::new(), |message, error| {
        let next = one_message(error);
        match message.as_str() {
            "" => next,
            _ if message.contains(&next) => message,
            _ => format!("{message}: {next}"),
        }
    })
}

/// What a panic said.
pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(|text| &**text))
        .unwrap_or("no message")
}

fn one_message(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => status_message(status),
        _ => error.to_string(),
    }
}

/// Without the port from which the API server called a webhook: the same failure is to read the same each
/// time, as it gets into conditions and events.
fn status_message(status: &kube::core::Status) -> String {
    let words = status.message.split(' ');
    let words = words.map(|word| match word.split_once("->") {
        Some((from, to)) if from.parse::<SocketAddr>().is_ok() => to,
        _ => word,
    });
    let message = words.collect::<Vec<_>>().join(" ");
    format!("{message} ({})", status.code)
}

/// A watch's error without the `Status` that kube repeats.
pub(crate) struct WatchMessage<'a>(pub &'a kube::runtime::watcher::Error);

impl fmt::Display for WatchMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use kube::runtime::watcher::Error;
        match self.0 {
            Error::InitialListFailed(error) => write!(f, "cannot list: {}", client_message(error)),
            Error::WatchStartFailed(error) => write!(f, "cannot watch: {}", client_message(error)),
            Error::WatchFailed(error) => write!(f, "watch failed: {}", client_message(error)),
            Error::WatchError(status) => write!(f, "watch ended: {}", status.message),
            Error::NoResourceVersion => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    fn refused() -> kube::Error {
        kube::Error::Api(
            Status::failure("no such thing", "NotFound")
                .with_code(404)
                .boxed(),
        )
    }

    #[test]
    fn an_api_error_is_printed_once_without_its_status() {
        assert_eq!(Error::from(refused()).to_string(), "no such thing (404)");
        let wrapped = anyhow::Error::new(refused()).context("cannot read the secret");
        assert_eq!(
            Error::from(wrapped).to_string(),
            "cannot read the secret: no such thing (404)"
        );
    }

    #[test]
    fn equal_failures_of_a_webhook_have_equal_messages() {
        let message = |port| {
            let text = format!(
                "failed calling webhook: read tcp 10.0.0.1:{port}->10.96.0.7:443: i/o timeout"
            );
            let status = Status::failure(&text, "InternalError").with_code(500);
            Error::from(kube::Error::Api(status.boxed())).to_string()
        };
        let expected = "failed calling webhook: read tcp 10.96.0.7:443: i/o timeout (500)";
        assert_eq!([message(40123), message(40124)], [expected; 2]);
    }

    #[test]
    fn a_deleted_object_is_not_a_missing_kind() {
        let not_found = |details: serde_json::Value| {
            let status =
                serde_json::json!({ "code": 404, "reason": "NotFound", "details": details });
            kube::Error::Api(serde_json::from_value(status).unwrap())
        };
        assert!(is_gone(&not_found(
            serde_json::json!({ "name": "a", "kind": "widgets" })
        )));
        assert!(!is_gone(&not_found(serde_json::json!({}))));
        assert!(!is_gone(&refused()));
    }

    #[test]
    fn persistent_errors_become_events_and_an_unreachable_server_does_not() {
        let reasons = |error: &Error| [1, 2].map(|failures| error.reason(failures));
        assert_eq!(reasons(&refused().into()), [None, Some("ReconcileError")]);
        let panicked = Error::Panicked("no luck".into());
        assert_eq!(reasons(&panicked), [Some("Panicked"); 2]);
        let unreachable = kube::Error::Service("connection refused".into());
        assert_eq!(reasons(&unreachable.into()), [None; 2]);
    }

    #[test]
    fn only_errors_that_need_a_change_are_permanent() {
        assert!(Error::permanent(anyhow::anyhow!("bad size")).is_permanent());
        assert!(!Error::from(refused()).is_permanent());
        assert!(!Error::temporary(Duration::from_secs(1), anyhow::anyhow!("busy")).is_permanent());
        let taken = Error::Taken {
            kind: "v1/Pod".into(),
            name: "a".into(),
            holder: None,
            help: "",
        };
        assert!(!taken.is_permanent());
    }
}
