//! The errors of reconciliations and of the operator, and when a reconciliation is retried.

use std::{fmt, net::SocketAddr, time::Duration};

use crate::{
    engine::kind::{GroupKind, Kind},
    style::ExternalError,
};

/// Why a reconciliation did not reach the desired state.
///
/// A failed reconciliation is retried with an exponential backoff for each object. After a [permanent error](Error::is_permanent), it is
/// retried only when the object changes, or a child of it, or a watched object for which [`parents`](crate::Reconciler::parents) returns
/// it.
///
/// `?` converts the errors of kube and serde_json, and an `anyhow::Error`; convert others with `anyhow::Error::from` or `anyhow::Context`.
/// [`Error::temporary`], [`Error::throttled`] and [`Error::permanent`] determine when to retry:
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
    /// The API server rejected a request, or could not be reached.
    #[error("{}", client_message(.0))]
    Kube(#[source] kube::Error),

    /// A value could not be serialized to JSON, or deserialized from it.
    #[error("{0}")]
    Json(#[from] serde_json::Error),

    /// A retry is useless until something changes.
    #[error("{}", chain_message(&**.0))]
    Permanent(#[source] anyhow::Error),

    /// [`Declarative::validate`](crate::Declarative::validate) has refused the object; a retry is useless until it changes.
    #[error("{}", chain_message(&**.0))]
    Invalid(#[source] anyhow::Error),

    /// Retry after this delay, instead of the backoff.
    #[error("{}", chain_message(&**source))]
    Temporary {
        /// The time until the retry.
        delay: Duration,
        /// The cause.
        source: anyhow::Error,
    },

    /// Another system limits the rate of its requests: retry after this delay.
    #[error("{}", chain_message(&**source))]
    Throttled {
        /// The time until that system accepts requests again.
        delay: Duration,
        /// The cause.
        source: anyhow::Error,
    },

    /// The controller does not declare that it owns or watches this kind, so the kind is not watched and the operator has no permissions for
    /// it.
    #[error(
        "{kind} is not in `{key}` of {owner}\nhelp: add \"{kind}\" to `{key}` of {owner} in operator.toml, and run `cargo operator regenerate`"
    )]
    Undeclared {
        /// The kind of the child or of the related object, for example `apps/v1/Deployment`.
        kind: String,
        /// The kind that the controller reconciles.
        owner: String,
        /// The key of `operator.toml` that lacks the kind.
        key: &'static str,
    },

    /// An object of this name exists, and this owner does not control it.
    #[error("{kind} {name} exists already and is controlled by {}\nhelp: {help}", .holder.as_deref().unwrap_or("nobody"))]
    Taken {
        /// The kind of the child, for example `apps/v1/Deployment`.
        kind: String,
        /// The name of the child.
        name: String,
        /// Kind, group and name of the object that controls it, for example `Memcached.cache.example.com a`, if there is one.
        holder: Option<String>,
        /// How the user can fix it.
        help: &'static str,
    },

    /// The owner cannot own the child; see [owners and
    /// dependents](https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/).
    #[error(
        "{kind} {name} cannot be owned by {owner}: an owner in a namespace owns only objects of that namespace"
    )]
    Unownable {
        /// The kind of the child, for example `apps/v1/Deployment`.
        kind: String,
        /// The name of the child.
        name: String,
        /// Kind and name of the owner.
        owner: String,
    },

    /// The controller desires two children of the same kind and name.
    #[error(
        "two children {kind} {name} are desired\nhelp: give them different names, or leave one out"
    )]
    DesiredTwice {
        /// The kind of the children, for example `apps/v1/Deployment`.
        kind: String,
        /// Their name.
        name: String,
    },

    /// A child has no name.
    #[error(
        "a child {kind} has no name\nhelp: set `metadata.name`; a generated name would make another child each time"
    )]
    Unnamed {
        /// The kind of the child, for example `apps/v1/Deployment`.
        kind: String,
    },

    /// The API server stores a child in a form that differs from the desired one, so that the next reconciliation would write it again.
    #[error(
        "{kind} {name} was written, but is not stored as it was sent\nhelp: compare the object with what the controller desires: a webhook may change it, or the API server may drop a field. The update strategy `apply` tolerates that"
    )]
    Unsettled {
        /// The kind of the child, for example `apps/v1/Deployment`.
        kind: String,
        /// The name of the child.
        name: String,
    },

    /// A declarative controller reads the children of a kind that has not been listed since the start of the operator, so that it is not
    /// known which exist.
    #[error(
        "{kind} has not been listed yet\nhelp: if this lasts, check that the kind is installed and that the operator may list and watch it; if the kind was removed for good, remove it from `owns` in operator.toml"
    )]
    Unlisted {
        /// The kind of the children, for example `apps/v1/Deployment`.
        kind: String,
    },

    /// The child would be in a namespace that the operator does not watch.
    #[error(
        "{kind} {name} is desired in the namespace {namespace}, which the operator does not watch\nhelp: add it to `namespaces` in operator.toml, or choose another namespace"
    )]
    Unwatched {
        /// The kind of the child, for example `apps/v1/Deployment`.
        kind: String,
        /// The name of the child.
        name: String,
        /// The namespace.
        namespace: String,
    },

    /// The reconciler panicked; the controller continues.
    #[error("panicked: {0}")]
    Panicked(String),

    /// An object and its external resource are in a state in which the runtime does not act.
    #[error(transparent)]
    External(#[from] ExternalError),

    /// Any other error of the reconciler.
    #[error("{}", chain_message(&**.0))]
    Other(#[from] anyhow::Error),
}

/// The maximum delay; longer ones are shortened, because a time so far in the future may not be representable.
pub(crate) const LONGEST_DELAY: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The result of the runtime's functions and of reconcilers.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error that only a change can resolve: of the object, of a child, or of a watched object for which
    /// [`parents`](crate::Reconciler::parents) returns it.
    pub fn permanent(source: impl Into<anyhow::Error>) -> Self {
        Self::Permanent(source.into())
    }

    /// Creates an error that resolves itself; the reconciliation is retried after `delay`, or up to a fifth later, so that objects which failed
    /// together are not retried together.
    pub fn temporary(delay: Duration, source: impl Into<anyhow::Error>) -> Self {
        Self::Temporary {
            delay,
            source: source.into(),
        }
    }

    /// Creates the error for an answer such as `429 Too Many Requests`, with the time in its header
    /// [`Retry-After`](https://www.rfc-editor.org/rfc/rfc9110#field.retry-after). It is a [temporary](Self::temporary) error, and if a
    /// [provider](crate::External) returns it, its controller makes no call for any object until then.
    pub fn throttled(delay: Duration, source: impl Into<anyhow::Error>) -> Self {
        Self::Throttled {
            delay,
            source: source.into(),
        }
    }

    /// The delay that the error sets; `None` for one that sets none.
    pub(crate) fn delay(&self) -> Option<Duration> {
        match self {
            Self::Temporary { delay, .. } | Self::Throttled { delay, .. } => {
                Some((*delay).min(LONGEST_DELAY))
            }
            _ => None,
        }
    }

    /// Whether a call of a provider has failed for a reason that will be over soon.
    pub(crate) fn resolves_itself(&self) -> bool {
        self.delay().is_some() || matches!(self, Self::External(ExternalError::TimedOut { .. }))
    }

    /// Creates the error for an object of a `kind` that the controller of `owner` does not declare under this key.
    pub(crate) fn undeclared(kind: &Kind, owner: &GroupKind, key: &'static str) -> Self {
        Self::Undeclared {
            kind: kind.to_string(),
            owner: owner.to_string(),
            key,
        }
    }

    /// The message for those who use the objects, for example in a condition. It lacks the help for the developers of the operator, which
    /// logs and events have.
    pub fn summary(&self) -> String {
        let text = self.to_string();
        match (self, text.split_once("\nhelp: ")) {
            // its help is about the object
            (Self::External(_), _) | (_, None) => text,
            (_, Some((summary, _))) => summary.to_owned(),
        }
    }

    /// Whether a retry without a change is useless.
    pub fn is_permanent(&self) -> bool {
        if let Self::External(error) = self {
            return error.is_permanent();
        }
        matches!(
            self,
            Self::Permanent(_)
                | Self::Invalid(_)
                | Self::Undeclared { .. }
                | Self::Unownable { .. }
                | Self::DesiredTwice { .. }
                | Self::Unnamed { .. }
                | Self::Unwatched { .. }
        )
    }

    /// The reason of the event that reports the error after `failures` consecutive failures; `None` if there is no event. An error that the
    /// next retry may resolve is reported only when it persists.
    pub(crate) fn reason(&self, failures: u32) -> Option<&'static str> {
        match self {
            Self::Permanent(_) => Some("PermanentError"),
            Self::Invalid(_) => Some("Invalid"),
            Self::Undeclared { .. } => Some("UndeclaredChild"),
            Self::Unownable { .. } | Self::Unwatched { .. } => Some("UnownableChild"),
            Self::DesiredTwice { .. } | Self::Unnamed { .. } | Self::Unsettled { .. } => {
                Some("InvalidChild")
            }
            Self::Taken { .. } => Some("ChildTaken"),
            Self::Panicked(_) => Some("Panicked"),
            Self::External(error) => Some(error.reason()),
            Self::Unlisted { .. } => (failures > 1).then_some("ChildrenUnlisted"),
            Self::Throttled { .. } => (failures > 1).then_some("Throttled"),
            Self::Kube(_) | Self::Json(_) | Self::Temporary { .. } | Self::Other(_) => {
                (failures > 1 && !self.is_unreachable()).then_some("ReconcileError")
            }
        }
    }

    /// Whether the API server could not be reached, so that an event could not be written either.
    fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Kube(kube::Error::HyperError(_) | kube::Error::Service(_))
        )
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Kube(error)
    }
}

