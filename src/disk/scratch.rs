//! A copy of a project's code for `cargo check`, which shares the project's target folder.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::workspace::package_in;

/// A copy of a project, without its build output.
pub struct Scratch {
    /// The path of the copy: in the target folder, so that it is on the same disk and git ignores it.
    folder: PathBuf,
    root: PathBuf,
    target: PathBuf,
    command: &'static [&'static str],
}

impl Scratch {
    /// Creates the copy. Returns `None` if cargo could not check it within seconds: there is no cargo, or the dependencies are not built.
    pub fn new(root: &Path, manifest: &str) -> Option<Self> {
        let root = std::path::absolute(root).ok()?;
        let metadata = cargo_metadata::MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .no_deps()
            .other_options(["--offline".to_owned()])
            .exec()
            .ok()?;
        let package = package_in(&metadata, &root)?;
        let name = package.name.replace('-', "_");
        let target: PathBuf = metadata.target_directory.into();
        let command = built(&target.join("debug/deps"), &name)?;
        // always the same path, so that there is only one build of it
        let folder = target.join("cargo-operator/scratch");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).ok()?;
        let scratch = Self {
            folder,
            root,
            target,
            command,
        };
        copy(&scratch.root, &scratch.folder, &scratch.target).ok()?;
        scratch.write("Cargo.toml", Some(manifest)).ok()?;
        // of a member, the workspace has it
        let lock = fs::read_to_string(metadata.workspace_root.join("Cargo.lock")).ok();
        scratch.write("Cargo.lock", lock.as_deref()).ok()?;
        Some(scratch)
    }

    /// Writes a file, or removes it.
    pub fn write(&self, path: &str, text: Option<&str>) -> io::Result<()> {
        let path = self.folder.join(path);
        match text {
            Some(text) => {
                fs::create_dir_all(path.parent().unwrap_or(&path))?;
                fs::write(path, text)
            }
            None if path.exists() => fs::remove_file(path),
            None => Ok(()),
        }
    }

    /// The compiler's messages as JSON; `None` if cargo itself failed.
    pub fn check(&self) -> Option<Vec<u8>> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(self.command)
            .args(["--offline", "--keep-going", "--message-format=json"])
            .arg("--manifest-path")
            .arg(self.folder.join("Cargo.toml"))
            // where the settings of cargo for the project are found
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "0")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        (!output.stdout.is_empty()).then_some(output.stdout)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The cargo command for which the dependencies are already built, because `cargo check` and `cargo test` do not share their output.
fn built(folder: &Path, name: &str) -> Option<&'static [&'static str]> {
    let names = fs::read_dir(folder).ok()?.flatten();
    let names: Vec<PathBuf> = names.map(|entry| entry.path()).collect();
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

/// Copies the source code: no hidden folders, no build output.
fn copy(from: &Path, to: &Path, target: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let is_hidden = name.to_string_lossy().starts_with('.');
        if is_hidden || path == target || name == "target" {
            continue;
        }
        let to = to.join(name);
        // a link to a folder could lead back
        if entry.file_type()?.is_dir() {
            fs::create_dir(&to)?;
            copy(&path, &to, target)?;
        } else if path.is_file() {
            fs::copy(&path, &to)?;
        }
    }
    Ok(())
}
