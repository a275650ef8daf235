//! What can go wrong outside the code under test.

use std::path::{Path, PathBuf};

/// Why a server did not start, or did not take what was to be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `OPERATOR_TEST_SERVER` is set to something else.
    #[error("OPERATOR_TEST_SERVER is {0:?}; it may be `memory`, `assets` or `kubeconfig`")]
    Mode(String),
    /// A server of one's own needs its programs.
    #[error(
        "OPERATOR_TEST_SERVER=assets needs KUBEBUILDER_ASSETS, a folder with etcd, kube-apiserver and kube-controller-manager"
    )]
    NoAssets,
    /// One of them did not start, or ended.
    #[error("{program} did not start; the end of its log:\n{log}")]
    Program {
        /// Its file name.
        program: &'static str,
        /// The last lines that it wrote.
        log: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A text is no YAML.
    #[error("not YAML: {0}")]
    Yaml(#[from] serde_yaml::Error),
    /// A document is no object of Kubernetes.
    #[error("a document has no {0}: {1}")]
    Document(&'static str, String),
    /// A sample is one object.
    #[error(
        "it has {0} objects, but a sample is one object\nhelp: move the objects that it refers to into a file in tests/fixtures/"
    )]
    NotOneObject(usize),
    /// Something is wrong with the objects of a file.
    #[error("{path}: {source}")]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: Box<Error>,
    },
    /// A kustomization wants more than reading files.
    #[error(
        "{path}: `{key}` is not supported here; install the output of `kubectl kustomize` instead"
    )]
    Kustomization {
        /// The kustomization.
        path: PathBuf,
        /// Its unsupported key.
        key: String,
    },
    /// Nothing serves objects of this kind.
    #[error(
        "the server has no kind {kind} in {api_version}; install its CustomResourceDefinition first"
    )]
    Kind {
        /// As in the document.
        api_version: String,
        /// As in the document.
        kind: String,
    },
    /// A cluster that is not ours has the object already.
    #[error(
        "{0} is already on this cluster, and tests change only what they created; use another cluster, or remove it"
    )]
    Taken(String),
    /// A definition was not taken.
    #[error("the CustomResourceDefinition {0} was not established in time")]
    NotEstablished(String),
    /// The server refused a request.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// The current context cannot be used.
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
