//! What was found in order is not looked for again, and whatever becomes different is found.

use std::{fs, path::PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::support::{Run, edit, files, folder, run_in};

const TYPES: &str = "src/api/widget/v1.rs";

/// A project `p`, and beside it the cache in which the program remembers it.
struct Seen(TempDir);

impl Seen {
    fn new() -> Self {
        let seen = Self(folder());
        let init = run_in(&seen.cache(), seen.0.path(), "init p --crd widget.yaml", "");
        assert_eq!(init.code, 0, "{}", init.stderr);
        seen
    }

    fn cache(&self) -> PathBuf {
        self.0.path().join("cache")
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join("p").join(path)
    }

    fn run(&self, args: &str) -> Run {
        run_in(&self.cache(), &self.path(""), args, "")
    }

    /// Lets the memory have the hash of `text` for the types, and so vouch for what it has not seen.
    fn forge(&self, text: &str) {
        let folder = fs::read_dir(self.cache().join("cargo-operator")).unwrap();
        let [memory] = folder.collect::<Vec<_>>().try_into().unwrap();
        let memory = memory.unwrap().path();
        let mut forged: Value = serde_json::from_slice(&fs::read(&memory).unwrap()).unwrap();
        let digest = Sha256::digest(text.as_bytes());
        let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(forged["files"][TYPES].is_string());
        forged["files"][TYPES] = hash.into();
        fs::write(memory, forged.to_string()).unwrap();
    }
}

fn edited(seen: &Seen) -> String {
    let text = fs::read_to_string(seen.path(TYPES)).unwrap() + "// edited\n";
    fs::write(seen.path(TYPES), &text).unwrap();
    text
}

#[test]
fn what_was_found_in_order_is_not_generated_again() {
    let seen = Seen::new();
    let text = edited(&seen);
    assert_eq!(seen.run("regenerate --check").code, 1);
    // that the program believes its memory shows that it does not look elsewhere
    seen.forge(&text);
    for (args, told) in [
        ("regenerate --check", "up to date\n"),
        ("regenerate", "nothing to do\n"),
    ] {
        let run = seen.run(args);
        assert_eq!((run.code, run.stderr.as_str()), (0, told), "{args}");
    }
    let asked = format!("regenerate --reset {TYPES}");
    assert_eq!(seen.run(&asked).code, 0);
    assert!(
        !fs::read_to_string(seen.path(TYPES))
            .unwrap()
            .contains("// edited"),
        "what is asked for is done"
    );
}

#[test]
fn warnings_that_stand_are_not_forgotten() {
    let seen = Seen::new();
    let spec = seen.path("crds/widgets.example.com.yaml");
    edit(&spec, |text| {
        text.replacen(
            "type: integer",
            "type: integer\n                minLenght: 1",
            1,
        )
    });
    let first = seen.run("regenerate");
    assert!(
        first.stderr.contains("warning[unknown-keyword]"),
        "{}",
        first.stderr
    );
    for (args, told) in [
        ("regenerate", "nothing to do"),
        ("regenerate --check", "up to date"),
    ] {
        // looked for, and remembered
        for cache in ["/dev/null".into(), seen.cache()] {
            let run = run_in(&cache, &seen.path(""), args, "");
            let line = "note: the specs have warnings (1); `cargo operator inspect` shows them";
            assert_eq!(
                (run.code, run.stderr),
                (0, format!("{line}\n{told}\n")),
                "{args}"
            );
        }
    }
    assert!(
        seen.run("inspect")
            .stderr
            .contains("warning[unknown-keyword]")
    );
}

#[test]
fn another_build_of_the_program_looks_for_itself() {
    let seen = Seen::new();
    let text = edited(&seen);
    seen.forge(&text);
    let other = seen.0.path().join("cargo-operator");
    fs::copy(env!("CARGO_BIN_EXE_cargo-operator"), &other).unwrap();
    let run = std::process::Command::new(other)
        .args(["regenerate", "--check"])
        .current_dir(seen.path(""))
        .env("XDG_CACHE_HOME", seen.cache())
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(1));
}

#[test]
fn whatever_becomes_different_is_looked_at() {
    let seen = Seen::new();
    assert_eq!(seen.run("regenerate --check").code, 0);
    let before = files(&seen.path(""));
    for (index, (path, text)) in before.iter().enumerate() {
        let of_tool = |lock: &String| lock.contains(&format!("\"{path}\" = {{ owner = \"tool\""));
        // of the many crates some are enough
        let is_one_of_many = path.starts_with("crates/") && index % 16 != 0;
        if !of_tool(&before["operator.lock"]) || is_one_of_many {
            continue;
        }
        fs::write(seen.path(path), format!("{text}x")).unwrap();
        assert_eq!(seen.run("regenerate --check").code, 1, "{path}");
        fs::remove_file(seen.path(path)).unwrap();
        assert_eq!(seen.run("regenerate --check").code, 1, "{path}");
        fs::write(seen.path(path), text).unwrap();
        assert_eq!(seen.run("regenerate --check").code, 0, "{path}");
    }
    for (path, from, to) in [
        ("operator.toml", "\"Widget\"", "\"Gadget\""),
        ("operator.lock", "format = 2", "format = 9"),
        (
            "crds/widgets.example.com.yaml",
            "kind: Widget",
            "kind: Gadget",
        ),
        ("operator.toml", "\"v1\"", "\"v2\""),
    ] {
        let text = &before[path];
        assert!(text.contains(from), "{path}: {text}");
        fs::write(seen.path(path), text.replace(from, to)).unwrap();
        assert_ne!(seen.run("regenerate --check").code, 0, "{path}: {to}");
        fs::write(seen.path(path), text).unwrap();
    }
    assert!(
        files(&seen.path("")) == before,
        "nothing of it is in the project"
    );
    assert_eq!(seen.run("regenerate --check").code, 0);
}

#[test]
fn a_memory_that_is_no_memory_is_none() {
    let seen = Seen::new();
    let entry = fs::read_dir(seen.cache().join("cargo-operator"))
        .unwrap()
        .next();
    let memory = entry.unwrap().unwrap().path();
    let text = fs::read_to_string(&memory).unwrap();
    for broken in ["", "{}", &text[..text.len() / 2]] {
        fs::write(&memory, broken).unwrap();
        edited(&seen);
        assert_eq!(seen.run("regenerate --check").code, 1, "{broken}");
    }
}
