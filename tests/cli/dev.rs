//! `dev`, with an operator that has no dependencies, so that cargo builds it quickly.

#![cfg(target_os = "linux")]

use std::{
    cell::RefCell,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        LazyLock,
        mpsc::{Receiver, channel},
    },
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{edit, project};

/// The maximum wait for a line, which is long enough for cargo while other tests run.
const PATIENCE: Duration = Duration::from_secs(60);

/// The operator. It logs the user of its kubeconfig, and runs until it is stopped.
const OPERATOR: &str = r###"fn main() {
    let kubeconfig = std::fs::read_to_string(std::env::var("KUBECONFIG").unwrap()).unwrap();
    let user = kubeconfig.lines().find(|line| line.contains(" as: ")).unwrap().trim();
    eprintln!(r##"{{"level":"INFO","message":"first","user":"{user}"}}"##);
    std::thread::park();
}
"###;

/// The program of the API server. These tests have already compiled everything but the program itself.
static SERVER: LazyLock<String> = LazyLock::new(|| {
    let built = crate::cargo::command()
        // the whole workspace, so that dependencies have the features with which `cargo test --workspace` has compiled them
        .args(["build", "--workspace", "--test", "dev"])
        .args(["--message-format", "json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let made = serde_json::Deserializer::from_slice(&built.stdout)
        .into_iter::<Value>()
        .map(Result::unwrap)
        .find(|message| message["target"]["name"] == "dev" && message["executable"].is_string())
        .expect("cargo builds it");
    made["executable"].as_str().unwrap().to_owned()
});

/// The content of `tests/dev.rs`, which runs this API server.
fn serving(server: &str) -> String {
    format!(
        "use std::os::unix::process::CommandExt;
fn main() {{
    panic!(\"{{}}\", std::process::Command::new({server:?}).exec());
}}
"
    )
}

/// A project `p` with the operator [`OPERATOR`].
fn small() -> (TempDir, PathBuf) {
    let folder = project();
    let p = folder.path().join("p");
    let manifest = "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
        [[test]]\nname = \"dev\"\npath = \"tests/dev.rs\"\nharness = false\ntest = false\n";
    fs::write(p.join("Cargo.toml"), manifest).unwrap();
    fs::write(p.join("src/lib.rs"), "").unwrap();
    fs::write(p.join("src/main.rs"), OPERATOR).unwrap();
    fs::remove_dir_all(p.join("tests")).unwrap();
    fs::create_dir(p.join("tests")).unwrap();
    fs::write(p.join("tests/dev.rs"), serving(&SERVER)).unwrap();
    (folder, p)
}

struct Session {
    child: Child,
    lines: Receiver<String>,
    /// The lines that `until` skipped.
    passed: RefCell<Vec<String>>,
}

impl Session {
    fn start(root: &Path, args: &[&str]) -> Self {
        let mut child = spawn(root, args);
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            output
                .lines()
                .map_while(Result::ok)
                .all(|line| sender.send(line).is_ok())
        });
        Self {
            child,
            lines,
            passed: RefCell::default(),
        }
    }

    /// The next line that contains the text. Skips those before it.
    fn until(&self, text: &str) -> String {
        let mut passed = self.passed.borrow_mut();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            if line.contains(text) {
                return line;
            }
            passed.push(line);
        }
        panic!("no line has {text:?}:\n{}", passed.join("\n"));
    }

    /// A line that contains the text, even if it was skipped.
    fn some(&self, text: &str) -> String {
        // the borrow ends before another line is read
        let passed = self
            .passed
            .borrow()
            .iter()
            .find(|line| line.contains(text))
            .cloned();
        passed.unwrap_or_else(|| self.until(text))
    }

    /// Ends the session as Ctrl-C does. Returns its exit code.
    fn end(mut self) -> Option<i32> {
        interrupt(&mut self.child)
    }
}