/// The reason why the operator could not start, or had to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fatal {
    /// The process runs neither in a cluster nor with a usable kubeconfig.
    #[error("no usable cluster configuration: {}", chain_message(.0))]
    NoCluster(Box<kube::config::InferConfigError>),
    /// No client could be created from the configuration.
    #[error("cannot make a client: {}", client_message(.0))]
    Client(Box<kube::Error>),
    /// The log filter is invalid.
    #[error("the log filter {filter:?} is not valid: {reason}")]
    LogFilter {
        /// The given filter.
        filter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Traces cannot be exported; the environment's `OTEL_` variables may be wrong.
    #[cfg(feature = "otel")]
    #[error("cannot export traces: {0}")]
    Traces(String),
    /// The CRDs of [`Controllers::ensure_crds`](crate::Controllers::ensure_crds) are not a JSON array.
    #[error("the CRDs to ensure are not valid: {0}")]
    Crds(String),
    /// The operator's CRD lacks a version that stored objects may have.
    #[error(
        "cannot update the CRD {name}: stored objects may have version {version} (status.storedVersions), which the operator's CRD lacks; migrate the objects to another version and remove {version} from status.storedVersions, or keep the version in the CRD with `served: false`"
    )]
    StoredVersion {
        /// The name of the CRD.
        name: String,
        /// The version that would be removed.
        version: String,
    },
    /// Another CRD of the group uses a name of this one.
    #[error(
        "the names of the CRD {name} are not accepted: {reason}; rename the kind, or delete the other CRD"
    )]
    CrdNames {
        /// The name of the CRD.
        name: String,
        /// The message of the condition `NamesAccepted`.
        reason: String,
    },
    /// A hook of [`Operator::on_start`](crate::Operator::on_start) or [`Operator::on_stop`](crate::Operator::on_stop) has failed for good.
    #[error("the hook {name:?} has failed: {error}")]
    Hook {
        /// The name of the hook.
        name: String,
        /// The error of its last attempt.
        error: Box<Error>,
    },
    /// The lease duration must be longer than the renew deadline, which must be longer than the retry period.
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
    /// A certificate of webhooks would expire before it can be renewed, or in the far future.
    #[cfg(feature = "webhook")]
    #[error("--webhook-certificate-lifetime must be between 10s and 87600h, not {0:?}")]
    WebhookCertificateLifetime(Duration),
    /// An address of the settings cannot be used.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// `--http-address`, `--metrics-address` or `--webhook-address`.
        address: SocketAddr,
        /// The reason.
        source: std::io::Error,
    },
    /// A kind has more than one controller without a name, in the same or different versions: they would revert each other's writes, and
    /// share a finalizer.
    #[error("two controllers are registered for {kind}\nhelp: {help}")]
    TwoControllers {
        /// The kind and its group, for example `Memcached.cache.example.com`.
        kind: String,
        /// How to fix it.
        help: &'static str,
    },
    /// Two controllers of a kind use the same finalizer.
    #[error(
        "the controllers {:?} and {:?} of {kind} have the same finalizer {finalizer}: the first one that has cleaned up would remove it for both\nhelp: {help}", .controllers[0], .controllers[1]
    )]
    SharedFinalizer {
        /// The kind and its group, for example `Memcached.cache.example.com`.
        kind: String,
        /// The names of the controllers.
        controllers: [String; 2],
        /// The finalizer.
        finalizer: String,
        /// How to fix it.
        help: String,
    },
    /// Two controllers have the same name.
    #[error("two controllers are named {name:?}\nhelp: give one of them another name")]
    TwoNames {
        /// The name.
        name: String,
    },
    /// A controller's name is not a DNS label.
    #[error(
        "{name:?} cannot be the name of a controller\nhelp: use lower-case letters, digits and `-`, at most 63, as in `pod-printer`"
    )]
    ControllerName {
        /// The name as it was given.
        name: String,
    },
    /// A controller's setup failed.
    #[error("cannot set up a controller: {0}")]
    Setup(Box<Error>),
    /// The setup of webhooks failed.
    #[cfg(feature = "webhook")]
    #[error("cannot set up the webhooks {}: {source}", .paths.join(", "))]
    WebhookSetup {
        /// The paths of the webhooks.
        paths: Vec<String>,
        /// The reason.
        source: Box<Error>,
    },
    /// Two webhooks have the same path.
    #[cfg(feature = "webhook")]
    #[error(
        "two webhooks have the path {path}\nhelp: remove one, or give it another path in its configuration too"
    )]
    TwoWebhooks {
        /// The path.
        path: String,
    },
    /// The path of a webhook is not valid.
    #[cfg(feature = "webhook")]
    #[error(
        "a webhook cannot have the path {path:?}\nhelp: a path begins with a slash, and /convert is that of conversions"
    )]
    WebhookPath {
        /// The path.
        path: String,
    },
    /// The certificate of the webhooks is read from files, but the settings have no folder for them.
    #[cfg(feature = "webhook")]
    #[error(
        "the webhooks have no certificate\nhelp: mount the Secret of the certificate, and set --webhook-certificates to its folder"
    )]
    NoWebhookCertificates,
    /// No certificate can be issued for the URL of the webhooks.
    #[cfg(feature = "webhook")]
    #[error("no certificate can be issued for the webhooks: {0}")]
    WebhookUrl(String),
    /// Two conversions are registered for one CRD.
    #[cfg(feature = "webhook")]
    #[error("two conversions convert {crd}\nhelp: remove one")]
    TwoConversions {
        /// The name of the CRD.
        crd: String,
    },
    /// The rules of a conversion are wrong, so no object could be converted.
    #[cfg(feature = "webhook")]
    #[error("{problem}")]
    Conversion {
        /// The CRD, the version, and what is wrong.
        problem: String,
    },
    /// Another replica has taken the lease, or it could not be renewed in time.
    #[error("lost the lease {lease}: {reason}")]
    LeaseLost {
        /// The name of the lease.
        lease: String,
        /// How it was lost.
        reason: String,
    },
    /// A task of the runtime ended unexpectedly.
    #[error("a task ended early: {0}")]
    Task(String),
    /// A second signal requested to stop immediately.
    #[error("stopped by a second signal, before work in flight was done")]
    Interrupted,
}

