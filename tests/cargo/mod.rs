//! Cargo, as tests call it for projects that they make.

use std::{env, process::Command};

/// Cargo without the variables in which the cargo that runs this test describes the test's package. The build script of ring asks for some
/// of them: it would run again here and in the next build outside of a test, and all that needs ring be compiled again, twice.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO"));
    for (name, _) in env::vars_os() {
        let of_package = ["CARGO_PKG_", "CARGO_MANIFEST_"];
        let name = name.to_string_lossy();
        if of_package.iter().any(|start| name.starts_with(start)) {
            command.env_remove(&*name);
        }
    }
    command
}
