//! The errors that prevent a session from starting or continuing.

use std::{io, path::PathBuf};

use operator_schema::dev::VERSION;

use crate::diagnostic::Explain;

/// The reason why a session could not start or continue.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// The server could not start.
    #[error("{why}")]
    Server {
        /// The reason.
        why: String,
        /// The help for the user.
        help: String,
    },
    /// The server speaks another version of the protocol.
    #[error(
        "the API server of the project has version {0} of the protocol, and this tool {VERSION}"
    )]
    ServerVersion(u32),
    /// The program prints something else.
    #[error("tests/dev.rs is not the API server of a session: it prints {0:?}")]
    NotAServer(String),
    /// The server exited by itself.
    #[error("the API server ended, {0}")]
    ServerEnded(String),
    /// The package has no server.
    #[error("the package {0} has no test target `dev`, which is the API server")]
    NoServer(String),
    /// Cargo could not describe the package.
    #[error("cargo metadata: {0}")]
    Metadata(#[from] cargo_metadata::Error),
    /// The package has no binary.
    #[error("the package {0} has no binary to run")]
    NoBinary(String),
    /// The package has several binaries.
    #[error("the package {package} has several binaries: {names}")]
    Binaries {
        /// The name of the package.
        package: String,
        /// The names of the binaries.
        names: String,
    },
    /// Changes of files cannot be watched.
    #[error("{path} can't be watched: {source}")]
    Watch {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        source: notify::Error,
    },
    /// A program could not be started.
    #[error("{program} can't be started: {source}")]
    Program {
        /// The path or name of the program.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another session uses the folder for the kubeconfigs.
    #[error("another session of this project is running: {} is locked", .0.display())]
    Busy(PathBuf),
    /// An I/O error for a file or folder.
    #[error("{path}: {source}")]
    File {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Signals, timers or threads could not be set up.
    #[error("the session can't run: {0}")]
    Runtime(#[from] io::Error),
}

impl Explain for DevError {
    fn help(&self) -> String {
        match self {
            Self::Server { help, .. } => help.clone(),
            Self::ServerVersion(_) => {
                "install the release of cargo-operator that `tool` in operator.toml names, or run `cargo operator regenerate` and `cargo update operator-testing`".into()
            }
            Self::NotAServer(_) | Self::NoServer(_) => {
                "`cargo operator regenerate --reset tests/dev.rs` writes the file again; its target in Cargo.toml is a [[test]] with `name = \"dev\"`, `path = \"tests/dev.rs\"`, `harness = false` and `test = false`".into()
            }
            Self::ServerEnded(_) => "it printed the reason, if there is one; start the session again".into(),
            Self::Runtime(_) => "try again".into(),
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
