//! The environment, and the programs that commands start.

#![allow(
    clippy::disallowed_methods,
    reason = "nothing else in `disk` starts a program"
)]

use std::{
    env, io,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use super::{install::real, root::Root};

/// The cargo that started this program, without input.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.stdin(Stdio::null());
    cargo
}

/// The rustfmt of the toolchain whose cargo started this program, which avoids rustup's search; otherwise the one in `PATH`.
pub fn rustfmt() -> Command {
    let name = format!("rustfmt{}", env::consts::EXE_SUFFIX);
    let program = env::var_os("CARGO")
        .map(|cargo| Path::new(&cargo).with_file_name(&name))
        .filter(|program| program.is_file())
        .unwrap_or_else(|| name.into());
    Command::new(program)
}

pub fn current_dir() -> io::Result<PathBuf> {
    env::current_dir()
}

/// The `paths` whose files differ from the last commit of git. Files that are not in the commit are omitted.
pub fn uncommitted<'a>(root: &Root, paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let paths: Vec<&str> = paths.collect();
    let differs = |path: &str, committed: Option<Vec<u8>>| {
        committed.is_some_and(|committed| {
            let present = root.bytes(Path::new(path)).ok().flatten();
            present.is_none_or(|present| !equal(&present, &committed))
        })
    };
    let committed = committed(root, &paths).into_iter();
    paths
        .iter()
        .zip(committed)
        .filter(|(path, committed)| differs(path, committed.clone()))
        .map(|(path, _)| (*path).to_owned())
        .collect()
}

/// Whether the last commit of git has this text of a file, apart from line endings; false without git or a commit.
pub fn is_committed(root: &Root, path: &str, text: &str) -> bool {
    let committed = committed(root, &[path]).into_iter().flatten();
    committed
        .into_iter()
        .any(|committed| equal(&committed, text.as_bytes()))
}

/// Whether two texts are equal apart from line endings, which git may change.
fn equal(one: &[u8], other: &[u8]) -> bool {
    let lines = |bytes| String::from_utf8_lossy(bytes);
    lines(one).lines().eq(lines(other).lines())
}

/// The contents of files in the last commit of git, for those that it has; empty without git. Git runs no other program for this, whatever
/// its configuration.
fn committed(root: &Root, paths: &[&str]) -> Vec<Option<Vec<u8>>> {
    ask_git(root, paths).unwrap_or_default()
}

/// Reads all files with one `git cat-file`. `None` if there is no repository, or git fails.
fn ask_git(root: &Root, paths: &[&str]) -> Option<Vec<Option<Vec<u8>>>> {
    let project = real(root.path());
    // git runs in the folder of `.git`, so that it does not take a folder of the project for a bare repository
    let repository = project.ancestors().find(|it| it.join(".git").exists())?;
    let folder = project.strip_prefix(repository).ok()?.to_str()?;
    let name = |path: &&str| format!("HEAD:./{folder}/{path}\n").replace('\\', "/");
    let names: String = paths.iter().map(name).collect();
    let mut git = Command::new("git")
        .args(["cat-file", "--batch"])
        .current_dir(repository)
        .envs([("GIT_NO_LAZY_FETCH", "1"), ("GIT_OPTIONAL_LOCKS", "0")])
        // git sets these for its hooks, and they may be those of another repository
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut input = git.stdin.take()?;
    // in a thread, because git answers before it has read all names, and both pipes may be full
    let writing = thread::spawn(move || input.write_all(names.as_bytes()));
    let answer = git.wait_with_output().ok()?.stdout;
    writing.join().ok()?.ok()?;
    let mut rest = &*answer;
    paths
        .iter()
        .map(|_| {
            let (line, after) = rest.split_at(rest.iter().position(|byte| *byte == b'\n')? + 1);
            rest = after;
            // `OBJECT blob SIZE`, or `PATH missing`
            let line = str::from_utf8(line).ok()?.trim_end();
            if line.ends_with(" missing") {
                return Some(None);
            }
            let size: usize = line.rsplit(' ').next()?.parse().ok()?;
            let content = rest.get(..size)?.to_vec();
            rest = rest.get(size + 1..)?;
            Some(Some(content))
        })
        .collect()
}
