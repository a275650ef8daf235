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

/// Those of `paths` that git lists as changed and not committed; empty without git.
pub fn uncommitted<'a>(root: &Root, paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let paths: Vec<&str> = paths.collect();
    if paths.is_empty() {
        return vec![];
    }
    let output = Command::new("git")
        .args(["diff", "--name-only", "--relative", "HEAD", "--"])
        .args(paths)
        .current_dir(root.path())
        .stderr(Stdio::null())
        .output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Whether the last commit of git has this text of a file, apart from line endings; false without git or a commit.
pub fn is_committed(root: &Root, path: &str, text: &str) -> bool {
    committed(root, path).is_some_and(|bytes| {
        let committed = String::from_utf8_lossy(&bytes);
        committed.lines().eq(text.lines())
    })
}

/// The content of a file in the last commit of git, if it has one. Git runs no other program for this, whatever its configuration.
pub fn committed(root: &Root, path: &str) -> Option<Vec<u8>> {
    let project = real(root.path());
    // asked there, git takes no folder of the project for the repository
    let repository = project.ancestors().find(|it| it.join(".git").exists())?;
    let folder = project.strip_prefix(repository).ok()?.to_str()?;
    let path = format!("HEAD:./{folder}/{path}").replace('\\', "/");
    let mut git = Command::new("git")
        .args(["cat-file", "--batch"])
        .current_dir(repository)
        .envs([("GIT_NO_LAZY_FETCH", "1"), ("GIT_OPTIONAL_LOCKS", "0")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let asked = writeln!(git.stdin.take()?, "{path}");
    let answer = git.wait_with_output().ok()?.stdout;
    asked.ok()?;
    let line = answer.iter().position(|byte| *byte == b'\n')?;
    // `OBJECT blob SIZE`, or `PATH missing`
    let size = str::from_utf8(&answer[..line]).ok()?.rsplit(' ').next();
    let size: usize = size?.parse().ok()?;
    answer
        .get(line + 1..)
        .and_then(|it| it.get(..size))
        .map(<[u8]>::to_vec)
}
