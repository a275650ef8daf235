//! The code that converts between the versions of a kind: the builder calls for what follows from the schemas, and the user's file for the
//! rest. Values in, texts out.

mod answer;
mod files;
mod only;
mod statement;

pub use files::{
    Converted, SpokeAnswers, conversion_files, conversion_tests, conversions, versions_path,
};
pub use only::{FieldWithoutTarget, KeptField};
