//! The failure of a command: the reports of its errors, and the exit code.

use std::fmt::Display;

use super::{Location, Report};

/// How a command ended, as the exit code of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Clean = 0,
    /// The project is not up to date, or an edit of the user conflicts with it; or the operator cannot be uninstalled yet.
    Drift = 1,
    /// Wrong usage, invalid input, or an I/O error.
    Usage = 2,
    /// A breaking change of a CRD that was not allowed.
    Breaking = 3,
}

/// An error that ends a command.
pub trait Explain: Display {
    /// What the user can do about the error; may be empty.
    fn help(&self) -> String;

    fn exit(&self) -> Exit {
        Exit::Usage
    }

    /// The report of the error, with its code and location if it has them.
    fn report(&self) -> Report {
        Report::error(self.to_string(), self.help())
    }
}

/// The reasons why a command failed: several if several inputs are invalid.
#[derive(Debug)]
pub struct Failure {
    pub reports: Vec<Report>,
    pub exit: Exit,
}

impl Failure {
    pub fn of(reports: Vec<Report>) -> Self {
        Self {
            reports,
            exit: Exit::Usage,
        }
    }

    /// The failure of one error, at a location that the error itself does not contain.
    pub fn at(location: Option<Location>, error: &impl Explain) -> Self {
        Self::of(vec![Report {
            location,
            ..error.report()
        }])
    }
}

impl<E: Explain> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            reports: vec![error.report()],
            exit: error.exit(),
        }
    }
}

impl<E: Explain> From<Vec<E>> for Failure {
    fn from(errors: Vec<E>) -> Self {
        Self::of(errors.iter().map(E::report).collect())
    }
}
