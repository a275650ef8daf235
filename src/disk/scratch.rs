//! A copy of a project's code for `cargo check`, which shares the project's target folder.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
};

use super::{
    device::Device, error::DiskError, install::text_in, program::cargo, root::Root,
    workspace::package_in,
};

/// A copy of a project, without its build output.
pub struct Scratch {
    /// The folder with the target folder, and the path of the copy in it: in the target folder, so that git ignores it.
    outer: Root,
    path: PathBuf,
    folder: Root,
    root: PathBuf,
    target: PathBuf,
    command: &'static [&'static str],
}

impl Scratch {
    /// Creates the copy. Returns `None` if cargo could not check it within seconds: there is no cargo, or the dependencies are not built.
    pub fn new(project: &Root, manifest: &str) -> Option<Self> {
        let root = std::path::absolute(project.path()).ok()?;
        let metadata = cargo_metadata::MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .no_deps()
            .other_options(["--offline".to_owned()])
            .exec()
            .ok()?;
        let package = package_in(&metadata, &root)?;
        let name = package.name.replace('-', "_");
        let target: PathBuf = metadata.target_directory.into();
        // no link of the repository leads out of it
        let workspace = metadata.workspace_root.as_std_path();
        let (outer, below) = match target.strip_prefix(workspace) {
            Ok(below) => (workspace, below),
            Err(_) => (&*target, Path::new("")),
        };
        let outer = Root::open(outer).ok()?;
        let command = built(&outer, &below.join("debug/deps"), &name)?;
        // always the same path, so that there is only one build of it
        let path = below.join("cargo-operator/scratch");
        let _ = outer.remove_all(&path);
        outer.create_folders(&path).ok()?;
        let scratch = Self {
            folder: Root::open(&outer.join(&path)).ok()?,
            outer,
            path,
            root,
            target,
            command,
        };
        scratch.copy(project, Path::new("")).ok()?;
        scratch.write("Cargo.toml", Some(manifest)).ok()?;
        // of a member, the workspace has it
        let lock = text_in(workspace, "Cargo.lock");
        scratch.write("Cargo.lock", lock.as_deref()).ok()?;
        Some(scratch)
    }

    /// Writes a file, or removes it.
    pub fn write(&self, path: &str, text: Option<&str>) -> io::Result<()> {
        let path = Path::new(path);
        if self.folder.has(path) {
            self.folder.remove_file(path)?;
        }
        let Some(text) = text else { return Ok(()) };
        self.folder.create_folders(path.parent().unwrap_or(path))?;
        self.folder.write(path, text.as_bytes(), None)
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
                let write = self.folder.create_folders(folder);
                write
                    .and_then(|()| self.folder.write(&path, &bytes, None))
                    .map_err(DiskError::at(&path))?;
            }
        }
        Ok(())
    }

    /// The compiler's messages as JSON; `None` if cargo itself failed.
    pub fn check(&self) -> Option<Vec<u8>> {
        let output = cargo()
            .args(self.command)
            .args(["--offline", "--keep-going", "--message-format=json"])
            .arg("--manifest-path")
            .arg(self.folder.join("Cargo.toml"))
            // where the settings of cargo for the project are found
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "0")
            .stderr(Stdio::null())
            .output()
            .ok()?;
        (!output.stdout.is_empty()).then_some(output.stdout)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.outer.remove_all(&self.path);
    }
}

/// The cargo command for which the dependencies are already built, because `cargo check` and `cargo test` do not share their output.
fn built(outer: &Root, folder: &Path, name: &str) -> Option<&'static [&'static str]> {
    let entries = outer.entries(folder).ok()?.into_iter();
    let names: Vec<PathBuf> = entries
        .map(|(name, _)| outer.join(folder).join(name))
        .collect();
    let start = format!("lib{name}-");
    let is_library = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&start) && name.ends_with(".rmeta")
    };
    let mut libraries = names.iter().filter(is_library).peekable();
    libraries.peek()?;
    let is_checked = libraries.any(|path| !path.with_extension("rlib").exists());
    Some(match is_checked {
        true => &["check", "--all-targets"],
        false => &["build", "--all-targets"],
    })
}
