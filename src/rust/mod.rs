//! The keywords of Rust, and the names of generated modules. No I/O.

mod keyword;
mod module;

pub use keyword::is_keyword;
pub use module::{USED_MODULES, module_name, version_module};
