//! Commands in a repository that somebody else wrote. Whatever is committed, a command ends within seconds, and changes nothing outside of
//! the project.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::support::{Run, commit, edit, ok, project, staging};

const SPEC: &str = "crds/widgets.example.com.yaml";

/// The maximum duration of a command, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(5);

/// The content of a folder. Of links, it has the targets, but not what they lead to.
fn tree(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut tree = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let content = match () {
            () if kind.is_symlink() => format!("-> {}", fs::read_link(&path).unwrap().display()),
            () if kind.is_file() => String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
            () => format!("{kind:?}"),
        };
        if kind.is_dir() {
            tree.extend(self::tree(&path));
        }
        tree.push((path, content));
    }
    tree.sort();
    tree
}

/// A project `p` beside a folder `outside`.
struct Hostile(TempDir);

impl Hostile {
    fn new() -> Self {
        let folder = project();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/mine"), "mine\n").unwrap();
        Self(folder)
    }

    fn p(&self) -> PathBuf {
        self.0.path().join("p")
    }

    fn outside(&self) -> PathBuf {
        self.0.path().join("outside")
    }

    /// Moves a file or folder of the project out of it, and leaves a link.
    fn lead_out(&self, path: &str, target: &Path) {
        let (from, to) = (self.p().join(path), self.outside().join("moved"));
        fs::rename(&from, &to).unwrap_or_else(|_| fs::create_dir(&to).unwrap());
        symlink(target, from).unwrap();
    }

