//! Replays the revisions of real CRDs in projects that a user edits: no edit is lost, the generated files are those of a new project, a
//! second run finds nothing to do, and code that no longer compiles was named.
//!
//! `$HISTORIES` names a folder with a folder for each CRD, whose revisions are in the order of their names. `$REPLAY` chooses some by parts
//! of their names, `$REPLAY_STEPS` the number of their last revisions. With `$REPLAY_COMPILES` the projects are compiled, into the
//! target folder of this workspace. `$CARGO_OPERATOR` is the program; by default, it is the one that cargo built.
//!
//! Each history gets the next one of the scaffolds. With `$REPLAY_SCAFFOLD`, all get that one, or `all` of them one after the other.

#[path = "../cargo/mod.rs"]
mod cargo;
mod code;
mod edits;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
    thread,
};

use serde_json::Value;

use crate::{code::Compiler, edits::Edits};

const SCAFFOLDS: [&str; 5] = [
    "reconciler",
    "declarative",
    "external",
    "handlers",
    "controller",
];

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The target folder, if projects are compiled.
fn target() -> Option<OsString> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("..");
    env::var_os("REPLAY_COMPILES").map(|_| target.into())
}

/// Runs the program, which must exit with one of `codes`.
fn run(folder: &Path, args: &[&str], codes: &[i32]) -> (i32, String, String) {
    let program = env::var("CARGO_OPERATOR").unwrap_or(env!("CARGO_BIN_EXE_cargo-operator").into());
    let mut command = Command::new(program);
    command.arg("operator").args(args).current_dir(folder);
    // no run uses what a previous one has cached
    command.env("XDG_CACHE_HOME", "/dev/null");
    match target() {
        Some(target) => command.env("CARGO_TARGET_DIR", target),
        None => command.env_remove("CARGO_TARGET_DIR"),
    };
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (code, out, err) = (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    );
    assert!(
        codes.contains(&code),
        "{args:?} ended with {code}\n{out}\n{err}"
    );
    (code, out, err)
}

/// All files below a folder, with their texts.
fn files(root: &Path) -> BTreeMap<String, String> {
    fn walk(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
        for path in sorted(folder) {
            if path.is_dir() {
                walk(root, &path, files);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                files.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(root, root, &mut files);
    files
}

#[derive(Default)]
struct Totals {
    steps: usize,
    failing: usize,
    /// The lines that the tool named with the help of the compiler.
    named: Named,
    /// The lines that the tool named by names alone.
    by_name: Named,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.failing += other.failing;
        for (named, other) in [
            (&mut self.named, &other.named),
            (&mut self.by_name, &other.by_name),
        ] {
            named.all += other.all;
            named.failing += other.failing;
        }
    }
}

/// Lines that were named, and those of them that failed to compile.
#[derive(Default)]
struct Named {
    all: usize,
    failing: usize,
}

impl Named {
    fn add(&mut self, named: &BTreeSet<(String, u64)>, failing: &BTreeSet<(String, u64)>) {
        self.all += named.len();
        self.failing += named.intersection(failing).count();
    }
}

#[test]
fn no_release_of_a_crd_loses_an_edit() {
    let Some(folder) = env::var_os("HISTORIES") else {
        return;
    };
    let chosen = env::var("REPLAY").unwrap_or_default();
    let is_chosen = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        let has = |part: &str| name.contains(part);
        chosen.is_empty() || chosen.split(',').any(has)
    };
    let scaffold = env::var("REPLAY_SCAFFOLD").ok();
    let paths = sorted(Path::new(&folder)).into_iter();
    let mut histories = vec![];
    for (number, history) in paths.filter(|path| path.is_dir()).enumerate() {
        let scaffolds = match scaffold.as_deref() {
            None => vec![SCAFFOLDS[number % SCAFFOLDS.len()]],
            Some("all") => SCAFFOLDS.to_vec(),
            Some(scaffold) => vec![scaffold],
        };
        if is_chosen(&history) {
            histories.extend(scaffolds.into_iter().map(|it| (history.clone(), it)));
        }
    }
    let totals = Mutex::new(Totals::default());
    let waiting = Mutex::new(histories.iter());
    let next = || waiting.lock().unwrap().next();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((history, scaffold)) = next() {
                    let result = replay(history, scaffold);
                    totals.lock().unwrap().add(&result);
                }
            });
        }
    });
    let Totals {
        steps,
        failing,
        named,
        by_name,
    } = totals.into_inner().unwrap();
    assert!(steps > 0, "no history was chosen");
    eprintln!("{steps} steps");
    if env::var_os("REPLAY_COMPILES").is_some() {
        eprintln!("{failing} lines failed to compile");
        for (how, named) in [("by the compiler", &named), ("by names alone", &by_name)] {
            let Named { all, failing } = named;
            eprintln!("{all} were named {how}, {failing} of them failed");
        }
        assert!(failing > 0, "nothing was tried");
        assert_eq!(named.failing, failing, "all that failed was named");
        assert!(named.failing * 10 >= named.all * 9, "what was named failed");
    }
}