/// Whether the API server rejected a request with one of these codes.
pub(crate) fn has_code(error: &kube::Error, codes: &[u16]) -> bool {
    matches!(error, kube::Error::Api(refused) if codes.contains(&refused.code))
}

/// Whether a request failed because its object, or the subresource of a custom object, does not exist. For a missing kind, the response is
/// also 404, but without the name of an object.
pub(crate) fn is_gone(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let details = status.details.as_ref();
    status.code == 404 && details.is_some_and(|details| !details.name.is_empty())
}

/// The message of a client error, without the `Status` that kube prints after the message.
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

/// The message of a panic.
pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(|text| &**text))
        .unwrap_or("no message")
}

/// The message of an error without its sources.
fn one_message(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => status_message(status),
        _ => error.to_string(),
    }
}

/// The message and the code of a status, without the port from which the API server called a webhook: so equal failures have equal messages
/// in conditions and events.
fn status_message(status: &kube::core::Status) -> String {
    let message = status
        .message
        .split(' ')
        .map(|word| match word.split_once("->") {
            Some((from, to)) if from.parse::<SocketAddr>().is_ok() => to,
            _ => word,
        })
        .collect::<Vec<_>>()
        .join(" ");
    format!("{message} ({})", status.code)
}

/// Formats the error of a watch, without the `Status` that kube repeats.
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
