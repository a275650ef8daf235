//! The errors of an uninstallation.

use crate::diagnostic::Explain;

/// The reason why an uninstallation could not start or continue.
#[derive(Debug, thiserror::Error)]
pub enum UninstallError {
    /// There is no kubectl.
    #[error("kubectl can't be run: {0}")]
    Kubectl(std::io::Error),
    /// There is no usable kubeconfig.
    #[error("no usable kubeconfig: {0}")]
    Kubeconfig(String),
    /// The kubeconfig has no context of that name.
    #[error("the kubeconfig has no context `{name}`; it has {known}")]
    Context { name: String, known: String },
    /// The API server does not answer.
    #[error("{server} can't be reached: {why}")]
    Unreachable { server: String, why: String },
    /// The API server does not accept the credentials.
    #[error("{0} does not accept the credentials of the kubeconfig")]
    Unauthorized(String),
    /// The user lacks a permission.
    #[error("{action}: {message}")]
    Forbidden { action: String, message: String },
    /// A conversion webhook that does not answer.
    #[error("{action}: {message}")]
    Conversion { action: String, message: String },
    /// An API group of another server, which does not answer, so that its kinds are unknown.
    #[error("the kinds of the API group `{group}` can't be listed: {message}")]
    Group { group: String, message: String },
    /// Any other refusal of the API server.
    #[error("{action}: {message}")]
    Refused { action: String, message: String },
    /// The operator is installed in another namespace than the command looks in.
    #[error("{object} belongs to the operator in the namespace {found}, not in {assumed}")]
    Namespace {
        object: String,
        found: String,
        assumed: String,
    },
    /// A name that is not that of a CRD of the project.
    #[error("`{name}` is not a CRD that this project installs; {known}")]
    UnknownCrd { name: String, known: String },
}

impl Explain for UninstallError {
    fn help(&self) -> String {
        match self {
            Self::Kubectl(_) => {
                "install it, and put it on the PATH: https://kubernetes.io/docs/tasks/tools/".into()
            }
            Self::Kubeconfig(_) => {
                "set KUBECONFIG to its path; `kubectl config view` shows what is read".into()
            }
            Self::Context { .. } => "`kubectl config get-contexts` lists the contexts".into(),
            Self::Unreachable { .. } => {
                "check with `kubectl cluster-info` that the cluster runs, or choose another with --context".into()
            }
            Self::Unauthorized(_) => "log in again; `kubectl auth whoami` shows who you are".into(),
            Self::Forbidden { .. } => {
                "use a context with this permission, and run the command again: it continues where it stopped".into()
            }
            Self::Conversion { .. } => {
                "the objects of the CRD can be read only while the operator converts them: let it run, and try again".into()
            }
            Self::Group { .. } => {
                "`kubectl get apiservices` shows what is not available: repair or delete it, or keep the namespace by leaving out --delete-namespace".into()
            }
            Self::Refused { .. } => {
                "fix the cause, and run the command again: it continues where it stopped".into()
            }
            Self::Namespace { found, .. } => format!("the same command with `--namespace {found}`"),
            Self::UnknownCrd { .. } => "write the full name, as `kubectl get crds` prints it".into(),
        }
    }
}
