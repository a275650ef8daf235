//! The errors of rendering a project.

use crate::{
    diagnostic::Explain,
    operator::{AdmissionError, ConversionError, ResourceError},
};

/// Why a project cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    #[error(transparent)]
    Resource(#[from] ResourceError),
    #[error(transparent)]
    Admission(Box<AdmissionError>),
    #[error(transparent)]
    Conversion(Box<ConversionError>),
    #[error(transparent)]
    Manifests(#[from] crate::package::Error),
    #[error(
        "operator.toml names the version `{version}` of {kind}, but its spec has no such version"
    )]
    Version { kind: String, version: String },
    #[error("OLM installs an operator that converts objects for all namespaces only")]
    OlmConversion,
}

impl From<AdmissionError> for RenderError {
    fn from(error: AdmissionError) -> Self {
        Self::Admission(Box::new(error))
    }
}

impl From<ConversionError> for RenderError {
    fn from(error: ConversionError) -> Self {
        Self::Conversion(Box::new(error))
    }
}

impl Explain for RenderError {
    fn help(&self) -> String {
        match self {
            Self::Resource(error) => error.help(),
            Self::Admission(error) => error.help(),
            Self::Conversion(error) => error.help(),
            Self::Manifests(_) => "this is a bug in cargo-operator; please report it".into(),
            Self::OlmConversion => {
                "write `namespaces = \"all\"`, because all namespaces share the CRDs; or remove \"olm\" from `packaging`".into()
            }
            Self::Version { .. } => "remove it from `versions` in operator.toml".into(),
        }
    }
}
