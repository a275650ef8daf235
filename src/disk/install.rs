//! Where this program is, what `cargo install` recorded about it, and the checkout of its repository; and the lock file that only cargo can
//! complete.

use std::{
    env,
    path::{Path, PathBuf},
    process::Stdio,
};

use super::{program::cargo, root::Root};

/// The file name of this program, and the record of its installation folder; `None` if cargo did not install it.
pub fn install_record() -> (String, Option<String>) {
    let program = program();
    let name = program.file_name().unwrap_or_default();
    let root = program.parent().and_then(Path::parent);
    let record = root.and_then(|root| text_in(root, ".crates2.json"));
    (name.to_string_lossy().into_owned(), record)
}

/// The checkout in whose target folder this program was built.
pub fn checkout_of_program() -> Option<PathBuf> {
    let program = program();
    program
        .ancestors()
        .find(|folder| runtime_version(folder).is_some())
        .map(Path::to_owned)
}

fn program() -> PathBuf {
    env::current_exe()
        .and_then(|path| path.canonicalize())
        .unwrap_or_default()
}

/// The version of the runtime in a checkout of this tool's repository.
pub fn runtime_version(checkout: &Path) -> Option<String> {
    let manifest = text_in(checkout, "crates/operator-runtime/Cargo.toml")?;
    let manifest: toml_edit::DocumentMut = manifest.parse().ok()?;
    Some(manifest["package"]["version"].as_str()?.to_owned())
}

/// The text of a file in a folder, if it can be read.
pub fn text_in(folder: &Path, path: &str) -> Option<String> {
    Root::open(folder).ok()?.read(path).ok()?
}

/// The path to `folder` from the folder `from`, which need not exist yet; absolute if there is none.
pub fn relative(from: &Path, folder: &Path) -> PathBuf {
    let (from, folder) = (real(from), real(folder));
    pathdiff::diff_paths(&folder, &from).unwrap_or(folder)
}

/// The absolute path of a folder that need not exist yet, without the links in its existing part.
pub fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let real = |existing: &Path| {
        let rest = path.strip_prefix(existing).ok()?;
        Some(existing.canonicalize().ok()?.join(rest))
    };
    path.ancestors().find_map(real).unwrap_or(path.clone())
}

/// Lets cargo add the missing packages to the lock file of a project; the error is cargo's message.
pub fn complete_lock(root: &Path) -> Result<(), String> {
    let output = cargo()
        .args(["update", "--workspace", "--quiet"])
        .current_dir(root)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| format!("cargo can't be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(())
    } else {
        Err(text.trim().trim_start_matches("error: ").to_owned())
    }
}
