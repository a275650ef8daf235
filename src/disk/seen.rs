//! What a project was when a command found nothing to do, so that the next command need not find it again.
//!
//! It is kept in the user's cache folder: a project that is cloned is looked at whole, and a command that only looks writes nothing into it.

use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    path::PathBuf,
    time::{Duration, UNIX_EPOCH},
};

use etcetera::BaseStrategy;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::read::read;
use crate::hash::sha256;

/// Files by their paths, each with the hash of its text; none where there is no file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen(BTreeMap<String, Option<String>>);

/// What is kept of a project.
#[derive(Deserialize)]
struct Memory {
    /// Which build of the program looked: another one may generate something else.
    program: String,
    files: Seen,
    warnings: usize,
}

impl<'a> FromIterator<(&'a str, Option<&'a str>)> for Seen {
    /// Of paths with the texts of what is there.
    fn from_iter<T: IntoIterator<Item = (&'a str, Option<&'a str>)>>(files: T) -> Self {
        let hash = |text: &str| sha256(text.as_bytes());
        let files = files.into_iter();
        Self(
            files
                .map(|(path, text)| (path.to_owned(), text.map(hash)))
                .collect(),
        )
    }
}

impl Seen {
    /// Keeps it for [`as_seen`], with the number of warnings that stand. Where that can't be, the next command takes its time.
    pub fn remember(&self, root: &Path, warnings: usize) {
        let (Some(place), Some(program)) = (place(root), program()) else {
            return;
        };
        let memory = json!({"program": program, "files": self, "warnings": warnings}).to_string();
        let folder = place.parent().unwrap_or(&place);
        // what is not written whole is no JSON, and is not read
        let _ = fs::create_dir_all(folder).and_then(|()| fs::write(&place, memory));
        forget_old(folder);
    }
}

/// Projects come and go: what was not renewed for long is forgotten.
fn forget_old(folder: &Path) {
    const LONG: Duration = Duration::from_secs(90 * 24 * 60 * 60);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|memory| memory.modified());
        let age = age.ok().and_then(|written| written.elapsed().ok());
        if age.is_some_and(|age| age > LONG) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The number of the warnings, if every file is as it was when this program last found nothing to do.
pub fn as_seen(root: &Path) -> Option<usize> {
    let memory = fs::read(place(root)?).ok()?;
    let memory: Memory = serde_json::from_slice(&memory).ok()?;
    let is_same = |(path, seen): (&String, &Option<String>)| {
        let now = read(root, path).map(|text| text.map(|text| sha256(text.as_bytes())));
        now.is_ok_and(|now| now == *seen)
    };
    let is_known = memory.program == program()? && memory.files.0.par_iter().all(is_same);
    is_known.then_some(memory.warnings)
}

/// The file in the user's cache folder that is about the project.
fn place(root: &Path) -> Option<PathBuf> {
    let root = fs::canonicalize(root).ok()?;
    let name = sha256(root.as_os_str().as_encoded_bytes());
    let cache = etcetera::choose_base_strategy().ok()?.cache_dir();
    Some(cache.join("cargo-operator").join(name + ".json"))
}

/// Where it stands counts, too: some builds all have one time.
fn program() -> Option<String> {
    let path = fs::canonicalize(env::current_exe().ok()?).ok()?;
    let file = fs::metadata(&path).ok()?;
    let made = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let version = env!("CARGO_PKG_VERSION");
    Some(format!(
        "{version} {} {} {}",
        file.len(),
        made.as_nanos(),
        path.display()
    ))
}
