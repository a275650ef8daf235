//! Rust as the tool writes it: keywords, the names and the order of modules, and the layout of code. No I/O.

pub mod code;
mod keyword;
mod module;
mod order;

pub use keyword::is_keyword;
pub use module::{USED_MODULES, module_name, version_module};
pub use order::version_order;
