//! An error as a command tells it: what, where, and a cure on a line of its own. All errors of the stages end here.

use std::fmt;

use crate::{
    crd::ReadError,
    disk::DiskError,
    project::{LockError, ResourceError, StateError},
    render::RenderError,
};

use super::kinds::KindError;

/// Why a command could not do its work; more than one where several inputs are wrong.
#[derive(Debug, Default)]
pub struct Failure(Vec<(String, String)>);

impl Failure {
    fn new(message: impl fmt::Display, help: impl Into<String>) -> Self {
        Self(vec![(message.to_string(), help.into())])
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (message, help) in &self.0 {
            writeln!(f, "error: {message}")?;
            if !help.is_empty() {
                writeln!(f, "  help: {help}")?;
            }
        }
        Ok(())
    }
}

impl From<Vec<ReadError>> for Failure {
    fn from(errors: Vec<ReadError>) -> Self {
        Self(
            errors
                .into_iter()
                .map(|error| (error.to_string(), error.problem.help()))
                .collect(),
        )
    }
}

macro_rules! from {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(&error, error.help())
            }
        }
    )*};
}

from!(
    DiskError,
    KindError,
    LockError,
    RenderError,
    ResourceError,
    StateError
);