fn replay(history: &Path, scaffold: &str) -> Totals {
    let mut totals = Totals::default();
    let mut revisions = sorted(history);
    if let Ok(steps) = env::var("REPLAY_STEPS") {
        revisions.drain(
            ..revisions
                .len()
                .saturating_sub(steps.parse::<usize>().unwrap() + 1),
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let first = revisions[0].to_str().unwrap();
    init(folder.path(), "p", first, scaffold);
    let p = folder.path().join("p");
    let spec = sorted(&p.join("crds"))
        .into_iter()
        .find(|path| !path.ends_with("kustomization.yaml"))
        .unwrap();
    let seed = history
        .file_name()
        .unwrap()
        .to_string_lossy()
        .bytes()
        .map(u64::from)
        .sum();
    let mut edits = Edits::new(&p, seed);
    let compiler = target().map(|target| Compiler::new(&p, target));
    run(
        &p,
        &["regenerate", "--adopt", "manifests/namespace.yaml"],
        &[0],
    );
    for revision in &revisions[1..] {
        totals.steps += 1;
        let step = format!("{}, {scaffold}", revision.display());
        if let Some(compiler) = &compiler {
            compiler.write_uses();
            let broken = compiler.broken();
            assert!(broken.is_empty(), "{step} begins with {broken:?}");
        }
        edits.more();
        fs::copy(revision, &spec).unwrap();
        choose_served(&p.join("operator.toml"), revision);
        let mut args = vec!["regenerate", "--allow-breaking", "--format", "json"];
        let output_by_name = compiler.as_ref().map(|_| {
            let by_name = run(&p, &[args.as_slice(), &["--dry-run"]].concat(), &[0]).1;
            args.push("--check-code=600");
            by_name
        });
        let (_, output, _) = run(&p, &args, &[0]);
        edits.check(&step);
        run(&p, &["regenerate", "--check"], &[0]);
        assert_as_new(folder.path(), &p, revision);
        if let Some(compiler) = &compiler {
            let named = named(&output);
            let failing = compiler.failing(&stored(revision));
            for line in failing.difference(&named) {
                eprintln!("{step}: {line:?} was not named");
            }
            for line in named.difference(&failing) {
                eprintln!("{step}: {line:?} compiles");
            }
            totals.failing += failing.len();
            totals.named.add(&named, &failing);
            let by_name = output_by_name.as_deref().map(self::named);
            totals.by_name.add(&by_name.unwrap_or_default(), &failing);
        }
    }
    let steps = revisions.len() - 1;
    eprintln!("{}, {scaffold}: {steps} steps", history.display());
    totals
}

/// The module of the version in which objects are stored.
fn stored(spec: &Path) -> String {
    let [stored, _] = versions(spec);
    stored[0].replace('-', "_")
}

/// The version in which objects are stored, and those that are served.
fn versions(spec: &Path) -> [Vec<String>; 2] {
    let text = fs::read_to_string(spec).unwrap();
    let spec: Value = serde_yaml::from_str(&text).unwrap();
    let versions = spec["spec"]["versions"].as_array().unwrap();
    ["storage", "served"].map(|key| {
        versions
            .iter()
            .filter(|version| version[key] == true)
            .map(|version| version["name"].as_str().unwrap().to_owned())
            .collect()
    })
}

/// If the version of a controller's kind is no longer served, replaces it by the stored version, as the tool's errors recommend.
fn choose_served(state: &Path, revision: &Path) {
    let text = fs::read_to_string(state).unwrap();
    let watched = text
        .lines()
        .filter_map(|line| line.strip_prefix("kind = \"")?.strip_suffix('"'))
        .find(|kind| kind.matches('/').count() == 2);
    let [stored, served] = versions(revision);
    if let Some(version) = watched.and_then(|kind| kind.split('/').nth(1))
        && !served.iter().any(|served| served == version)
    {
        let stored = &stored[0];
        let chosen = text
            .replace(&format!("/{version}/"), &format!("/{stored}/"))
            .replace(&format!("[{version:?}]"), &format!("[{stored:?}]"));
        fs::write(state, chosen).unwrap();
    }
}

/// Creates a project with the runtime of this repository.
fn init(folder: &Path, name: &str, spec: &str, scaffold: &str) {
    run(
        folder,
        &[
            "init",
            name,
            "--crd",
            spec,
            "--name",
            "p",
            "--schema",
            "embed",
            "--scaffold",
            scaffold,
            "--runtime",
            concat!("path=", env!("CARGO_MANIFEST_DIR")),
        ],
        &[0],
    );
}

/// Asserts that the files of the tool are those of a new project.
fn assert_as_new(folder: &Path, p: &Path, revision: &Path) {
    let fresh = folder.join("new");
    fs::create_dir_all(fresh.join("crds")).unwrap();
    fs::copy(p.join("operator.toml"), fresh.join("operator.toml")).unwrap();
    for path in sorted(&p.join("crds")) {
        fs::copy(&path, fresh.join("crds").join(path.file_name().unwrap())).unwrap();
    }
    run(&fresh, &["regenerate"], &[0]);
    let (ours, new) = (files(p), files(&folder.join("new")));
    let is_tools = |path: &str| {
        let of_tool = [
            "src/api/",
            "src/controllers/mod.rs",
            "tests/all/generated.rs",
            "tests/all/faults.rs",
            "manifests/",
            ".operator/types/",
            ".operator/scaffolds/",
        ];
        let is_edited = edits::DELETED == path
            || path == "manifests/namespace.yaml"
            || path == "manifests/kustomization.yaml";
        of_tool.iter().any(|start| path.starts_with(start)) && !is_edited
    };
    for (path, text) in new.iter().filter(|(path, _)| is_tools(path)) {
        assert!(
            ours.get(path) == Some(text),
            "{path} of {}",
            revision.display()
        );
    }
    for path in ours.keys().filter(|path| is_tools(path)) {
        assert!(new.contains_key(path), "{path} of {}", revision.display());
    }
    fs::remove_dir_all(folder.join("new")).unwrap();
}

/// The lines that the report names, except those that still compile, because their types remain.
fn named(output: &str) -> BTreeSet<(String, u64)> {
    let output: Value = serde_json::from_str(output).unwrap();
    let diagnostics = output["diagnostics"].as_array().unwrap().iter();
    let outdated = ["is no longer served", "is now the storage version"];
    let is_outdated = |diagnostic: &Value| {
        let message = diagnostic["message"].as_str().unwrap();
        outdated.iter().any(|part| message.contains(part))
    };
    let touched = diagnostics
        .filter(|diagnostic| diagnostic["code"] == "touched-code" && !is_outdated(diagnostic));
    let place = |diagnostic: &Value| {
        (
            diagnostic["file"].as_str().unwrap().to_owned(),
            diagnostic["line"].as_u64().unwrap(),
        )
    };
    touched.map(place).collect()
}
