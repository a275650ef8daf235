//! Runs cargo in the projects that tests create.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::{env, fs, path::Path, process::Command};

/// Cargo without the variables in which the cargo that runs this test describes the test's package. The build script of ring depends on
/// some of them: it would run again here, and again in the next build outside of a test, and each time all that needs ring would be
/// compiled again.
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

/// A profile of this workspace that projects do not have. Without it, the dependency would be compiled again.
const PROFILE: &str = "\n[profile.dev.package.granit-parser]\nopt-level = 1\n";

/// Does what `tests/cargo/share` does, without a shell: the project is built with the dependencies of this workspace, which are already
/// compiled.
pub fn share(project: &Path) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = project.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let (before, after) = text.split_once("[dependencies]\n").unwrap();
    let features = repository
        .join("tests/cargo/workspace-features")
        .display()
        .to_string();
    let text = format!(
        "{before}[dependencies]\nworkspace-features = {{ path = {features:?} }}\n{after}{PROFILE}"
    );
    fs::write(&manifest, text).unwrap();
    fs::copy(repository.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
}
