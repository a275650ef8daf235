//! The edits that the user of a project makes in its files.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// A file of the tool that the user deletes.
pub const DELETED: &str = "manifests/network/policy.yaml";

/// Files that the user owns, or that are merged, with the start of a line that the user inserts.
const FILES: [(&str, &str); 9] = [
    ("src/lib.rs", "//"),
    ("src/main.rs", "//"),
    ("Dockerfile", "#"),
    ("README.md", "-"),
    (".github/workflows/ci.yaml", "#"),
    ("deny.toml", "#"),
    (".dockerignore", "#"),
    ("Cargo.toml", "#"),
    ("operator.toml", "#"),
];

pub struct Edits {
    root: PathBuf,
    /// The state of a linear congruential generator, so that the same history gets the same edits.
    random: u64,
    count: usize,
    /// The lines that the user wrote, with their files.
    written: BTreeSet<(String, String)>,
    /// The lines that the user deleted, with their files.
    deleted: BTreeSet<(String, String)>,
}

impl Edits {
    pub fn new(root: &Path, seed: u64) -> Self {
        let mut edits = Self {
            root: root.to_owned(),
            random: seed * 2 + 1,
            count: 0,
            written: BTreeSet::new(),
            deleted: BTreeSet::new(),
        };
        fs::remove_file(root.join(DELETED)).unwrap();
        let path = root.join("manifests/namespace.yaml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text + "# mine\n").unwrap();
        let controllers = fs::read_dir(root.join("src/controllers")).unwrap();
        for path in controllers.map(|entry| entry.unwrap().path()) {
            if !path.ends_with("mod.rs") {
                let text = fs::read_to_string(&path).unwrap();
                fs::write(&path, format!("// mine\n{text}")).unwrap();
            }
        }
        edits.more();
        edits
    }

    fn random(&mut self, below: usize) -> usize {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) as usize % below.max(1)
    }

    /// Inserts a line into one file, and deletes a comment from another one.
    pub fn more(&mut self) {
        let (path, comment) = FILES[self.random(FILES.len())];
        let mut lines = self.lines(path);
        // neither after a line that continues, nor within an indented block
        let places: Vec<usize> = (0..lines.len())
            .filter(|at| !lines[*at].ends_with('\\') && !lines[*at].starts_with(' '))
            .collect();
        let at = places[self.random(places.len())];
        self.count += 1;
        let line = format!("{comment} mine {}", self.count);
        lines.insert(at, line.clone());
        self.written.insert((path.to_owned(), line));
        self.write(path, &lines);
        let (path, comment) = FILES[2 + self.random(FILES.len() - 2)];
        let mut lines = self.lines(path);
        let is_theirs =
            |line: &String| line.trim_start().starts_with(comment) && !line.contains("mine");
        let places: Vec<usize> = (0..lines.len())
            .filter(|at| is_theirs(&lines[*at]))
            .collect();
        if !places.is_empty() {
            let line = lines.remove(places[self.random(places.len())]);
            if !lines.contains(&line) {
                self.deleted.insert((path.to_owned(), line));
            }
            self.write(path, &lines);
        }
    }

    fn lines(&self, path: &str) -> Vec<String> {
        let text = fs::read_to_string(self.root.join(path)).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn write(&self, path: &str, lines: &[String]) {
        fs::write(self.root.join(path), lines.join("\n") + "\n").unwrap();
    }

    /// Checks that all written lines are there, and that no deleted ones are.
    pub fn check(&self, step: &str) {
        for (path, line) in &self.written {
            assert!(
                self.lines(path).contains(line),
                "{step}: `{line}` of {path} is lost"
            );
        }
        for (path, line) in &self.deleted {
            assert!(
                !self.lines(path).contains(line),
                "{step}: `{line}` of {path} is back"
            );
        }
        assert!(!self.root.join(DELETED).exists(), "{step}");
        let adopted = fs::read_to_string(self.root.join("manifests/namespace.yaml")).unwrap();
        assert!(adopted.ends_with("# mine\n"), "{step}");
    }
}
