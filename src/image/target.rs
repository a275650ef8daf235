//! Finds what can build a binary for a platform on this machine: the installed targets of Rust, and a linker.

#![allow(
    clippy::disallowed_methods,
    reason = "what is installed decides what can be built"
)]

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use super::{BuildError, Platform};

/// How cargo links for a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linker {
    /// `cargo zigbuild`, which compiles and links C for any platform.
    Zigbuild,
    /// `cargo build`, with the linker of the user or of this machine.
    Cargo,
}

/// The installed Rust.
pub struct Toolchain {
    /// The sources of the standard library, which may be missing.
    pub sources: PathBuf,
    /// The commit of the compiler.
    pub commit: String,
}

impl Toolchain {
    pub fn of(root: &Path) -> Result<Self, BuildError> {
        let sysroot = rustc(root, &["--print", "sysroot"])?;
        let version = rustc(root, &["-vV"])?;
        let commit = version
            .lines()
            .find_map(|line| line.strip_prefix("commit-hash: "));
        Ok(Self {
            sources: Path::new(sysroot.trim()).join("lib/rustlib/src/rust"),
            commit: commit.unwrap_or("unknown").to_owned(),
        })
    }
}

/// The variable that names cargo's linker for a platform.
pub fn linker_variable(platform: Platform) -> String {
    let target = platform.target().to_uppercase().replace('-', "_");
    format!("CARGO_TARGET_{target}_LINKER")
}

/// How to build for a platform in the folder `root`, where `rust-toolchain.toml` may select another toolchain.
pub fn linker(root: &Path, platform: Platform) -> Result<Linker, BuildError> {
    let target = platform.target();
    let library = rustc(root, &["--print", "target-libdir", "--target", target])?;
    if !Path::new(library.trim()).exists() {
        return Err(BuildError::Target(target));
    }
    if has_zigbuild() {
        return Ok(Linker::Zigbuild);
    }
    let is_set = env::var_os(linker_variable(platform)).is_some();
    if is_set || platform.is_native() {
        Ok(Linker::Cargo)
    } else {
        Err(BuildError::Linker(platform))
    }
}

/// The folder of cargo's programs and downloads.
pub fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".cargo")))
}

/// Whether cargo finds its subcommand `zigbuild`.
fn has_zigbuild() -> bool {
    let program = format!("cargo-zigbuild{}", env::consts::EXE_SUFFIX);
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(cargo_home().map(|home| home.join("bin")))
        .any(|folder| folder.join(&program).is_file())
}

fn rustc(root: &Path, args: &[&str]) -> Result<String, BuildError> {
    let program = "rustc";
    let output = Command::new(program).args(args).current_dir(root).output();
    let output = output.map_err(|source| BuildError::Program { program, source })?;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(BuildError::Rustc(text(&output.stderr).trim().to_owned()))
    }
}
