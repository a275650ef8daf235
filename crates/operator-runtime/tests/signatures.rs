//! The compiler's messages about handlers with wrong signatures: for each file of `tests/signatures/`, the message is beside it. The
//! messages of another version of the compiler may differ, but must name the same line. `UPDATE=1` writes the messages.
//!
//! The files are compiled against the libraries of this test's folder, because a project of their own, as `trybuild` makes, would compile
//! all dependencies again.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

/// The version of the compiler that wrote the messages.
const COMPILER: &str = "rustc 1.95.";

fn rustc() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// The libraries of a crate, the newest first.
fn libraries(deps: &Path, name: &str) -> Vec<PathBuf> {
    let prefix = format!("lib{name}-");
    let entries = fs::read_dir(deps).unwrap().flatten();
    let mut found: Vec<(SystemTime, PathBuf)> = entries
        .filter(|entry| {
            let file = entry.file_name();
            let file = file.to_string_lossy();
            file.starts_with(&prefix) && file.ends_with(".rlib")
        })
        .map(|entry| (entry.metadata().unwrap().modified().unwrap(), entry.path()))
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// The compiler's message about a file; `None` if it compiles.
fn message(file: &str, deps: &Path, [runtime, types]: [&Path; 2]) -> Option<String> {
    let out = tempfile::tempdir().unwrap();
    let library = |name: &str, path: &Path| format!("{name}={}", path.display());
    let output = rustc()
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata"])
        .args(["--color=never", "--diagnostic-width=140"])
        .arg(format!("--out-dir={}", out.path().display()))
        .arg(format!("-Ldependency={}", deps.display()))
        .args(["--extern", &library("operator_runtime", runtime)])
        .args(["--extern", &library("k8s_openapi", types)])
        .arg(file)
        .current_dir(folder())
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    (!output.status.success()).then(|| masked(&message))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/signatures")
}

/// The message without the lines and line numbers of other files, which change with those files, and without the margin, whose width
/// changes too.
fn masked(message: &str) -> String {
    let mut is_elsewhere = false;
    let mut kept = vec![];
    for line in message.lines() {
        let place = ["-->", ":::"].iter().find_map(|arrow| {
            let (before, place) = line.split_once(arrow)?;
            before.trim().is_empty().then_some((arrow, place.trim()))
        });
        if let Some((arrow, place)) = place {
            let file = place.rsplit('/').next().unwrap_or(place);
            is_elsewhere = file.len() != place.len();
            if is_elsewhere {
                kept.push(format!(
                    "{arrow} {}",
                    file.split(':').next().unwrap_or(file)
                ));
            } else {
                kept.push(line.trim_start().to_owned());
            }
            continue;
        }
        is_elsewhere &= line.contains('|') || line.trim() == "...";
        if !is_elsewhere {
            kept.push(line.trim_start().to_owned());
        }
    }
    kept.join("\n") + "\n"
}

#[test]
fn a_wrong_signature_is_an_error_that_names_its_line() {
    let test = env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let (runtimes, types) = (
        libraries(deps, "operator_runtime"),
        libraries(deps, "k8s_openapi"),
    );
    // the folder may also have these libraries with other features
    let mut pairs = runtimes
        .iter()
        .flat_map(|runtime| types.iter().map(move |types| [&**runtime, &**types]));
    let libraries = pairs.find(|pair| message("right.rs", deps, *pair).is_none());
    let libraries = libraries.expect("the right one compiles");

    let version = String::from_utf8(rustc().arg("--version").output().unwrap().stdout).unwrap();
    let entries = fs::read_dir(folder()).unwrap().flatten();
    let files = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut files: Vec<String> = files
        .filter(|file| file.ends_with(".rs") && file != "right.rs")
        .collect();
    files.sort();
    assert_eq!(files.len(), 4);
    for file in files {
        let found = message(&file, deps, libraries).expect("it does not compile");
        let golden = folder().join(file.replace(".rs", ".stderr"));
        if env::var_os("UPDATE").is_some() {
            fs::write(&golden, &found).unwrap();
        }
        let golden = fs::read_to_string(golden).unwrap();
        if version.starts_with(COMPILER) {
            assert_eq!(found, golden, "{file}");
        }
        let place = |message: &str| {
            let line = message.lines().find(|line| line.contains("-->")).unwrap();
            line.rsplit_once(':').unwrap().0.to_owned()
        };
        assert_eq!(place(&found), place(&golden), "{file}");
    }
}
