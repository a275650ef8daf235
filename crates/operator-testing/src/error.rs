//! Errors outside the code under test.

use std::path::{Path, PathBuf};

/// Why a server could not be started, or objects could not be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `OPERATOR_TEST_SERVER` has an unknown value.
    #[error("OPERATOR_TEST_SERVER is {0:?}; it may be `memory`, `assets` or `kubeconfig`")]
    Mode(String),
    /// `KUBEBUILDER_ASSETS`, the folder with the server's binaries, is not set.
    #[error(
        "OPERATOR_TEST_SERVER=assets needs KUBEBUILDER_ASSETS, a folder with etcd, kube-apiserver and kube-controller-manager"
    )]
    NoAssets,
    /// One of the binaries did not start, or exited.
    #[error("{program} did not start; the end of its log:\n{log}")]
    Program {
        /// The file name of the binary.
        program: &'static str,
        /// The last lines that it printed.
        log: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A text is not valid YAML.
    #[error("not YAML: {0}")]
    Yaml(#[from] serde_yaml::Error),
    /// A document is not a Kubernetes object.
    #[error("a document has no {0}: {1}")]
    Document(&'static str, String),
    /// A sample must be exactly one object.
    #[error(
        "it has {0} objects, but a sample is one object\nhelp: move the objects that it refers to into a file in tests/fixtures/"
    )]
    NotOneObject(usize),
    /// An error about an object of a file.
    #[error("{path}: {source}")]
    InFile {
        /// The path of the file.
        path: PathBuf,
        /// The error.
        source: Box<Error>,
    },
    /// A kustomization has a key that is not supported.
    #[error(
        "{path}: `{key}` is not supported here; install the output of `kubectl kustomize` instead"
    )]
    Kustomization {
        /// The path of the kustomization.
        path: PathBuf,
        /// The unsupported key.
        key: String,
    },
    /// A patch of a kustomization cannot be applied.
    #[error(
        "{path}: a patch: {problem}\nhelp: install the output of `kubectl kustomize` instead, if it renders there"
    )]
    Patch {
        /// The path of the kustomization.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The server does not serve this kind.
    #[error(
        "the server has no kind {kind} in {api_version}; install its CustomResourceDefinition first"
    )]
    Kind {
        /// The `apiVersion` of the object.
        api_version: String,
        /// The `kind` of the object.
        kind: String,
    },
    /// The object exists already on a cluster that is not private to the test.
    #[error(
        "{0} is already on this cluster, and tests change only what they created; use another cluster, or remove it"
    )]
    Taken(String),
    /// A CRD was not established.
    #[error("the CustomResourceDefinition {0} was not established in time")]
    NotEstablished(String),
    /// A request failed, or the server rejected it.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// The current context of the kubeconfig cannot be used.
    #[error("the kubeconfig cannot be used: {0}")]
    Kubeconfig(String),
}

impl Error {
    pub(crate) fn in_file(self, path: &Path) -> Self {
        Self::InFile {
            path: path.to_owned(),
            source: Box::new(self),
        }
    }
}

/// A result with the [`Error`] of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
