//! A copy of a project's code for cargo, which shares what the project has compiled.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tempfile::TempDir;
use tokio::time::Instant;

use super::{
    device::Device,
    error::DiskError,
    group::{self, Ended},
    install::text_in,
    program::cargo,
    root::Root,
    workspace::package_in,
};

/// A copy of a project in a temporary folder, without its build output.
pub struct Scratch {
    /// The project.
    root: PathBuf,
    copy: Root,
    /// Contains the copy and cargo's output for it, except for the dependencies in `build`; deleted when this is dropped.
    folder: TempDir,
    target: PathBuf,
    build: PathBuf,
    command: &'static str,
    deadline: Instant,
}

impl Scratch {
    /// Creates the copy, whose checks must end within `limit`. Returns `None` if there is no cargo, or the folder is not a package.
    pub fn new(project: &Root, manifest: &str, limit: Duration) -> Option<Self> {
        let deadline = Instant::now() + limit;
        let root = std::path::absolute(project.path()).ok()?;
        let metadata = cargo_metadata::MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .no_deps()
            .other_options(["--offline".to_owned()])
            .exec()
            .ok()?;
        let package = package_in(&metadata, &root)?;
        // cargo before 1.91 has only one folder
        let build = metadata.build_directory.as_ref();
        let build: PathBuf = build.unwrap_or(&metadata.target_directory).into();
        let folder = tempfile::Builder::new()
            .prefix("cargo-operator-")
            .tempdir()
            .ok()?;
        let copy = Root::open(&folder.path().join("copy")).ok()?;
        copy.create().ok()?;
        let scratch = Self {
            command: command(&build, &package.name),
            target: metadata.target_directory.into(),
            root,
            copy,
            folder,
            build,
            deadline,
        };
        scratch.copy(project, Path::new("")).ok()?;
        scratch.write("Cargo.toml", Some(manifest)).ok()?;
        // the lock file of a member is that of its workspace
        let lock = text_in(metadata.workspace_root.as_std_path(), "Cargo.lock");
        scratch.write("Cargo.lock", lock.as_deref()).ok()?;
        Some(scratch)
    }

    /// Writes a file, or removes it.
    pub fn write(&self, path: &str, text: Option<&str>) -> io::Result<()> {
        let path = Path::new(path);
        if self.copy.has(path) {
            self.copy.remove_file(path)?;
        }
        let Some(text) = text else { return Ok(()) };
        self.copy.create_folders(path.parent().unwrap_or(path))?;
        self.copy.write(path, text.as_bytes(), None)
    }

    /// Copies the source code: no hidden folders, no build output.
    fn copy(&self, project: &Root, folder: &Path) -> Result<(), DiskError> {
        for (name, kind) in project.entries(folder)? {
            let path = folder.join(&name);
            let is_hidden = name.to_string_lossy().starts_with('.');
            if is_hidden || self.root.join(&path) == self.target || name == "target" {
                continue;
            }
            // a link to a folder could lead back
            if kind.is_dir() {
                self.copy(project, &path)?;
            } else if let Ok(Some(bytes)) = project.bytes(&path) {
                let write = self.copy.create_folders(folder);
                write
                    .and_then(|()| self.copy.write(&path, &bytes, None))
                    .map_err(DiskError::at(&path))?;
            }
        }
        Ok(())
    }

    /// Compiles the copy. The output is the compiler's messages as JSON; empty if cargo itself failed.
    pub fn check(&self) -> io::Result<Ended> {
        let mut cargo = cargo();
        cargo
            .args([self.command, "--all-targets"])
            .args(["--offline", "--keep-going", "--message-format=json"])
            .arg("--manifest-path")
            .arg(self.copy.join("Cargo.toml"))
            // cargo reads its configuration from this folder and those above it
            .current_dir(&self.root)
            // a target folder of its own, so that the user's programs are not replaced
            .env("CARGO_TARGET_DIR", self.folder.path().join("target"))
            .env("CARGO_BUILD_BUILD_DIR", &self.build)
            .env("CARGO_INCREMENTAL", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        group::run(cargo, self.deadline)
    }
}

/// The command of cargo for which the dependencies are already built, because `cargo check` and `cargo test` do not share their output.
fn command(build: &Path, package: &str) -> &'static str {
    let folder = Root::open(&build.join("debug/deps"));
    let entries = folder.and_then(|folder| folder.entries(Path::new("")));
    let start = format!("lib{}-", package.replace('-', "_"));
    let names = entries.unwrap_or_default().into_iter();
    let names: Vec<PathBuf> = names.map(|(name, _)| name.into()).collect();
    let is_library = |name: &&PathBuf| {
        let is_of_package = name.to_string_lossy().starts_with(&start);
        is_of_package && name.extension().is_some_and(|it| it == "rmeta")
    };
    let mut libraries = names.iter().filter(is_library).peekable();
    let is_built = libraries.peek().is_some()
        && libraries.all(|name| names.contains(&name.with_extension("rlib")));
    if is_built { "build" } else { "check" }
}
