//! Rust's words, and the names that the generated modules have. No io.

mod keyword;
mod module;

pub use keyword::is_keyword;
pub use module::{USED_MODULES, module_name, version_module};
