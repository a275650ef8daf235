//! The errors that prevent a session from starting.

use std::{io, path::PathBuf};

use operator_testing::http;

/// Why a session could not begin, or go on.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// The server in memory did not start.
    #[error("the API server in memory: {0}")]
    Server(#[from] http::Error),
    /// No kubeconfig, or none that is of use.
    #[error("the current kubeconfig can't be used: {0}")]
    Kubeconfig(String),
    /// Cargo could not say what the project is made of.
    #[error("cargo metadata: {0}")]
    Metadata(#[from] cargo_metadata::Error),
    /// A library.
    #[error("the package {0} has no binary to run")]
    NoBinary(String),
    /// Which one is the operator?
    #[error("the package {package} has several binaries: {names}")]
    Binaries {
        /// Its name.
        package: String,
        /// Theirs.
        names: String,
    },
    /// Changes of files can't be noticed.
    #[error("{path} can't be watched: {source}")]
    Watch {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: notify::Error,
    },
    /// A program did not start.
    #[error("{program} can't be started: {source}")]
    Program {
        /// Its path or name.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// Another session has the folder in which this one would keep its kubeconfigs.
    #[error("another session of this project is running: {} is locked", .0.display())]
    Busy(PathBuf),
    /// A file or folder.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Signals, timers, threads.
    #[error("the session can't run: {0}")]
    Runtime(#[from] io::Error),
}

impl DevError {
    /// What the user can do.
    pub fn help(&self) -> String {
        match self {
            Self::Server(_) | Self::Runtime(_) => "try again".into(),
            Self::Kubeconfig(_) => {
                "`kubectl config current-context` shows the context in use; without --cluster, no cluster is needed".into()
            }
            Self::Metadata(_) => "fix Cargo.toml, and try `cargo metadata`".into(),
            Self::NoBinary(_) => "`cargo operator init` creates src/main.rs".into(),
            Self::Binaries { .. } => {
                "choose one with `--bin NAME`, or set `default-run` in Cargo.toml".into()
            }
            Self::Watch { .. } => {
                "on Linux, `sysctl fs.inotify.max_user_watches` limits how many folders can be watched".into()
            }
            Self::Program { .. } => "check that it exists and that you may run it".into(),
            Self::Busy(_) => "stop it with Ctrl-C; both would watch the same files".into(),
            Self::File { .. } => "check that you may write there".into(),
        }
    }
}
