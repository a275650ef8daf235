//! The errors that prevent a session from starting.

use std::io;
use std::path::PathBuf;

use operator_schema::dev::Message;

use crate::http;

/// The reason why the program could not start.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// The server in memory did not start.
    #[error("the API server in memory: {0}")]
    Server(#[from] http::Error),
    /// There is no usable kubeconfig.
    #[error("the current kubeconfig can't be used: {0}")]
    Kubeconfig(String),
    /// An I/O error for a file or folder.
    #[error("{path}: {source}")]
    File {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Ports, certificates or threads could not be set up.
    #[error("the session can't run: {0}")]
    Runtime(#[from] io::Error),
}

impl DevError {
    fn help(&self) -> &'static str {
        match self {
            Self::Server(_) | Self::Runtime(_) => "try again",
            Self::Kubeconfig(_) => {
                "`kubectl config current-context` shows the context in use; without --cluster, no cluster is needed"
            }
            Self::File { .. } => "check that you may write there",
        }
    }

    pub fn message(&self) -> Message {
        Message::Failed {
            why: self.to_string(),
            help: self.help().to_owned(),
        }
    }
}
