//! Why a project cannot be rendered.

use crate::project::ResourceError;

/// Why a project cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    #[error(transparent)]
    Resource(#[from] ResourceError),
    #[error(transparent)]
    Manifests(#[from] crate::package::Error),
    #[error(
        "operator.toml names the version `{version}` of {kind}, and its spec has no such version"
    )]
    Version { kind: String, version: String },
}

impl RenderError {
    pub fn help(&self) -> String {
        match self {
            Self::Resource(error) => error.help(),
            Self::Manifests(_) => "please report it: this is an error of cargo-operator".into(),
            Self::Version { .. } => "take it out of `versions` in operator.toml".into(),
        }
    }
}
