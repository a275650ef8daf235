//! Reads the record of `cargo install` about installed programs.

use std::{env, fs, path::Path};

/// The file name of this program, and the record of its installation folder; `None` if cargo did not install it.
pub fn install_record() -> (String, Option<String>) {
    let program = env::current_exe().and_then(|path| path.canonicalize());
    let program = program.unwrap_or_default();
    let name = program.file_name().unwrap_or_default();
    let root = program.parent().and_then(Path::parent);
    let record = root.and_then(|root| fs::read_to_string(root.join(".crates2.json")).ok());
    (name.to_string_lossy().into_owned(), record)
}
