//! The failure of a command: reports with location and help, and the exit code. All errors of the stages are converted to it.

use std::ops::Range;

use crate::{
    config::ConfigError,
    crd::ReadError,
    dev::DevError,
    diagnostic::{Location, Report},
    disk::DiskError,
    image::{BuildError, CreatedError, CredentialsError, OutputError, PushError, ReferenceError},
    operator::ResourceError,
    plan::{LockError, ResolutionError},
    uninstall::UninstallError,
};

use super::{Exit, kind_error::KindError, origin::OriginError, workspace::WorkspaceError};

/// The reasons why a command failed: several if several inputs are invalid.
#[derive(Debug)]
pub struct Failure {
    pub reports: Vec<Report>,
    pub exit: Exit,
}

impl Failure {
    /// The errors of the config, with their places in its text.
    pub fn config(errors: &[ConfigError], path: &str, text: &str) -> Self {
        let report = |error: &ConfigError| Report {
            location: error.range(text).map(|it| Location::new(path, 1, text, it)),
            ..Report::error(&error.message, &error.help)
        };
        Self::of(errors.iter().map(report).collect())
    }

    /// An error with its place in a text, if it has one.
    pub fn within(report: Report, path: &str, text: &str, range: Option<Range<usize>>) -> Self {
        let location = range.map(|range| Location::new(path, 1, text, range));
        Self::of(vec![Report { location, ..report }])
    }

    pub fn of(reports: Vec<Report>) -> Self {
        Self {
            reports,
            exit: Exit::Usage,
        }
    }
}

impl From<Vec<ReadError>> for Failure {
    fn from(errors: Vec<ReadError>) -> Self {
        Self::of(errors.into_iter().map(ReadError::report).collect())
    }
}

/// Of a config that a command has changed: its places are not in the text on the disk.
impl From<Vec<ConfigError>> for Failure {
    fn from(errors: Vec<ConfigError>) -> Self {
        let reports = errors.iter().map(|it| Report::error(&it.message, &it.help));
        Self::of(reports.collect())
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Self {
        Self {
            exit: match error {
                DiskError::Interrupted { .. } => Exit::Drift,
                _ => Exit::Usage,
            },
            reports: vec![Report::error(error.to_string(), error.help())],
        }
    }
}

macro_rules! from {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::of(vec![Report::error(error.to_string(), error.help())])
            }
        }
    )*};
}

from!(
    BuildError,
    CreatedError,
    CredentialsError,
    DevError,
    KindError,
    LockError,
    OriginError,
    OutputError,
    PushError,
    ReferenceError,
    ResolutionError,
    ResourceError,
    UninstallError,
    WorkspaceError
);
