//! Reads CustomResourceDefinitions: text in, [`Api`] values or errors with file and line out. No I/O.

mod add_version;
mod alias;
mod api;
mod compose;
mod definition;
mod document;
mod live;
mod position;
mod problem;
mod read;
mod refused;
mod scalar;
mod unique;
mod yaml11;

pub use add_version::{AddVersionError, NewVersion, add_version};
pub use api::{Api, Conversion, Deprecation, PrinterColumn, Scope, Version};
pub use position::keyword;
pub use problem::{NameRule, Problem, ReadError};
pub use read::{has_other_content, read, values};