    /// Runs a command in a folder; only what is in the project may change.
    fn run(&self, folder: &Path, args: &str) -> Run {
        let around = || {
            let mut tree = tree(self.0.path());
            tree.retain(|(path, _)| !path.starts_with(self.p()));
            tree
        };
        let before = around();
        let begin = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_cargo-operator"))
            .arg("operator")
            .args(args.split_whitespace())
            .current_dir(folder)
            .env_remove("CARGO_TARGET_DIR")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while child.try_wait().unwrap().is_none() {
            if begin.elapsed() > LIMIT {
                child.kill().unwrap();
                panic!("`{args}` hangs");
            }
            thread::sleep(Duration::from_millis(2));
        }
        let output = child.wait_with_output().unwrap();
        assert!(around() == before, "`{args}` changed something outside");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Run {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Runs a command in the project, which must refuse it with these words, and change nothing.
    fn refused(&self, args: &str, words: &[&str]) {
        let before = tree(&self.p());
        let run = self.run(&self.p(), args);
        assert_eq!(run.code, 2, "{args}: {}{}", run.stdout, run.stderr);
        for word in [words, &[" = help: "]].concat() {
            assert!(run.stderr.contains(word), "{args}: {word}: {}", run.stderr);
        }
        assert!(tree(&self.p()) == before, "{args}");
    }
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn links_that_lead_out_are_refused_by_name() {
    for path in [".operator/new", ".operator", "manifests", "operator.lock"] {
        for target in ["outside", "up and back", "absolute"] {
            let hostile = Hostile::new();
            ok(&hostile.p(), "gen-manifests --image x/y:1");
            let up = match path {
                ".operator/new" => "../..",
                _ => "..",
            };
            let target = match target {
                "outside" => PathBuf::from(format!("{up}/outside/moved")),
                // this contains the name of the project's folder, which another clone may not have
                "up and back" => PathBuf::from(format!("{up}/p/docs")),
                _ => hostile.outside().join("moved"),
            };
            hostile.lead_out(path, &target);
            let word = format!("because {path} is a link to {}", target.display());
            for args in [
                "regenerate",
                "regenerate --check",
                "gen-manifests --image x/y:2",
                "remove Widget",
            ] {
                hostile.refused(args, &[&word]);
            }
            let inspect = hostile.run(&hostile.p(), "inspect");
            assert_eq!(inspect.code == 0, path == "manifests", "{}", inspect.stderr);
        }
    }
}

#[test]
fn a_link_on_the_way_is_named_with_the_path() {
    let hostile = Hostile::new();
    // one link leads to the next, and the second one leads out
    let p = hostile.p();
    fs::create_dir(p.join("lib")).unwrap();
    fs::rename(p.join("src/api"), hostile.outside().join("moved")).unwrap();
    symlink("../lib/api", p.join("src/api")).unwrap();
    symlink("../../outside/moved", p.join("lib/api")).unwrap();
    let words = [
        "src/api/",
        "because src/../lib/api is a link to ../../outside/moved",
    ];
    hostile.refused("regenerate", &words);
}

#[test]
fn links_that_stay_in_the_project_work() {
    let hostile = Hostile::new();
    let p = hostile.p();
    ok(&p, "gen-manifests --image x/y:1");
    fs::create_dir(p.join("deploy")).unwrap();
    fs::rename(p.join("manifests"), p.join("deploy/all")).unwrap();
    symlink("deploy/all", p.join("manifests")).unwrap();
    let changed = fs::read_dir(p.join("deploy/all/operator")).unwrap();
    let mut changed = changed.map(|entry| entry.unwrap().path());
    let has_image = |path: &PathBuf| fs::read_to_string(path).unwrap().contains("x/y:1");
    let file = changed.find(has_image).unwrap();
    let elsewhere = p.join("deploy/image.yaml");
    fs::rename(&file, &elsewhere).unwrap();
    symlink("../../image.yaml", &file).unwrap();
    let run = hostile.run(&p, "gen-manifests --image x/y:2");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
    assert!(fs::symlink_metadata(&elsewhere).unwrap().is_file());
    let text = fs::read_to_string(&elsewhere).unwrap();
    assert!(text.contains("x/y:2"), "{text}");
    assert_eq!(hostile.run(&p, "regenerate --check").code, 0);
}

/// Writes a journal that creates `path`, and is ready to be completed, as if a command had been interrupted here.
fn plant_journal(p: &Path, path: &str) {
    let text = "planted\n";
    let staging = staging(p);
    fs::write(p.join(".operator/new/0"), text).unwrap();
    let change = serde_json::json!({"path": path, "before": null, "after": hash(text)});
    let journal =
        serde_json::json!({"format": 1, "staging": staging, "folders": [], "changes": [change]});
    fs::write(p.join(".operator/journal"), journal.to_string()).unwrap();
}

#[test]
fn a_planted_journal_writes_nothing_outside() {
    let hostile = Hostile::new();
    let p = hostile.p();
    symlink("..", p.join("up")).unwrap();
    plant_journal(&p, "up/planted");
    hostile.refused("regenerate", &["because up is a link to .."]);
}

#[test]
fn a_journal_of_another_folder_is_refused() {
    // in the project, and in a folder above that is not a project
    for folder in ["p", "."] {
        let hostile = Hostile::new();
        let made = hostile.0.path().join("made");
        plant_journal(&made, "README.md");
        let (from, to) = (
            made.join(".operator"),
            hostile.0.path().join(folder).join(".operator"),
        );
        fs::create_dir_all(to.join("new")).unwrap();
        for path in ["journal", "new/0"] {
            fs::rename(from.join(path), to.join(path)).unwrap();
        }
        let below = hostile.p().join("src");
        if folder == "." {
            fs::remove_file(hostile.p().join("operator.toml")).unwrap();
        }
        for args in [
            "regenerate",
            "regenerate --check",
            "inspect",
            "remove Widget",
        ] {
            let before = tree(hostile.0.path());
            let run = hostile.run(&below, args);
            assert_eq!(run.code, 2, "{args}: {}", run.stderr);
            let expected =
                ".operator/journal is not of a command that was interrupted in this folder";
            assert!(run.stderr.contains(expected), "{args}: {}", run.stderr);
            assert!(tree(hostile.0.path()) == before, "{args}");
        }
    }
}

#[test]
fn git_runs_no_program_of_a_folder_that_looks_like_a_repository() {
    let hostile = Hostile::new();
    let (p, ran) = (hostile.p(), hostile.outside().join("ran"));
    commit(&p);
    for entry in ["HEAD", "index", "objects", "refs"] {
        fs::rename(p.join(".git").join(entry), p.join(entry)).unwrap();
    }
    fs::remove_dir_all(p.join(".git")).unwrap();
    let config = format!(
        "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\nfsmonitor = \"touch {}; false\"\n",
        ran.display()
    );
    fs::write(p.join("config"), config).unwrap();
    commit(hostile.0.path());
    edit(&p.join("operator.toml"), |text| text + "# mine\n");
    let run = hostile.run(&p, "gen-manifests --image example.com/a:1");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!ran.exists());
}

#[test]
fn the_folder_of_git_is_not_read() {
    let hostile = Hostile::new();
    let p = hostile.p();
    commit(&p);
    edit(&p.join(".git/config"), |text| {
        text + "[http]\nextraheader = secret\n"
    });
    for (path, link) in [
        ("src/api/mod.rs", "../../.git/config"),
        ("operator.toml", ".git/config"),
    ] {
        fs::remove_file(p.join(path)).unwrap();
        symlink(link, p.join(path)).unwrap();
        for args in ["regenerate --check", "regenerate --diff"] {
            let run = hostile.run(&p, args);
            assert_eq!(run.code, 2, "{args}: {}", run.stderr);
            assert!(!(run.stdout + &run.stderr).contains("secret"), "{args}");
        }
    }
}

#[test]
fn a_folder_of_crds_has_no_link_that_leads_out() {
    let hostile = Hostile::new();
    let folder = hostile.0.path();
    fs::create_dir_all(folder.join("p/in/more")).unwrap();
    fs::copy(folder.join("widget.yaml"), folder.join("p/in/widget")).unwrap();
    symlink("../widget", folder.join("p/in/more/widget.yaml")).unwrap();
    assert_eq!(hostile.run(folder, "types p/in").code, 0);
    symlink("../../outside/mine", folder.join("p/in/mine.yaml")).unwrap();
    for args in ["types p/in", "sample p/in"] {
        let run = hostile.run(folder, args);
        assert_eq!(run.code, 2, "{args}: {}", run.stderr);
        let expected = "mine.yaml is a link to ../../outside/mine";
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
}

#[test]
fn cargo_does_not_follow_a_manifest_that_is_a_link() {
    let hostile = Hostile::new();
    let folder = hostile.0.path();
    let manifest = hostile.outside().join("Cargo.toml");
    fs::write(&manifest, "[workspace]\nresolver = \"3\"\n").unwrap();
    fs::create_dir(folder.join("p/ws")).unwrap();
    fs::write(folder.join("p/ws/Cargo.toml"), "[workspace]\n").unwrap();
    fs::create_dir(folder.join("p/ws/inner")).unwrap();
    symlink(&manifest, folder.join("p/ws/inner/Cargo.toml")).unwrap();
    let run = hostile.run(folder, "init p/ws/inner/op --crd widget.yaml");
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(
        run.stderr.contains("Cargo.toml is a link"),
        "{}",
        run.stderr
    );
    assert!(!folder.join("p/ws/inner/op").exists());
}

#[test]
fn the_folder_of_git_is_not_written() {
    let hostile = Hostile::new();
    let p = hostile.p();
    commit(&p);
    let config = fs::read_to_string(p.join(".git/config")).unwrap();
    symlink(".git", p.join("git")).unwrap();
    for path in [".git/planted", ".GIT/planted", "git/planted"] {
        plant_journal(&p, path);
        hostile.refused("regenerate", &["is no"]);
        fs::remove_file(p.join(".operator/journal")).unwrap();
        fs::remove_dir_all(p.join(".operator/new")).unwrap();
    }
    for path in [".git/config", "git/config"] {
        let lock = fs::read_to_string(p.join("operator.lock")).unwrap();
        let line = format!(
            "\"{path}\" = {{ owner = \"tool\", hash = \"{}\" }}\n",
            hash(&config)
        );
        fs::write(p.join("operator.lock"), lock.clone() + &line).unwrap();
        hostile.refused("regenerate", &["config", "is not a path in the project"]);
        fs::write(p.join("operator.lock"), lock).unwrap();
    }
}

#[test]
fn a_line_of_the_lock_removes_nothing_outside() {
    let hostile = Hostile::new();
    symlink("../outside", hostile.p().join("up")).unwrap();
    let line = format!(
        "\"up/mine\" = {{ owner = \"tool\", hash = \"{}\" }}\n",
        hash("mine\n")
    );
    edit(&hostile.p().join("operator.lock"), |text| text + &line);
    let words = ["up/mine", "because up is a link to ../outside"];
    hostile.refused("regenerate", &words);
    hostile.refused("regenerate --check", &words);
}

#[test]
fn two_lines_of_the_lock_that_differ_in_case_are_refused() {
    let hostile = Hostile::new();
    let line = format!(
        "\"readme.md\" = {{ owner = \"tool\", hash = \"{}\" }}\n",
        hash("")
    );
    edit(&hostile.p().join("operator.lock"), |text| text + &line);
    hostile.refused("regenerate", &["`README.md` and `readme.md`"]);
}

/// Moves a file away, and puts a link, a folder or a fifo in its place.
fn replace(path: &Path, kind: &str, outside: &Path) {
    let moved = outside.join("moved");
    fs::rename(path, &moved).unwrap();
    match kind {
        "link" => symlink(&moved, path).unwrap(),
        "folder" => fs::create_dir(path).unwrap(),
        _ => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
    }
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let hostile = Hostile::new();
    let p = hostile.p();
    let own: Vec<PathBuf> = tree(&p)
        .into_iter()
        .map(|(path, _)| path)
        .filter(|path| path.is_file() && path.starts_with(p.join(".operator")))
        .collect();
    assert!(own.len() > 3, "{own:?}");
    let read = ["operator.lock", "operator.toml", SPEC].map(|path| p.join(path));
    let moved = hostile.outside().join("moved");
    let check = |path: &PathBuf, commands: &[&str]| {
        for kind in ["link", "folder", "fifo"] {
            replace(path, kind, &hostile.outside());
            let name = path.strip_prefix(&p).unwrap().to_str().unwrap();
            for args in commands {
                hostile.refused(args, &[name]);
            }
            match kind {
                "folder" => fs::remove_dir(path).unwrap(),
                _ => fs::remove_file(path).unwrap(),
            }
            fs::rename(&moved, path).unwrap();
        }
    };
    own.iter().for_each(|path| check(path, &["regenerate"]));
    let commands = [
        "regenerate",
        "regenerate --check",
        "regenerate --diff",
        "gen-manifests --image x/y:1",
        "add-crd ../clusters.yaml",
        "add-version Widget v2",
        "add-webhook Widget --validate",
        "add-controller v1/Pod",
        "remove Widget",
        "inspect",
        "uninstall",
        "image",
    ];
    read.iter().for_each(|path| check(path, &commands));
}

/// Makes cargo run a program of the repository instead of rustc. The program writes its process ID to the returned file, and waits.
fn plant_rustc(hostile: &Hostile) -> PathBuf {
    let (p, ran) = (hostile.p(), hostile.p().join("ran"));
    let program = p.join("rustc");
    fs::write(
        &program,
        format!("#!/bin/sh\necho $$ >{}\nsleep 600 & wait\n", ran.display()),
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = program.display();
    let config = format!(
        "[build]\nrustc = \"{path}\"\nrustc-wrapper = \"{path}\"\ntarget-dir = \"{}\"\n[alias]\noperator = \"run\"\n",
        hostile.outside().display()
    );
    fs::create_dir_all(p.join(".cargo")).unwrap();
    fs::write(p.join(".cargo/config.toml"), config).unwrap();
    edit(&p.join(SPEC), |text| text.replace("replicas:", "copies:"));
    ran
}

#[test]
fn a_view_runs_no_program_of_the_repository() {
    let hostile = Hostile::new();
    let (p, target) = (hostile.p(), hostile.outside().join("debug/deps"));
    let ran = plant_rustc(&hostile);
    // the project seems to be built
    fs::create_dir_all(&target).unwrap();
    fs::write(target.join("libp-1.rmeta"), "").unwrap();
    for args in [
        "inspect",
        "regenerate --check",
        "regenerate --diff --allow-breaking",
        "regenerate --dry-run --allow-breaking",
        "regenerate --allow-breaking",
    ] {
        let run = hostile.run(&p, args);
        assert_ne!(run.code, 2, "{args}: {}", run.stderr);
        let finds = args.ends_with("--allow-breaking");
        assert_eq!(
            run.stderr.contains("touched-code"),
            finds,
            "{args}: {}",
            run.stderr
        );
        assert!(!ran.exists(), "{args}");
    }
}

#[test]
fn rustc_has_a_time_limit() {
    let hostile = Hostile::new();
    let p = hostile.p();
    let ran = plant_rustc(&hostile);
    let run = hostile.run(&p, "regenerate --dry-run --allow-breaking --check-code=1");
    assert_eq!(run.code, 0, "{}", run.stderr);
    for words in ["rustc took longer than 1 s", "touched-code"] {
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
    if let Ok(process) = fs::read_to_string(&ran) {
        assert!(!is_running(&process));
        fs::remove_file(&ran).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-operator"))
        .args(["operator", "regenerate", "--allow-breaking", "--check-code"])
        .current_dir(&p)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let process = loop {
        match fs::read_to_string(&ran) {
            Ok(process) if process.ends_with('\n') => break process,
            _ => thread::sleep(Duration::from_millis(2)),
        }
    };
    let before = tree(&p);
    let interrupt = Command::new("kill")
        .args(["-INT", &command.id().to_string()])
        .status();
    assert!(interrupt.unwrap().success());
    assert_eq!(command.wait().unwrap().code(), Some(2));
    assert!(!is_running(&process));
    assert!(tree(&p) == before);
}

/// Whether a process runs. A zombie does not, although `ps` still lists it.
fn is_running(process: &str) -> bool {
    let found = Command::new("ps")
        .args(["-o", "stat=", "-p", process.trim()])
        .output();
    let state = String::from_utf8(found.unwrap().stdout).unwrap();
    !matches!(state.trim().chars().next(), None | Some('Z'))
}

#[test]
fn new_folders_are_guarded_too() {
    let hostile = Hostile::new();
    let folder = hostile.0.path();
    let out = folder.join("p/out");
    ok(folder, "types widget.yaml --out p/out");
    fs::rename(out.join("widget.rs"), hostile.outside().join("widget.rs")).unwrap();
    symlink("../../outside/widget.rs", out.join("widget.rs")).unwrap();
    let run = hostile.run(folder, "types widget.yaml --out p/out --schema derive");
    assert_eq!(run.code, 2, "{}", run.stderr);
    let expected = "because widget.rs is a link to ../../outside/widget.rs";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    for path in ["p/new/.operator", "p/other/.operator/new"] {
        let link = folder.join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(hostile.outside(), &link).unwrap();
        let project = path.split("/.").next().unwrap();
        let run = hostile.run(folder, &format!("init {project} --crd widget.yaml"));
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains(".operator"), "{}", run.stderr);
    }
}

#[test]
fn a_named_pipe_is_not_waited_for_and_a_pipe_of_the_shell_is() {
    let hostile = Hostile::new();
    let folder = hostile.0.path();
    let made = Command::new("mkfifo")
        .arg(folder.join("pipe.yaml"))
        .status();
    assert!(made.unwrap().success());
    let run = hostile.run(folder, "types pipe.yaml");
    assert_eq!(run.code, 2, "{}", run.stderr);
    let expected = "pipe.yaml is not a regular file";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    for args in [
        "init pipe.yaml/a --crd widget.yaml",
        "types widget.yaml --out pipe.yaml/a",
    ] {
        assert_eq!(hostile.run(folder, args).code, 2, "{args}");
    }
    let script = "$0 operator types <(cat widget.yaml)";
    let mut command = Command::new("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_cargo-operator")]);
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
