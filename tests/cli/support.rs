//! Runs the program in temporary folders.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    time::UNIX_EPOCH,
};

use tempfile::TempDir;

pub const WIDGET: &str = include_str!("../crds/widget.yaml");
pub const CLUSTERS: &str = include_str!("../crds/clusters.yaml");

pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

pub fn run_with(folder: &Path, args: &str, input: &str) -> Run {
    let mut arguments: Vec<&str> = args.split_whitespace().collect();
    // new projects use the runtime of this repository
    let runtime = concat!("--runtime=path=", env!("CARGO_MANIFEST_DIR"));
    if arguments.first() == Some(&"init") && !args.contains("--runtime") {
        arguments.push(runtime);
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_cargo-operator"))
        .arg("operator")
        .args(arguments)
        .current_dir(folder)
        // nothing of these projects is built
        .env_remove("CARGO_TARGET_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

pub fn run(folder: &Path, args: &str) -> Run {
    run_with(folder, args, "")
}

pub fn ok(folder: &Path, args: &str) -> Run {
    let run = run(folder, args);
    assert_eq!(run.code, 0, "{args}\n{}\n{}", run.stdout, run.stderr);
    run
}

/// A folder with some CRDs.
pub fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("widget.yaml"), WIDGET).unwrap();
    fs::write(folder.path().join("clusters.yaml"), CLUSTERS).unwrap();
    folder
}

/// A project `p` of the kind Widget.
pub fn project() -> TempDir {
    let folder = folder();
    ok(folder.path(), "init p --crd widget.yaml");
    folder
}

/// Creates the staging folder of an interrupted command, unless it exists. Returns its creation time, by which a journal identifies it.
pub fn staging(p: &Path) -> String {
    let folder = p.join(".operator/new");
    fs::create_dir_all(&folder).unwrap();
    let created = fs::metadata(&folder).unwrap().created().unwrap();
    let created = created.duration_since(UNIX_EPOCH).unwrap();
    created.as_nanos().to_string()
}

/// Runs git in a folder.
pub fn git(folder: &Path, args: &str) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
    command.args(args.split_whitespace()).current_dir(folder);
    assert!(command.output().unwrap().status.success(), "{args}");
}

/// Commits all files of a folder, which becomes a repository.
pub fn commit(folder: &Path) {
    for args in ["init", "add .", "commit -m a"] {
        git(folder, args);
    }
}

/// All files below `root` with their texts.
pub fn files(root: &Path) -> BTreeMap<String, String> {
    fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, root, &mut found);
    found
}

pub fn edit(path: &Path, change: impl Fn(String) -> String) {
    fs::write(path, change(fs::read_to_string(path).unwrap())).unwrap();
}

/// The CRD with another version, which has the same schema.
pub fn with_v2(text: String) -> String {
    let start = text.find("  - name: v1\n").unwrap();
    let second = text[start..].replace("name: v1\n", "name: v2\n");
    text + &second.replace("storage: true", "storage: false")
}
