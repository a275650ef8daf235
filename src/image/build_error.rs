//! The errors of a build.

use std::{io, path::PathBuf};

use super::{Platform, elf::ElfError, target::linker_variable};
use crate::diagnostic::Explain;

/// Why a binary for an image could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// This machine has an architecture that no image has.
    #[error("an image can't have the architecture of this machine, {0}")]
    Host(&'static str),
    #[error("the Rust target {0} is not installed")]
    Target(&'static str),
    #[error("nothing can link for {0}: there is no cargo-zigbuild, and {variable} is not set", variable = linker_variable(*.0))]
    Linker(Platform),
    #[error("{program} can't be started: {source}")]
    Program {
        program: &'static str,
        source: io::Error,
    },
    #[error("rustc failed: {0}")]
    Rustc(String),
    #[error("cargo metadata: {0}")]
    Metadata(#[from] cargo_metadata::Error),
    #[error("{} is no package", .0.display())]
    NoPackage(PathBuf),
    /// Cargo has printed the reason.
    #[error("cargo did not build `{name}` for {target}")]
    Cargo {
        name: String,
        target: &'static str,
        /// Whether cargo-zigbuild was used.
        zigbuild: bool,
    },
    #[error("{} can't be read: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} can't be in an image: {source}", .path.display())]
    Binary { path: PathBuf, source: ElfError },
}

const ZIGBUILD: &str = "`pip install cargo-zigbuild`, which also installs zig";

impl Explain for BuildError {
    fn help(&self) -> String {
        match self {
            Self::Host(_) => "choose a platform, such as `--platform linux/amd64`".into(),
            Self::Target(target) => format!("`rustup target add {target}`"),
            Self::Linker(platform) => format!(
                "{ZIGBUILD}, or set {} to a linker and CC_{} to a C compiler",
                linker_variable(*platform),
                platform.target().replace('-', "_")
            ),
            Self::Program { program, .. } => format!("install {program}, or add it to PATH"),
            Self::Rustc(_) => "check the toolchain: `rustc -vV` in the folder of the project".into(),
            Self::Metadata(_) => {
                "fix Cargo.toml; if Cargo.lock is missing or old, `cargo update --workspace` writes it".into()
            }
            Self::NoPackage(_) => "name the folder of the operator with --manifest-path".into(),
            Self::Cargo { zigbuild: true, .. } => {
                "fix the errors above; if zig is missing, `pip install ziglang`".into()
            }
            Self::Cargo { .. } => format!(
                "fix the errors above; if a C compiler for musl is missing, {ZIGBUILD}, or install musl-gcc (Debian: musl-tools)"
            ),
            Self::Read { .. } => "check the path and its permissions".into(),
            Self::Binary { source: ElfError::Dynamic(_), .. } => {
                "remove `-C target-feature=-crt-static` from the flags of rustc".into()
            }
            Self::Binary { .. } => "check the linker that cargo uses".into(),
        }
    }
}
