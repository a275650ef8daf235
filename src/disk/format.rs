//! Lays out Rust that will be the user's as the user's own rustfmt does.

use std::{
    env,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

/// Passes seeded Rust through the user's own rustfmt, whose settings in `root` then hold; as it is where there is none.
pub fn format_rust(root: &Path, texts: Vec<String>) -> Vec<String> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let size = texts.len().div_ceil(workers).max(1);
    thread::scope(|scope| {
        let format = |texts: &[String]| -> Vec<String> {
            let format = |text: &String| rustfmt(root, text).unwrap_or_else(|| text.clone());
            texts.iter().map(format).collect()
        };
        let workers: Vec<_> = texts
            .chunks(size)
            .map(|texts| scope.spawn(move || format(texts)))
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("formatting does not panic"))
            .collect()
    })
}

/// That of the toolchain whose cargo called us, which spares rustup's search for it; else the one on the path.
fn rustfmt_program() -> PathBuf {
    let name = format!("rustfmt{}", env::consts::EXE_SUFFIX);
    env::var_os("CARGO")
        .map(|cargo| Path::new(&cargo).with_file_name(&name))
        .filter(|program| program.is_file())
        .unwrap_or_else(|| name.into())
}

fn rustfmt(root: &Path, text: &str) -> Option<String> {
    let folder = if root.is_dir() { root } else { Path::new(".") };
    let mut child = Command::new(rustfmt_program())
        .args(["--edition", "2024", "--quiet"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    let text = output
        .status
        .success()
        .then(|| String::from_utf8(output.stdout).ok())??;
    (!text.is_empty()).then_some(text)
}