fn spawn(root: &Path, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_cargo-operator"))
        .args(["operator", "dev"])
        .args(args)
        .current_dir(root)
        .env("KUBECONFIG", root.join("kubeconfig"))
        .env_remove("CARGO_TARGET_DIR")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn interrupt(child: &mut Child) -> Option<i32> {
    let interrupt = format!("kill -INT {}", child.id());
    assert!(
        Command::new("sh")
            .args(["-c", &interrupt])
            .status()
            .unwrap()
            .success()
    );
    child.wait().unwrap().code()
}

impl Drop for Session {
    fn drop(&mut self) {
        // it has already ended, unless the test failed
        let _ended = self.child.kill();
    }
}

/// Whether a process runs. A zombie (`Z`) does not.
fn runs(process: &str) -> bool {
    fs::read_to_string(format!("/proc/{process}/status"))
        .unwrap_or_default()
        .lines()
        .find_map(|line| line.strip_prefix("State:"))
        .is_some_and(|state| !state.trim().starts_with('Z'))
}

/// Whether a process ends soon: a signal takes effect when the process is scheduled.
fn ends(process: &str) -> bool {
    (0..100).any(|_| {
        thread::sleep(Duration::from_millis(100));
        !runs(process)
    })
}

/// Waits for the process that writes its ID into `target/process`.
fn started(p: &Path) -> String {
    (0..600)
        .find_map(|_| {
            thread::sleep(Duration::from_millis(100));
            let text = fs::read_to_string(p.join("target/process")).ok()?;
            Some(text.trim().to_owned()).filter(|it| !it.is_empty())
        })
        .expect("it is started")
}

fn change(path: &Path, from: &str, to: &str) {
    edit(path, |text| {
        assert!(text.contains(from), "{from:?} in {text}");
        text.replace(from, to)
    });
}

#[test]
fn the_operator_runs_with_its_objects_and_ends_with_the_session() {
    let (_folder, p) = small();
    let session = Session::start(&p, &[]);
    let kubectl = session.until("kubectl --kubeconfig ");
    let kubeconfig = kubectl
        .split(' ')
        .skip_while(|word| *word != "--kubeconfig")
        .nth(1)
        .unwrap();
    assert!(
        fs::read_to_string(kubeconfig)
            .unwrap()
            .contains("https://127.0.0.1:")
    );
    session.until("applied   crds/widgets.example.com.yaml");
    session.until("applied   manifests/rbac/service-account.yaml");
    session.until("applied   manifests/samples/widgets.example.com.yaml");
    session.some("object    Widget default/widget-sample created");
    let started = session.some("started, process ");
    session.some("log       INFO first user=as: system:serviceaccount:p:p");
    let process = started.rsplit(' ').next().unwrap();
    assert!(runs(process), "it runs");
    assert_eq!(session.end(), Some(0));
    assert!(!runs(process), "it is gone");
}

#[test]
fn changed_code_is_rebuilt_and_restarted() {
    let (_folder, p) = small();
    let session = Session::start(&p, &["--hide", "objects"]);
    session.until("INFO first");
    change(&p.join("src/main.rs"), "first", "second");
    session.until("build     done");
    session.until("INFO second");
    change(&p.join("src/main.rs"), "second", "second}");
    session.until("build     failed");
    change(&p.join("src/main.rs"), "second}", "third");
    session.until("INFO third");
    change(
        &p.join("src/main.rs"),
        "std::thread::park()",
        "std::process::exit(7)",
    );
    session.until("operator  ended, exit status: 7");
    change(
        &p.join("src/main.rs"),
        "std::process::exit(7)",
        "std::thread::park()",
    );
    session.until("operator  started");
    assert_eq!(session.end(), Some(0));
}

#[test]
fn a_refused_object_does_not_stop_the_others() {
    let (folder, p) = small();
    let objects = folder.path().join("objects.yaml");
    let refused = "{apiVersion: v1, kind: ConfigMap, metadata: {name: first, namespace: missing}}";
    let sample = fs::read_to_string(p.join("manifests/samples/widgets.example.com.yaml")).unwrap();
    let taken = sample.replace("widget-sample", "second");
    fs::write(&objects, format!("{refused}\n---\n{taken}")).unwrap();
    let session = Session::start(&p, &["--apply", objects.to_str().unwrap()]);
    let refused = session.until("refused   ");
    assert!(
        refused.contains("ConfigMap first: namespaces \"missing\" not found"),
        "{refused}"
    );
    session.some("Widget default/second created");
    assert_eq!(session.end(), Some(0));
}

#[test]
fn objects_on_the_server_follow_the_projects_files() {
    let (_folder, p) = small();
    let session = Session::start(&p, &["--hide", "requests,logs"]);
    session.until("Widget default/widget-sample created");
    let sample = p.join("manifests/samples/widgets.example.com.yaml");
    let text = fs::read_to_string(&sample).unwrap();
    let (head, _) = text.split_once("spec:").unwrap();
    fs::write(&sample, format!("{head}spec: 3\n")).unwrap();
    let refused = session.until("refused   manifests/samples/widgets.example.com.yaml");
    assert!(refused.contains("widget-sample"), "{refused}");
    fs::write(
        &sample,
        text.replace("metadata:\n", "metadata:\n  labels: {a: b}\n"),
    )
    .unwrap();
    session.until("Widget default/widget-sample metadata.labels.a = b");
    change(
        &p.join("crds/widgets.example.com.yaml"),
        "description: ",
        "description: New. ",
    );
    session.until("stale     the generated code does not match");
    session.until("applied   crds/widgets.example.com.yaml");
    assert_eq!(session.end(), Some(0));
}

#[test]
fn a_project_that_cannot_run_is_an_error_with_help() {
    let (_folder, p) = small();
    let run = |args: &str| crate::support::run(&p, args);
    fs::create_dir(p.join("src/bin")).unwrap();
    fs::write(p.join("src/bin/other.rs"), "fn main() {}\n").unwrap();
    let several = run("dev");
    assert_eq!(several.code, 2);
    assert!(
        several
            .stderr
            .contains("the package p has several binaries: "),
        "{}",
        several.stderr
    );
    assert!(several.stderr.contains("--bin NAME"), "{}", several.stderr);
    change(&p.join("operator.toml"), "scaffold = \"reconciler\"\n", "");
    let nothing = run("dev");
    assert_eq!(nothing.code, 2);
    assert!(
        nothing.stderr.contains("no kind of p has a controller"),
        "{}",
        nothing.stderr
    );
}

#[test]
fn an_operator_with_endless_output_can_be_edited() {
    let (_folder, p) = small();
    let endless =
        "loop { eprintln!(\"again\"); std::thread::sleep(std::time::Duration::from_millis(5)) }";
    change(&p.join("src/main.rs"), "std::thread::park()", endless);
    let session = Session::start(&p, &[]);
    session.until("log       again");
    change(&p.join("src/main.rs"), "again", "another");
    session.until("log       another");
    assert_eq!(session.end(), Some(0));
}

#[test]
fn a_project_has_only_one_session() {
    let (_folder, p) = small();
    let session = Session::start(&p, &[]);
    session.until("operator  started");
    let second = crate::support::run(&p, "dev");
    assert_eq!(second.code, 2);
    assert!(
        second
            .stderr
            .contains("another session of this project is running"),
        "{}",
        second.stderr
    );
    assert_eq!(session.end(), Some(0));
}

#[test]
fn a_build_ends_with_the_session() {
    let (_folder, p) = small();
    let slow = "fn main() {
        std::fs::write(\"target/process\", std::process::id().to_string()).unwrap();
        std::thread::sleep(std::time::Duration::from_secs(600));
    }";
    fs::write(p.join("build.rs"), slow).unwrap();
    let session = Session::start(&p, &[]);
    let process = started(&p);
    assert!(runs(&process), "it runs");
    assert_eq!(session.end(), Some(0));
    assert!(ends(&process), "it is gone");
}

#[test]
fn errors_in_operator_toml_are_reported() {
    let (_folder, p) = small();
    let session = Session::start(&p, &["--hide", "requests,logs,objects"]);
    session.until("operator  started");
    change(
        &p.join("operator.toml"),
        "namespaces = \"all\"",
        "namespaces = \"some\"",
    );
    session.until("wrong     operator.toml");
    change(
        &p.join("operator.toml"),
        "namespaces = \"some\"",
        "namespaces = \"own\"",
    );
    session.until("stale     the generated code does not match");
    assert_eq!(session.end(), Some(0));
}

#[test]
fn a_folder_that_is_moved_into_the_project_is_watched() {
    let (_folder, p) = small();
    let session = Session::start(&p, &[]);
    session.until("INFO first");
    fs::create_dir(p.join("new")).unwrap();
    for file in ["lib.rs", "main.rs"] {
        fs::copy(p.join("src").join(file), p.join("new").join(file)).unwrap();
    }
    change(&p.join("new/main.rs"), "first", "second");
    fs::rename(p.join("src"), p.join("old")).unwrap();
    fs::rename(p.join("new"), p.join("src")).unwrap();
    session.until("INFO second");
    change(&p.join("src/main.rs"), "second", "third");
    session.until("INFO third");
    assert_eq!(session.end(), Some(0));
}

#[test]
fn a_renamed_package_is_built() {
    let (_folder, p) = small();
    let session = Session::start(&p, &[]);
    session.until("INFO first");
    change(&p.join("Cargo.toml"), "name = \"p\"", "name = \"q\"");
    session.until("build     done");
    session.until("INFO first");
    assert_eq!(session.end(), Some(0));
}

#[test]
fn unread_output_does_not_block_the_session() {
    let (_folder, p) = small();
    let endless = "std::fs::write(\"target/process\", std::process::id().to_string()).unwrap(); loop { eprintln!(\"{}\", \"x\".repeat(1000)) }";
    change(&p.join("src/main.rs"), "std::thread::park();", endless);
    let mut session = spawn(&p, &[]);
    let process = started(&p);
    thread::sleep(Duration::from_secs(1));
    assert_eq!(interrupt(&mut session), Some(0));
    assert!(ends(&process), "it is gone");
}

#[test]
fn child_processes_of_the_operator_end_with_it() {
    let (_folder, p) = small();
    let stubborn = "std::process::Command::new(\"sh\").args([\"-c\", \"trap '' TERM; echo $$ > target/process; sleep 600\"]).spawn().unwrap(); std::thread::park();";
    change(&p.join("src/main.rs"), "std::thread::park();", stubborn);
    let session = Session::start(&p, &[]);
    let process = started(&p);
    assert_eq!(session.end(), Some(0));
    assert!(ends(&process), "it is gone");
}

#[test]
fn a_killed_session_leaves_no_server() {
    let (_folder, p) = small();
    let recorded =
        "std::fs::write(\"target/process\", std::process::id().to_string()).unwrap();\n    panic!";
    change(&p.join("tests/dev.rs"), "panic!", recorded);
    let mut session = Session::start(&p, &[]);
    let operator = session.until("started, process ");
    session.until("INFO first");
    let process = started(&p);
    assert!(runs(&process), "it runs");
    session.child.kill().unwrap();
    session.child.wait().unwrap();
    // unlike a real operator, this one does not notice that its parent is gone
    let operator = operator.rsplit(' ').next().unwrap();
    let killed = Command::new("kill").arg(operator).status().unwrap();
    assert!(killed.success());
    assert!(ends(&process), "it is gone");
}

#[test]
fn the_server_starts_once_the_code_compiles() {
    let (_folder, p) = small();
    change(&p.join("src/main.rs"), "first", "first}");
    let session = Session::start(&p, &[]);
    session.until("build     failed");
    change(&p.join("src/main.rs"), "first}", "first");
    session.until("cluster   an API server in memory");
    session.some("INFO first");
    assert_eq!(session.end(), Some(0));
}

#[test]
fn a_session_stays_with_the_context_of_its_start() {
    let (_folder, p) = small();
    let kubeconfig = "apiVersion: v1
kind: Config
current-context: first
clusters:
- {name: one, cluster: {server: 'http://127.0.0.1:1'}}
- {name: two, cluster: {server: 'http://127.0.0.1:2'}}
contexts:
- {name: first, context: {cluster: one, user: me}}
- {name: second, context: {cluster: two, user: me}}
users:
- {name: me, user: {}}
";
    fs::write(p.join("kubeconfig"), kubeconfig).unwrap();
    change(&p.join("src/main.rs"), "first", "first}");
    let session = Session::start(&p, &["--cluster"]);
    session.until("cluster   the context first of your kubeconfig");
    session.until("build     failed");
    let switched = kubeconfig.replace("current-context: first", "current-context: second");
    fs::write(p.join("kubeconfig"), switched).unwrap();
    change(&p.join("src/main.rs"), "first}", "first");
    session.until("cluster   http://127.0.0.1:1, the context first of your kubeconfig");
}

#[test]
fn a_server_that_does_not_fit_is_an_error_with_help() {
    let (_folder, p) = small();
    let run = |main: &str| {
        fs::write(p.join("tests/dev.rs"), format!("fn main() {{ {main} }}\n")).unwrap();
        let session = crate::support::run(&p, "dev");
        assert_eq!(session.code, 2, "{}", session.stderr);
        session.stderr
    };
    let newer = run(r##"println!(r#"{{"dev":2}}"#);"##);
    assert!(
        newer.contains("version 2 of the protocol, and this tool 1"),
        "{newer}"
    );
    assert!(newer.contains("help: "), "{newer}");
    let other = run(r#"println!("hello");"#);
    assert!(other.contains("it prints \"hello\""), "{other}");
    let ended = run("std::process::exit(7)");
    assert!(
        ended.contains("the API server ended, exit status: 7"),
        "{ended}"
    );
    let mut manifest = fs::read_to_string(p.join("Cargo.toml")).unwrap();
    manifest.truncate(manifest.find("[[test]]").unwrap());
    fs::write(p.join("Cargo.toml"), manifest).unwrap();
    fs::remove_file(p.join("tests/dev.rs")).unwrap();
    let nothing = crate::support::run(&p, "dev").stderr;
    assert!(nothing.contains("no test target `dev`"), "{nothing}");
    assert!(nothing.contains("cargo operator regenerate"), "{nothing}");
}
